"""P8: `apply` of wire records, one event per call, one WorkerSet."""

import json
import statistics
from collections.abc import Sequence
from functools import partial

import workerset
from benches import measure, world

SIZES = (2_500, 5_000, 10_000, 20_000)
LARGE = 100_000
# Reported, never asserted: seconds depend on the machine.
TARGET_SECONDS = {20_000: 1.0, 100_000: 5.0}
TARGET_SLOPE = 1.15


def stream(count: int, *, distinct: bool) -> list[workerset.Apply]:
    """Two records a worker; with `distinct` no two cards have the same bytes (their unhashed user data differs)."""
    shared = world.card()
    made = []
    for index in range(count):
        made += world.records(index, world.card(user_data={"worker": index}) if distinct else shared)
    return made


def stored(record: workerset.Apply) -> bytes:
    """The bytes of a record's value."""
    assert isinstance(record.value, bytes)
    return record.value


def apply_each(records: Sequence[workerset.Apply]) -> None:
    """What a driver does when each record arrives by itself."""
    controller = workerset.AdmissionController(workerset.AdmissionConfig())
    for record in records:
        controller.apply([record], now=1.0)
        world.drain(controller, 1.0)


def parse_each(values: Sequence[bytes]) -> None:
    """The comparison: the standard library's JSON decoder alone, without checksum, admission or routing."""
    for value in values:
        json.loads(value)


def report(title: str, sizes: Sequence[int], *, distinct: bool, rounds: int) -> None:
    """One table: seconds, time per record and the comparison for every size, then the growth."""
    streams = {size: stream(size, distinct=distinct) for size in sizes}
    values = {size: [stored(record) for record in records] for size, records in streams.items()}
    # The sizes take turns, so that a slow minute of the machine does not look like growth.
    samples: dict[int, list[tuple[float, float]]] = {size: [] for size in sizes}
    for _ in range(rounds):
        for size in sizes:
            ours = measure.once(partial(apply_each, streams[size]))
            samples[size].append((ours, measure.once(partial(parse_each, values[size]))))
    rows = []
    medians = []
    for size in sizes:
        ours, plain = (statistics.median(column) for column in zip(*samples[size], strict=True))
        medians.append(ours)
        target = f"<= {TARGET_SECONDS[size]:.0f} s" if size in TARGET_SECONDS else ""
        times = (ours / (2 * size), plain / (2 * size))
        rows.append((f"{size:,}", f"{ours:.3f} s", target, *map(measure.microseconds, times)))
    print(f"{title}; a card record has {len(values[sizes[0]][1]):,} bytes")
    measure.table(("workers", "apply", "target", "per record", "json.loads per record"), rows)
    print(f"slope {measure.slope(sizes, medians):.3f} (target <= {TARGET_SLOPE})")


def main() -> None:
    """Print both tables."""
    options = measure.arguments(__doc__ or "")
    sizes = (*SIZES, LARGE) if options.full else SIZES
    rounds = 5 if options.full else 3
    report("cards of one content", sizes, distinct=False, rounds=rounds)
    report("every card with bytes of its own", sizes, distinct=True, rounds=rounds)


if __name__ == "__main__":
    main()
