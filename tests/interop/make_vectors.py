"""Writes `tests/fixtures/cards/vectors.jsonl`: card texts with the sums, or the refusals, of four real Dynamo releases.

Run it with `make vectors`. It makes the virtual environments that it needs. Each line is
`{"name", "card": text, "mdcsum": {profile: hex}, "error": {profile: message}}`; every profile stands in one of the two.
"""

import contextlib
import json
import re
import sys
from collections.abc import Iterator
from typing import Any

from tests.interop import cards
from tests.interop.oracle import RELEASES, ROOT, Oracle
from tests.interop.router_cards import router_cards
from tests.interop.systematic_cards import systematic

FOLDER = ROOT / "tests" / "fixtures" / "cards"
OBSERVED = FOLDER / "observed.jsonl"
VECTORS = FOLDER / "vectors.jsonl"
SEED = 20_240
RANDOM_CARDS = 300
LONGEST_MESSAGE = 160


def inputs() -> Iterator[tuple[str, str]]:
    """Every (name, card text): observed cards first, then one per rule, then seeded random ones."""
    with OBSERVED.open(encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            yield f"observed/{entry['name']}", entry["card"]
    yield from systematic()
    yield from router_cards()
    for index, text in enumerate(cards.cards(SEED, RANDOM_CARDS)):
        yield f"random/{index}", text


def distinct() -> dict[str, str]:
    """Name -> card text, each text and each name once."""
    named: dict[str, str] = {}
    seen: set[str] = set()
    for name, text in inputs():
        if text not in seen:
            seen.add(text)
            unique = name if name not in named else f"{name}#{len(named)}"
            named[unique] = text
    return named


def _stable(message: str) -> str:
    """The start of the message, without the parameters that 1.3 prints in an order that changes from run to run."""
    return re.sub(r" \[\{.*?\}\]", "", message)[:LONGEST_MESSAGE]


def main() -> int:
    """Asks every wheel about every card and writes the file."""
    named = distinct()
    lines: list[dict[str, Any]] = [
        {"name": name, "card": text, "mdcsum": {}, "error": {}} for name, text in named.items()
    ]
    for profile in RELEASES:
        with contextlib.closing(Oracle(profile)) as oracle:
            for line, answer in zip(lines, oracle.ask_all(named.values()), strict=True):
                if answer.mdcsum is not None:
                    line["mdcsum"][profile] = answer.mdcsum
                elif answer.error is not None:
                    line["error"][profile] = _stable(answer.error)
    with VECTORS.open("w", encoding="ascii", newline="\n") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    accepted = {profile: sum(profile in line["mdcsum"] for line in lines) for profile in RELEASES}
    print(f"{len(lines)} cards, accepted by {accepted}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
