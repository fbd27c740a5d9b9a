"""Texts that others wrote, made safe for a terminal, a log and a reader: the one place for all of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from workerset._native import _duration

if TYPE_CHECKING:
    from collections.abc import Sequence

duration = _duration
"""Seconds as people read them: `1.0 s`, `12 s`, `5 min`, `3.5 h`, `2.5 days`."""

SHOWN = 200
"""Characters that are shown of a name that others wrote."""
REASON = 1000
"""Characters that are shown of a reason, which may hold several names."""


def plain(text: str) -> str:
    r"""The text as one line that moves no cursor, changes no direction, and can be encoded.

    Whatever is not printable (C0, C1, DEL, line separators, bidirectional controls, lone surrogates) is shown escaped,
    `\x1b`. Cost: one pass.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def is_encodable(text: str) -> bool:
    """Whether a text has no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clip(text: str, most: int = SHOWN) -> str:
    """At most so many characters of a text, with `...` behind them if there were more."""
    return text if len(text) <= most else f"{text[:most]}..."


def named(name: object) -> str:
    """A name in quotes, cut; whatever stands in its place as Python shows it."""
    return repr(clip(name)) if isinstance(name, str) else clip(repr(name))


def listed(names: Sequence[str], most: int = 20) -> str:
    """Names with commas between them, each cut, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(clip, names[:most])) + more


def to_json(value: Any) -> str:
    """One line of JSON, names in the order given; what is not printable is escaped as JSON does."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def said(error: BaseException) -> str:
    """The type of an exception and what it says, as one plain, short line; whatever its `__str__` does."""
    try:
        # `str` may be overridden in what `__str__` returns.
        text = str.__str__(str(error))
    except BaseException:  # noqa: BLE001  # raised by the text of another's error, and not meant for us
        text = "(its text cannot be made)"
    name = type.__getattribute__(type(error), "__name__")
    return plain(clip(f"{name}: {text}" if text else name))
