"""A small world: three workers, two sets, three checksums; what may happen, and when two states are one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from typing import Any, NamedTuple

from workerset import Apply, Delete, Reset

from . import world
from .cards import facts
from .groups import Building, Failed, Group, Queued
from .model import Model
from .outputs import Out
from .product import Product

SETS = ("m", "n")
CARDS = [[world.card(name, context) for context in (4096, 8192, 1024)] for name in SETS]
CHECKSUMS = [[facts(card).checksum or "" for card in cards] for cards in CARDS]
PLACES = tuple(world.Place("ns", "c", "e", number) for number in (1, 2, 16))
PLACE_KEYS = [place.key for place in PLACES]
FIRST_REVISION = 10
OLD = Reset([], as_of=4)


class Call(NamedTuple):
    """One call to a controller, with everything that it needs."""

    kind: str
    subject: Any
    now: float

    def to(self, controller: Model | Product) -> list[Out]:
        """Make it."""
        match self.kind:
            case "apply":
                return controller.apply(self.subject, self.now)
            case "succeeded":
                return controller.succeeded(self.subject, self.now)
            case "failed":
                return controller.failed(self.subject, "broken", self.now)
            case "cancelled":
                return controller.cancelled(self.subject, self.now)
            case _:
                return controller.advance(self.now)


@cache
def base(worker: int, which: int, checksum: int, revision: int, incarnation: str) -> Apply:
    """Return the card record of a worker."""
    return world.base(PLACES[worker], CARDS[which][checksum], revision=revision, incarnation=incarnation)


@cache
def instance(worker: int, revision: int) -> Apply:
    """Return the endpoint record of a worker."""
    return world.instance(PLACES[worker], revision=revision)


@cache
def leave(worker: int, revision: int) -> tuple[Delete, ...]:
    """Return what a worker's departure looks like."""
    paths = (PLACES[worker].card_path, PLACES[worker].instance_path)
    return tuple(Delete(path, revision=revision) for path in paths)


class World:
    """One state of the model, and what may happen to it."""

    def __init__(self, model: Model, depth: int) -> None:
        self.model = model
        self.revision = FIRST_REVISION + depth
        self.present: dict[int, tuple[int, int, str]] = {}
        """Set, checksum and incarnation of every worker that is there."""
        for worker, place in enumerate(PLACES):
            registered = model.bases.get(place.key)
            if registered is not None:
                which = SETS.index(registered.worker_set.model)
                token = model.watching.keys[place.card_path].token or ""
                self.present[worker] = (which, CHECKSUMS[which].index(registered.checksum), token)

    def calls(self) -> Iterator[Call]:
        """Everything that may happen next."""
        now = self.model.now
        for events in self.batches():
            yield Call("apply", events, now)
        for token in self.model.running:
            for kind in ("succeeded", "failed", "cancelled"):
                yield Call(kind, token, now)
        deadline = self.model.next_deadline()
        if deadline is not None:
            yield Call("advance", None, deadline)

    def batches(self) -> Iterator[tuple[Apply | Delete | Reset, ...]]:
        """Yield joins, leaves, new incarnations, and snapshots that say so."""
        revision = self.revision
        absent = [worker for worker in range(len(PLACES)) if worker not in self.present]
        for worker in absent:
            for which in range(len(SETS)):
                for checksum in self.choices(which):
                    yield instance(worker, revision), base(worker, which, checksum, revision, "a")
        listing = {worker: self.record(worker) for worker in self.present}
        for worker in self.present:
            yield leave(worker, revision)
            yield (self.record(worker, reborn=True),)
            rest = [entry for other, entry in listing.items() if other != worker]
            yield (self.snapshot(rest, set(listing) - {worker}),)
        if len(self.present) > 1:
            yield (self.snapshot([self.record(worker, reborn=True) for worker in self.present], set(listing)),)
        if self.present and absent:
            arrivals = [base(worker, 0, 0, revision, "a") for worker in absent]
            yield (self.snapshot(arrivals, set(absent)),)

    def record(self, worker: int, *, reborn: bool = False) -> Apply:
        """The record of a worker as it stands, or of its next incarnation."""
        which, checksum, token = self.present[worker]
        return base(worker, which, checksum, self.revision, "ab"[(token == "a") == reborn])

    def snapshot(self, bases: list[Apply], workers: set[int]) -> Reset:
        """A snapshot that is newer than everything."""
        return Reset([*bases, *(instance(worker, self.revision) for worker in workers)], as_of=self.revision)

    def choices(self, which: int) -> list[int]:
        """Checksums that tell something new: those in use, and one of the others."""
        used = [CHECKSUMS[which].index(checksum) for checksum in in_use(self.model, which)]
        return used + [checksum for checksum in range(len(CHECKSUMS[which])) if checksum not in used][:1]

    def probes(self) -> Iterator[tuple[Apply | Delete | Reset, ...]]:
        """Yield batches that change nothing: duplicates, stale events, and snapshots of every age (D1, D2, R5)."""
        listing = [self.record(worker) for worker in self.present]
        seen = self.model.watching.keys
        last = self.revision - 1
        before = [record for record in listing if seen[record.path].revision < last]
        before += [
            base(worker, 0, 0, FIRST_REVISION, "c")
            for worker, place in enumerate(PLACES)
            if place.card_path in seen and not seen[place.card_path].present and seen[place.card_path].revision == last
        ]
        yield tuple(listing)
        yield tuple(reversed(listing))
        yield (OLD,)
        yield (Reset(before, as_of=last - 1, prefix="v1/mdc/"),)
        yield tuple(Delete(place.card_path, revision=1) for place in PLACES)
        yield (base(0, 0, 0, 1, "c"),)
        yield (self.snapshot(listing[::-1], set(self.present)),)
        unchanged = [Apply(record.path, None) for record in listing]
        yield (Reset(unchanged, as_of=self.revision, prefix="v1/mdc/"),)


def in_use(model: Model, which: int) -> list[str]:
    """Checksums of one set's cohorts and of running builds, in an order that the sums themselves do not decide."""
    cohorts = [cohort for key, group in model.groups.items() if key.model == SETS[which] for cohort in group.cohorts]
    named = [cohort.checksum for cohort in cohorts]
    named += [token.checksum for token in model.running if token.checksum in CHECKSUMS[which]]
    return list(dict.fromkeys(named))


def fingerprint(model: Model) -> bytes:
    """Tell states apart, but not by times, revisions, generations, and which checksum is which."""
    parts: list[object] = [sorted(set(PLACE_KEYS) & model.endpoints.keys())]
    names = {checksum: number for which in range(2) for number, checksum in enumerate(in_use(model, which))}
    failures = sorted(group.doing.order for group in model.groups.values() if isinstance(group.doing, Failed))
    for model_name in SETS:
        for key, group in model.groups.items():
            if key.model == model_name:
                cohorts = [(names[cohort.checksum], sorted(cohort.members)) for cohort in group.cohorts]
                parts.append((model_name, cohorts, group.failures, _doing(group, model.now, failures)))
    wanted = {group.doing.token for group in model.groups.values() if isinstance(group.doing, Building)}
    parts.append([key.model for key in model.queue])
    parts.append([(token.group, names[token.checksum], token in wanted) for token in model.running])
    return blake2b(repr(parts).encode(), digest_size=12).digest()


def _doing(group: Group, now: float, failures: list[int]) -> object:
    doing = group.doing
    match doing:
        case Failed():
            return "failed", doing.at - now, doing.deadline - now, failures.index(doing.order)
        case Queued():
            return "queued"
        case _:
            return type(doing).__name__, doing.card.label
