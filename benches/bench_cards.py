"""P11: `ModelCard.from_json(...).mdcsum` of a card of 2 kB, for new bytes and for bytes seen before."""

import itertools
import json

import workerset
from benches import measure, world

FRESH = 20_000


def texts() -> list[bytes]:
    """Cards of which no two have the same bytes."""
    filler = "x" * 300
    return [json.dumps(world.card(user_data={"worker": index, "note": filler})).encode() for index in range(FRESH)]


def main() -> None:
    """Print one row for each case, with the standard library's JSON decoder on the same bytes beside it."""
    options = measure.arguments(__doc__ or "")
    fresh = texts()
    known = fresh[0]
    from_json = workerset.ModelCard.from_json
    names: dict[str, object] = {"from_json": from_json, "loads": json.loads, "known": known}
    from_json(known)
    medians = measure.side_by_side(
        {
            "new bytes": ("from_json(next(new)).mdcsum", names | {"new": itertools.cycle(fresh)}),
            "bytes seen before": ("from_json(known).mdcsum", names),
            "json.loads alone": ("loads(known)", names),
        },
        loops=FRESH // 10,
        rounds=30 if options.full else 9,
    )
    plain = medians["json.loads alone"]
    targets = {"new bytes": "<= 8 us", "bytes seen before": "<= 0.5 us"}
    print(f"a card of {len(known):,} bytes")
    measure.table(
        ("case", "time", "target", "of json.loads"),
        [(name, measure.microseconds(t), targets.get(name, ""), f"{t / plain:.2f}x") for name, t in medians.items()],
    )


if __name__ == "__main__":
    main()
