"""How this package logs: every line through one place, so that nothing in it can act on a terminal."""

from __future__ import annotations

import logging
import re
import sys
import traceback
from collections import OrderedDict
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


class Repeats:
    """Tells a new failure from one that was told before, so that its traceback is written once. Bounded."""

    def __init__(self) -> None:
        self._told: OrderedDict[object, None] = OrderedDict()

    def is_new(self, where: str, error: BaseException) -> bool:
        """Whether no such error was told there: of that type, raised at that line, with that text but for numbers."""
        frames = tuple((frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__))
        key = (where, type(error), frames, _NUMBER.sub("#", said(error)))
        is_new = key not in self._told
        self._told[key] = None
        self._told.move_to_end(key)
        if len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        return is_new


def _traceback(error: BaseException) -> str:
    """The traceback. Line breaks in the texts of exceptions are escaped, those of its own form are not."""
    lines: list[str] = []
    try:
        whole = traceback.TracebackException.from_exception(error)
        _join_notes(whole)
        parts = list(whole.format())
    except Exception:  # noqa: BLE001  # attributes of the error itself may raise
        return f"(no traceback of {said(error)} can be made)"
    for part in parts:
        text = part.strip("\n")
        rows = text.split("\n")
        # Frames and groups are indented throughout; what an exception says of itself begins at the margin.
        lines += rows if all(row.startswith(" ") for row in rows) else [text]
    return "\n".join(map(plain, lines))


def _join_notes(one: Any) -> None:
    """Keep every note of an exception, its causes and its members on one line: it would be written line by line."""
    notes = getattr(one, "__notes__", None)
    if isinstance(notes, list | tuple):
        one.__notes__ = [plain(str(note)) for note in notes]
    for other in (one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())):
        if other is not None:
            _join_notes(other)


_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")  # an address, a size, a time: it differs where the failure does not
_REMEMBERED = 1000  # failures
