"""Records spoiled in every way that a store, a bug or a hand may spoil them. Seeded: the same ones every time."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from tests.contract.world import World, adapter, base, card, instance
from workerset import Apply

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"

OURS = ("v1/mdc/", "v1/instances/")
VALID_PATH = re.compile(
    r"v1/(?:mdc/[^/]+/[^/]+/[^/]+/(?:0|[1-9a-f][0-9a-f]{0,15})(?:/[^/]+)?"
    r"|instances/[^/]+/[^/]+/[^/]+/(?:0|[1-9a-f][0-9a-f]{0,15}))",
    re.DOTALL,
)

_BAD_UTF8 = [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80"]
_NUMBERS = [
    *("1e999", "-1e999", "1e-999", "-0", "18446744073709551616", "-1", "1" * 400, "0." + "1" * 5000, "1e" + "9" * 40),
    *("01", "+1", ".5", "1.", "NaN", "Infinity", "0x1F", "1_000"),
]
_VALUES: list[Any] = [
    *(
        None,
        True,
        False,
        0,
        -1,
        2**63,
        2**64,
        1.5,
        1e308,
        "",
        "x",
        "\x00",
        "x" * 70_000,
        [],
        {},
        [None],
        [[]],
        {"": None},
    ),
    *({"x": {"x": {}}}, ["decode"], [["decode"]], ["\ud800"], "\ud800", "\U0010ffff"),
]


class Record(NamedTuple):
    """What a store holds behind one path."""

    path: str
    value: bytes


def real_records() -> list[Record]:
    """Records as Dynamo workers wrote them, cards that its releases accept, and the three plain kinds; all usable."""
    store = json.loads((FIXTURES / "discovery" / "file_store.json").read_text())
    records = [Record(unquote(name), text.encode()) for name, text in store.items()]
    lines = (FIXTURES / "cards" / "vectors.jsonl").read_text().splitlines()
    for number, line in enumerate(lines[::20]):
        text = json.loads(line)["card"]
        place = f'"type":"Model","namespace":"ns","component":"c","endpoint":"e","instance_id":{number}'
        records.append(Record(f"v1/mdc/ns/c/e/{number:x}", f'{{{place},"card_json":{text}}}'.encode()))
    plain = [base(1), instance(1), adapter(1), base(2**64 - 1, card("é\U0001f600"), namespace="n s", component="%2F")]
    records += [Record(event.path, str(event.value).encode()) for event in plain]
    return [record for record in records if _is_usable(record)]


def _is_usable(record: Record) -> bool:
    world = World()
    world.apply(Apply(record.path, record.value))
    return not world.refused()


class Spoiler:
    """Spoils records. `kinds` names the ways; each is a method that takes a record and returns another."""

    def __init__(self, seed: int, records: list[Record]) -> None:
        self._random = random.Random(seed)
        self._records = records
        self.kinds = sorted(name for name in dir(self) if not name.startswith("_") and name not in {"kinds", "spoil"})

    def spoil(self, kind: str) -> tuple[Record, Record]:
        """A record, and what became of it."""
        record = self._random.choice(self._records)
        spoiled: Record = getattr(self, kind)(record)
        return record, spoiled

    def flipped_bytes(self, record: Record) -> Record:
        value = bytearray(record.value)
        for _ in range(self._random.choice([1, 1, 2, 8])):
            value[self._random.randrange(len(value))] ^= 1 << self._random.randrange(8)
        return Record(record.path, bytes(value))

    def truncated(self, record: Record) -> Record:
        return Record(record.path, record.value[: self._random.randrange(len(record.value))])

    def spliced(self, record: Record) -> Record:
        other = self._random.choice(self._records).value
        head, tail = self._random.randrange(len(record.value)), self._random.randrange(len(other))
        return Record(record.path, record.value[:head] + other[tail:])

    def swapped(self, record: Record) -> Record:
        return Record(record.path, self._random.choice(self._records).value)

    def bad_utf8(self, record: Record) -> Record:
        return self._inserted(record, self._random.choice(_BAD_UTF8))

    def framed(self, record: Record) -> Record:
        before, after = self._random.choice(
            [
                *((b"\xef\xbb\xbf", b""), (b"", b"x"), (b"", b"\x00"), (b" \n\t", b" \n"), (b"[", b"]"), (b"{", b"}")),
                *((b'"', b'"'), (b"", record.value), (b"/* */", b"")),
            ]
        )
        return Record(record.path, before + record.value + after)

    def other_encoding(self, record: Record) -> Record:
        return Record(record.path, record.value.decode().encode(self._random.choice(["utf-16", "utf-32", "utf-7"])))

    def replaced(self, record: Record) -> Record:
        values = [
            b"",
            b" ",
            b"null",
            b"[]",
            b"{}",
            b'"x"',
            b"0",
            b"\x00" * 1000,
            bytes(range(256)),
            b'{"type":"Model"}',
        ]
        return Record(record.path, self._random.choice(values))

    def wrong_type(self, record: Record) -> Record:
        tree, owner, key = self._field(record)
        owner[key] = self._random.choice(_VALUES)
        return self._written(record, tree)

    def missing(self, record: Record) -> Record:
        tree, owner, key = self._field(record)
        del owner[key]
        return self._written(record, tree)

    def unknown(self, record: Record) -> Record:
        tree, owner, _ = self._field(record)
        if isinstance(owner, dict):
            owner["x-unknown"] = self._random.choice(_VALUES)
        return self._written(record, tree)

    def odd_number(self, record: Record) -> Record:
        return self._literal(record, self._random.choice(_NUMBERS))

    def deep(self, record: Record) -> Record:
        depth = self._random.choice([100, 120, 125, 126, 127, 128, 129, 1000, 100_000])
        left, middle, right = self._random.choice([("[", "", "]"), ('{"x":', "0", "}"), ("[", "", "")])
        return self._literal(record, left * depth + middle + right * depth)

    def lone_surrogate(self, record: Record) -> Record:
        return self._literal(record, self._random.choice(['"\\ud800"', '"\\udfff x"', '"\\ud800\\u0041"', '"\\ud83d"']))

    def repeated_key(self, record: Record) -> Record:
        tree, owner, key = self._field(record)
        if not isinstance(owner, dict):
            return self._written(record, tree)
        again = json.dumps(key) + ":" + json.dumps(self._random.choice(_VALUES)) + ","
        mark = json.dumps(key) + ":"
        text = record.value.decode()
        at = text.find(mark)
        return Record(record.path, (text[:at] + again + text[at:]).encode(errors="replace"))

    def broken_path(self, record: Record) -> Record:
        parts = record.path.split("/")
        at = self._random.randrange(len(parts))
        odd = self._random.choice(
            [
                *(
                    "",
                    " ",
                    ".",
                    "..",
                    "%2F",
                    "\x00",
                    "é",
                    "x" * 100_000,
                    "V1",
                    "mdc",
                    "instances",
                    "\uff21",
                    "\U0001f600",
                ),
                *("01f", "1F", "0x1f", "-1", "+1", "1f ", "g", "10000000000000000", "0", "\u0661", "ffffffffffffffff"),
            ]
        )
        change = self._random.choice(["replace", "insert", "drop", "double", "cut", "trail", "lead"])
        match change:
            case "replace":
                parts[at] = odd
            case "insert":
                parts.insert(at, odd)
            case "drop":
                del parts[at]
            case "double":
                parts.insert(at, parts[at])
            case "cut":
                parts = parts[: at + 1]
            case "trail":
                parts.append("")
            case _:
                parts.insert(0, "")
        return Record("/".join(parts), record.value)

    def other_path(self, record: Record) -> Record:
        return Record(self._random.choice(self._records).path, record.value)

    def _inserted(self, record: Record, what: bytes) -> Record:
        at = self._random.randrange(len(record.value) + 1)
        return Record(record.path, record.value[:at] + what + record.value[at:])

    def _field(self, record: Record) -> tuple[Any, Any, Any]:
        """The record's tree, and a place in it: what holds the field, and its name or index."""
        tree = json.loads(record.value)
        places: list[tuple[Any, Any]] = []
        open_: list[Any] = [tree]
        while open_:
            holder = open_.pop()
            keys: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            for key in keys:
                places.append((holder, key))
                if isinstance(holder[key], dict | list):
                    open_.append(holder[key])
        holder, key = self._random.choice(places)
        return tree, holder, key

    def _literal(self, record: Record, literal: str) -> Record:
        """Put JSON text in the place of a field's value."""
        tree, owner, key = self._field(record)
        owner[key] = "\x01here\x01"
        text = json.dumps(tree)
        return Record(record.path, text.replace(json.dumps("\x01here\x01"), literal).encode())

    def _written(self, record: Record, tree: Any) -> Record:
        return Record(record.path, json.dumps(tree, ensure_ascii=self._random.random() < 0.5).encode(errors="replace"))


def is_json(value: bytes) -> bool:
    """Whether the bytes are JSON, by a reader that knows nothing of cards. Lenient: it knows NaN."""
    try:
        json.loads(value.decode())
    except (ValueError, RecursionError):
        return False
    return True
