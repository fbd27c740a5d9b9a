"""How this package logs: every line through one place, so that nothing in it can act on a terminal."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import TYPE_CHECKING, Any

from workerset._text import plain, said

if TYPE_CHECKING:
    from collections.abc import Mapping


class Log:
    """A logger whose lines are plain text, whatever is in the arguments.

    Args:
        name: of the logger.

    """

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def is_enabled(self, level: int) -> bool:
        """Whether a record of that level goes anywhere."""
        return self._logger.isEnabledFor(level)

    def write(
        self,
        level: int,
        message: str,
        *arguments: object,
        error: BaseException | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        """Log a line.

        Args:
            level: of `logging`.
            message: a format for the `%` operator.
            arguments: for the format.
            error: its traceback follows the line.
            extra: attributes of the record.

        """
        logger = self._logger
        if not logger.isEnabledFor(level):
            return
        text = plain(message % arguments if arguments else message)
        caller = sys._getframe(1)  # noqa: SLF001  # `findCaller` counts frames from `Logger.log`
        place = caller.f_code.co_filename, caller.f_lineno
        info: Any = None if error is None else (type(error), error, error.__traceback__)
        record = logger.makeRecord(logger.name, level, *place, "%s", (text,), info, caller.f_code.co_name, extra)
        if error is not None:
            # Formatters take this text as it is, and make one of their own only where there is none.
            record.exc_text = _traceback(error)
        try:
            logger.handle(record)
        except Exception:  # noqa: BLE001  # a handler or a filter of the user's: logging's own way to tell of it
            logging.Handler().handleError(record)


def _traceback(error: BaseException) -> str:
    """The traceback. Line breaks in the texts of exceptions are escaped, those of its own form are not."""
    lines: list[str] = []
    try:
        parts = traceback.format_exception(type(error), error, error.__traceback__)
    except Exception:  # noqa: BLE001  # attributes of the error itself may raise
        return f"(no traceback of {said(error)} can be made)"
    for part in parts:
        is_frame = part.startswith('  File "') or part.lstrip().startswith(("|", "+"))  # a frame, or part of a group
        lines += part.strip("\n").split("\n") if is_frame else [part.strip("\n")]
    return "\n".join(map(plain, lines))
