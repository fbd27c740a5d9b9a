"""JSON text that `json.dumps` cannot write: chosen number literals, keys given twice, chosen escapes."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class Raw:
    """A piece of JSON text that is written as it stands."""

    text: str


@dataclass(frozen=True)
class Pairs:
    """An object as its pairs, in order; the same key may come twice."""

    items: tuple[tuple[str, object], ...]


def dump(value: object, *, ascii_only: bool = False) -> str:
    """The compact JSON text of a value that may hold `Raw` and `Pairs` at any depth."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        return dump(Pairs(tuple(value.items())), ascii_only=ascii_only)
    if isinstance(value, Pairs):
        members = (
            f"{json.dumps(key, ensure_ascii=ascii_only)}:{dump(item, ascii_only=ascii_only)}"
            for key, item in value.items
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(dump(item, ascii_only=ascii_only) for item in value) + "]"
    return json.dumps(value, ensure_ascii=ascii_only)
