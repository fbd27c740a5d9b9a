"""P1 to P3: `hop.pick()` against a C method, the best plain Python, and a set intersection per request."""

import io
import threading
from collections.abc import Sequence

from benches import measure, world

MODES = ("round_robin", "random")
SIZES = (10, 100, 1_000, 10_000)
LARGE = 100_000
TARGET_REFERENCE = 1.5
TARGET_PYTHON = 3.0
TARGET_LOCKED = 8.0
TARGET_SETS = {100: 50.0, 1_000: 300.0, 10_000: 5_000.0}
TARGET_SLOPE = 0.05


class Membership:
    """What a plain Python hop watches."""

    def __init__(self, ids: Sequence[int]) -> None:
        self.ids = ids
        self.generation = 1


class PythonHop:
    """The best that plain Python does: a cached tuple, a generation check, a cursor."""

    __slots__ = ("_generation", "_ids", "_membership", "_next")

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._ids = tuple(membership.ids)
        self._generation = membership.generation
        self._next = 0

    def pick(self) -> int:
        """One id, round robin."""
        if self._generation != self._membership.generation:
            self._ids = tuple(self._membership.ids)
            self._generation = self._membership.generation
        ids = self._ids
        self._next = at = (self._next + 1) % len(ids)
        return ids[at]


class LockedHop:
    """The same, safe for several threads; written out, since a call of the other class would only slow it down."""

    __slots__ = ("_generation", "_ids", "_lock", "_membership", "_next")

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._ids = tuple(membership.ids)
        self._generation = membership.generation
        self._next = 0
        self._lock = threading.Lock()

    def pick(self) -> int:
        """One id, round robin."""
        with self._lock:
            if self._generation != self._membership.generation:
                self._ids = tuple(self._membership.ids)
                self._generation = self._membership.generation
            ids = self._ids
            self._next = at = (self._next + 1) % len(ids)
            return ids[at]


def reference() -> io.BytesIO:
    """Its `tell` is the shortest thing to compare with: a no-argument C method that makes an int of 62 bits."""
    made = io.BytesIO()
    made.seek(world.FIRST_ID)
    return made


def candidates(size: int, mode: str, keep: list[object]) -> dict[str, tuple[str, measure.Namespace]]:
    """What is compared at one size; `keep` takes the controller, which the hop must not outlive."""
    controller = world.controller_with(size, mode)
    keep.append(controller)
    hop = controller.route(world.MODEL).decode
    ids = hop.ids()
    membership = Membership(ids)
    return {
        "hop.pick()": ("hop.pick()", {"hop": hop}),
        "C method": ("hop.tell()", {"hop": reference()}),
        "Python": ("hop.pick()", {"hop": PythonHop(membership)}),
        "Python, locked": ("hop.pick()", {"hop": LockedHop(membership)}),
        "set & set": ("next(iter(discovered & admitted))", {"discovered": set(ids), "admitted": set(ids)}),
    }


def report(mode: str, sizes: Sequence[int], rounds: int) -> None:
    """One table for one router mode. All sizes and candidates take turns."""
    keep: list[object] = []
    columns = {size: candidates(size, mode, keep) for size in sizes}
    quick = {(size, name): it for size in sizes for name, it in columns[size].items() if name != "set & set"}
    medians = measure.side_by_side(quick, loops=20_000, rounds=rounds)
    for size in sizes:
        slow = {(size, "set & set"): columns[size]["set & set"]}
        medians |= measure.side_by_side(slow, loops=max(3, 100_000 // size), rounds=max(3, rounds // 3))
    rows = []
    for size in sizes:
        pick = medians[size, "hop.pick()"]
        others = [medians[size, name] for name in columns[size] if name != "hop.pick()"]
        texts = [f"{measure.nanoseconds(t)} ({t / pick:,.2f}x)" for t in others]
        rows.append((f"{size:,}", measure.nanoseconds(pick), f"{pick / medians[size, 'C method']:.2f}x", *texts))
    print(f"{mode}; in brackets: how many times as long as the pick")
    measure.table(
        ("workers", "hop.pick()", "of C method", "C method", "Python", "Python, locked", "set & set"),
        rows,
    )
    growth = measure.slope(sizes, [medians[size, "hop.pick()"] for size in sizes])
    print(f"slope {growth:+.3f} (target <= {TARGET_SLOPE})")


def main() -> None:
    """Print one table a mode, then the targets."""
    options = measure.arguments(__doc__ or "")
    for mode in MODES:
        report(mode, (*SIZES, LARGE) if options.full else SIZES, rounds=25 if options.full else 9)
    sets = "set & set >= " + ", ".join(f"{ratio:,.0f}x at {size:,}" for size, ratio in TARGET_SETS.items())
    print(
        f"targets: of C method <= {TARGET_REFERENCE}x; Python >= {TARGET_PYTHON}x, locked >= {TARGET_LOCKED}x; {sets}"
    )


if __name__ == "__main__":
    main()
