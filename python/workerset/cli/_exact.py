"""JSON whose numbers keep their text.

Checksums depend on how a number is written, instance ids exceed what a float holds, and of a key that stands twice
discovery keeps the last value (WIRE section 0). So records are never run through Python numbers here.
"""

from __future__ import annotations

import json
from typing import Any


class Number(str):
    """A JSON number as it was written."""

    __slots__ = ()


def loads(text: str | bytes) -> Any:
    """Decode JSON; numbers come as `Number`.

    Raises:
        ValueError: it is not JSON, or nested too deeply.

    """
    try:
        return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def dumps(value: Any) -> str:
    """The compact JSON text of what `loads` gave."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(name)}:{dumps(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumps, value)) + "]"
    return json.dumps(value)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
