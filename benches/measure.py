"""What every benchmark shares: side-by-side timing, medians, growth, a table."""

import argparse
import gc
import math
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import workerset

Namespace = Mapping[str, object]
Name = TypeVar("Name", bound=Hashable)


def arguments(description: str) -> argparse.Namespace:
    """The command line: `--short` (the default) for a look of a few seconds, `--full` for every size."""
    parser = argparse.ArgumentParser(description=description)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--short", dest="full", action="store_false")
    form.add_argument("--full", dest="full", action="store_true")
    parser.set_defaults(full=False)
    parsed = parser.parse_args()
    refuse_debug_build()
    print(f"== {description} (Python {sys.version.split()[0]}, {'full' if parsed.full else 'short'} form)")
    return parsed


def refuse_debug_build() -> None:
    """A figure of a debug build says nothing."""
    if workerset.build_profile != "release":
        sys.exit(f"the installed native module is a {workerset.build_profile} build: install a release wheel")


def side_by_side(statements: Mapping[Name, tuple[str, Namespace]], *, loops: int, rounds: int) -> dict[Name, float]:
    """The median time of each statement in seconds; they take turns, so that noise hits all alike."""
    timers = {name: timeit.Timer(text, globals=dict(names)) for name, (text, names) in statements.items()}
    samples: dict[Name, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            samples[name].append(timer.timeit(loops) / loops)
    return {name: statistics.median(times) for name, times in samples.items()}


def once(work: Callable[[], None]) -> float:
    """How long one run takes, in seconds, without pauses of the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    finally:
        gc.enable()


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    """The growth exponent: slope of the least-squares line through the logarithms of sizes and times."""
    return statistics.linear_regression([math.log(size) for size in sizes], [math.log(t) for t in times]).slope


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their header, the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        first, *others = row
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        print("  ".join(cells))


def nanoseconds(seconds: float) -> str:
    """A duration as text."""
    return f"{seconds * 1e9:.1f} ns"


def microseconds(seconds: float) -> str:
    """A duration as text."""
    return f"{seconds * 1e6:.2f} us"
