"""A real Dynamo frontend and ours over one store with real workers, and what each of them says."""

import contextlib
import itertools
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

import workerset
import workerset.discovery
from tests.interop.oracle import Oracle
from tests.interop.real_frontend import RealFrontend, Rejection, real_frontend
from tests.interop.real_worker import PROFILE, Worker, worker

# What takes longest is a killed worker, whose keys the store holds for 10 s; a slow machine comes on top.
DEADLINE = 60.0


@dataclass(frozen=True)
class Place:
    """What a worker is started for: with one role and one type, that is one WorkerSet."""

    model: str
    namespace: str
    component: str = "backend"

    @property
    def key(self) -> workerset.WorkerSetKey:
        """The key of the set of workers as `real_worker` starts them."""
        return workerset.WorkerSetKey(self.model, self.namespace, self.component, "generate", "chat", "aggregated")


class Member(Protocol):
    """A worker in the store, whoever published it."""

    @property
    def instance_id(self) -> int: ...
    @property
    def instance(self) -> str:
        """The instance key."""

    @property
    def card(self) -> str:
        """The text of the published card."""


# Cohorts in first-observation order, the incumbent's first.
World = Mapping[Place, Sequence[Sequence[Member]]]


@dataclass(frozen=True)
class View:
    """What one frontend says, or should say.

    Attributes:
        models: names that are offered, ascending.
        ready: of those models, the readiness document as Dynamo's HTTP surface shows it; but whether a legacy card
            decides is a flag there.
        groups: ids of the sets that serve.
        rejections: every report of a rejected cohort since the beginning, sorted: cohorts that are reported together
            have no order in Dynamo.

    """

    models: tuple[str, ...]
    ready: dict[str, Any]
    groups: frozenset[str]
    rejections: tuple[Rejection, ...]


class SideBySide:
    """Both frontends over one store, the workers in it, and the reports that have been due so far."""

    def __init__(
        self,
        store: Path,
        theirs: RealFrontend,
        ours: workerset.ThreadedFrontend,
        our_log: pytest.LogCaptureFixture,
        workers: contextlib.ExitStack,
    ) -> None:
        self.theirs = theirs
        self.ours = ours
        self._store = store
        self._log = our_log
        self._workers = workers
        self._due: list[Rejection] = []
        self._sums: dict[str, str] = {}

    def start(self, place: Place, context_length: int) -> Worker:
        """A worker more; it is published when this returns, and ends with the block at the latest."""
        return self._workers.enter_context(started(self._store, place, context_length))

    def agree(self, world: World, *rejected: tuple[Place, Member, Member]) -> None:
        """Wait until both show this world. Models that only real workers serve must answer requests from them.

        Args:
            world: what should be.
            rejected: the reports due since the last call, each as place, a worker of the incumbent cohort, and the
                worker that stands for the rejected one.

        """
        for place, incumbent, other in rejected:
            sums = self.wheel_sum(incumbent), self.wheel_sum(other)
            self._due.append(Rejection(str(place.key), *sums, other.instance))
        wanted = expected(world, self._due)
        cohorts = {
            place.key: [(self.wheel_sum(cohort[0]), sorted(one.instance for one in cohort)) for cohort in cohorts]
            for place, cohorts in world.items()
        }
        until(
            "both frontends show the same",
            lambda: (self.their_view(), self.our_view(), self.our_cohorts()),
            (wanted, wanted, cohorts),
        )
        for model in wanted.models:
            serving = [one for place, (first, *_) in world.items() if place.model == model for one in first]
            assert self.our_ids(model) == {one.instance_id for one in serving}
            if all(isinstance(one, Worker) for one in serving):
                self.answers(model, {one.instance_id for one in serving})

    def wheel_sum(self, one: Member) -> str:
        """The checksum that the real decoder gives the card that this worker published."""
        if one.card not in self._sums:
            with contextlib.closing(Oracle(PROFILE)) as oracle:
                answer = oracle.ask(one.card)
            assert answer.mdcsum is not None, answer.error
            self._sums[one.card] = answer.mdcsum
        return self._sums[one.card]

    def answers(self, model: str, serving: set[int]) -> None:
        """The real frontend sends requests to all of these and to nobody else."""
        seen: set[int] = set()
        end = time.monotonic() + DEADLINE
        for count in itertools.count(1):
            if (answered := self.theirs.chat(model)) is not None:
                seen.add(answered)
            assert seen <= serving, (seen, serving)
            if seen == serving and count >= 2 * len(serving):
                return
            assert time.monotonic() < end, (seen, serving)

    def our_ids(self, model: str) -> set[int]:
        """The ids that our routes of a model yield, over all namespaces."""
        entries = [entry for entry in self.ours.inventory().worker_sets if entry.model == model]
        hops = [self.ours.route(model, namespace=entry.namespace).decode for entry in entries]
        return {instance_id for hop in hops for instance_id in hop.ids()}

    def our_cohorts(self) -> dict[workerset.WorkerSetKey, list[tuple[str, list[str]]]]:
        """Checksum and members of every cohort, the incumbent's first."""
        cohorts = {}
        for entry in self.ours.inventory().worker_sets:
            rejected = [(cohort.mdc_checksum, list(cohort.members)) for cohort in entry.rejected]
            incumbent = entry.incumbent.mdc_checksum, list(entry.incumbent.members)
            cohorts[entry.worker_set] = [incumbent, *rejected]
        return cohorts

    def our_ready(self, model: str, committed: Sequence[workerset.WorkerSetEntry]) -> dict[str, Any]:
        """Dynamo's readiness document by our evaluator: one set a namespace here (clauses Y1 and Y2)."""
        namespaces: dict[str, dict[str, Any]] = {}
        for entry in committed:
            if entry.model != model:
                continue
            try:
                card = self.ours.route(model, namespace=entry.namespace).card
            except workerset.NotReady:  # it changed between the two looks, or nobody is routable
                namespaces[entry.namespace] = {"ready": False}
                continue
            live = len(entry.routable) + len(entry.inhibited)
            unit = workerset.ReadinessUnit(card.worker_type, live, card.needs)
            verdict = workerset.evaluate_readiness([unit])
            typed = {} if card.worker_type is None else {card.worker_type: {"workers": live, "needs": list(card.needs)}}
            namespaces[entry.namespace] = {
                "ready": verdict.ready,
                "legacy": verdict.has_legacy,
                "worker_types": typed,
                "present": list(verdict.present),
                "missing_worker_types": list(verdict.missing),
            }
        ready = any(entry["ready"] for entry in namespaces.values())
        return {"model": model, "ready": ready, "namespaces": namespaces}

    def their_view(self) -> View:
        """What the real frontend says."""
        models = self.theirs.models()
        return View(
            models=models,
            ready={model: without_prose(self.theirs.ready(model)) for model in models},
            groups=self.theirs.groups(),
            rejections=tuple(sorted(self.theirs.rejections())),
        )

    def our_view(self) -> View:
        """What ours says, in the same words."""
        committed = [entry for entry in self.ours.inventory().worker_sets if entry.generation is not None]
        models = sorted({entry.model for entry in committed})
        return View(
            models=tuple(models),
            ready={model: self.our_ready(model, committed) for model in models},
            groups=frozenset(str(entry.worker_set) for entry in committed),
            rejections=tuple(sorted(logged_rejections(self._log))),
        )


