"""Texts that others wrote, made safe for a terminal, a log and a reader: the one place for all of them."""

from __future__ import annotations

import json
from typing import Any

from workerset._native import _duration

duration = _duration
"""Seconds as people read them: `1.0 s`, `12 s`, `5 min`, `3.5 h`."""

SHOWN = 200
"""Characters that are shown of a text that others wrote."""


def plain(text: str) -> str:
    r"""The text as one line that moves no cursor, changes no direction, and can be encoded.

    Whatever is not printable (C0, C1, DEL, line separators, bidirectional controls, lone surrogates) is shown escaped,
    `\x1b`. Cost: one pass.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def clip(text: str) -> str:
    """At most 200 characters of a text, with `...` behind them if there were more."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


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