def started(store: Path, place: Place, context_length: int) -> contextlib.AbstractContextManager[Worker]:
    """A worker for the time of the block; its configuration is the context length."""
    return worker(
        store,
        model=place.model,
        namespace=place.namespace,
        component=place.component,
        context_length=context_length,
    )


@contextlib.contextmanager
def side_by_side(store: Path, dynamo_log: Path, our_log: pytest.LogCaptureFixture) -> Iterator[SideBySide]:
    """Both frontends over the store, for the time of the block."""
    source = workerset.discovery.open(f"file://{store}")
    with (
        real_frontend(store, dynamo_log, deadline=DEADLINE) as theirs,
        workerset.Frontend.run_in_thread(source) as ours,
        contextlib.ExitStack() as workers,
    ):
        yield SideBySide(store, theirs, ours, our_log, workers)


def without_prose(document: dict[str, Any] | None) -> dict[str, Any] | None:
    """Dynamo's readiness document with a flag instead of the sentence about legacy cards."""
    if document is not None:
        for entry in document["namespaces"].values():
            entry["legacy"] = entry.pop("reason", "").startswith("legacy ")
    return document


def logged_rejections(log: pytest.LogCaptureFixture) -> Iterator[Rejection]:
    """The reports in our own log (clause S6)."""
    for record in log.get_records("call"):
        fields = vars(record)
        if fields.get("event") == "CohortRejected":
            names = ("worker_set", "incumbent_checksum", "rejected_checksum", "instance")
            yield Rejection(*(fields[name] for name in names))


def expected(world: World, due: Sequence[Rejection]) -> View:
    """What a frontend should say of this world."""
    ready: dict[str, Any] = {}
    for place, (incumbent, *_) in world.items():
        document = ready.setdefault(place.model, {"model": place.model, "ready": True, "namespaces": {}})
        legacy = json.loads(incumbent[0].card).get("worker_type") is None
        document["namespaces"][place.namespace] = {
            "ready": True,
            "legacy": legacy,
            "worker_types": {} if legacy else {"aggregated": {"workers": len(incumbent), "needs": []}},
            "present": [] if legacy else ["aggregated"],
            "missing_worker_types": [],
        }
    return View(
        models=tuple(sorted(ready)),
        ready=ready,
        groups=frozenset(str(place.key) for place in world),
        rejections=tuple(sorted(due)),
    )


def until(what: str, look: Callable[[], Any], wanted: object) -> None:
    """Look again and again until this is seen."""
    end = time.monotonic() + DEADLINE
    while (seen := look()) != wanted:
        assert time.monotonic() < end, f"not within {DEADLINE:g} s: {what}\nwanted {wanted}\nseen   {seen}"
        time.sleep(0.05)
