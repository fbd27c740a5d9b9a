"""Objects are for any number of threads, and no Python code ever runs under the controller's lock."""

from __future__ import annotations

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import workerset
from tests.boundary.samples import CARD, SAMPLES, SET
from tests.contract.world import A, B, Event, World, join, leave

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

THREADS = 8
LARGE = 100
"""Workers of a batch in which other threads run meanwhile."""


def together(work: Callable[[], object]) -> None:
    """Run it in several threads that start at one moment."""
    barrier = threading.Barrier(THREADS)

    def run() -> None:
        barrier.wait(timeout=60)
        work()

    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(run) for _ in range(THREADS)]:
            future.result()


def test_threads_read_one_record() -> None:
    records = [sample.make() for sample in SAMPLES]
    expected = [(repr(record), record.to_dict(), hash(record)) for record in records]

    def read() -> None:
        for _ in range(20):
            assert [(repr(record), record.to_dict(), hash(record)) for record in records] == expected

    together(read)


def test_threads_decode_one_card_into_a_tree_once_or_more_but_alike() -> None:
    card = CARD.normalized("fastokens")
    expected = CARD.normalized("fastokens").to_dict()

    def read() -> None:
        assert card.to_dict() == expected
        assert card == CARD.normalized("fastokens")

    together(read)


def test_routes_and_picks_go_on_while_batches_are_applied() -> None:
    world = World()
    world.serving(*(join(worker) for worker in range(LARGE)))
    stop = threading.Event()

    def read() -> int:
        picks = 0
        while not stop.is_set():
            hop = world.controller.route("m").decode
            assert 0 <= hop.pick() < 2 * LARGE
            assert len(hop.ids()) in {LARGE, 2 * LARGE}  # whole batches only (D5)
            picks += 1
        return picks

    with ThreadPoolExecutor(THREADS) as pool:
        readers = [pool.submit(read) for _ in range(THREADS)]
        more = range(LARGE, 2 * LARGE)
        try:
            for _ in range(10):
                world.apply(*(join(worker) for worker in more))
                world.apply(*(leave(worker) for worker in more))
        finally:
            stop.set()
        assert sum(reader.result() for reader in readers) > 0


def test_threads_may_all_write() -> None:
    world = World()

    def write() -> None:
        for worker in range(20):
            world.controller.apply([*join(worker)], now=0.0)
            world.controller.inventory(now=0.0)
            world.controller.poll()

    together(write)
    assert world.only_set()["admitted"] == list(range(20))


class Pipeline:
    """Calls the controller when it goes."""

    def __init__(self, controller: workerset.AdmissionController, gone: list[object]) -> None:
        self.controller = weakref.ref(controller)
        self.gone = gone

    def __del__(self) -> None:
        controller = self.controller()
        if controller is not None:
            self.gone.append(controller.closed or controller.inventory(now=0.0))


def drained(workers: Iterable[int]) -> list[Event]:
    return [event for worker in workers for event in leave(worker)]


@pytest.mark.parametrize("workers", [1, LARGE])
def test_a_withdrawn_pipeline_may_call_the_controller_when_it_goes(workers: int) -> None:
    world, gone = World(), list[Any]()
    world.apply(*(join(worker) for worker in range(workers)))
    world.succeed(1, Pipeline(world.controller, gone))
    gc.collect()
    assert gone == []
    world.apply(drained(range(workers)))
    gc.collect()
    assert [type(inventory) for inventory in gone] == [workerset.Inventory]


def test_a_fenced_pipeline_is_not_kept() -> None:
    world, gone = World(), list[Any]()
    world.apply(join(1, A), join(2, B))
    world.apply(leave(1))
    assert isinstance(world.succeed(1, Pipeline(world.controller, gone)), workerset.Fenced)
    gc.collect()
    assert len(gone) == 1


def test_close_lets_pipelines_go() -> None:
    world, gone = World(), list[Any]()
    world.apply(join(1))
    world.succeed(1, Pipeline(world.controller, gone))
    world.controller.close()
    gc.collect()
    assert gone == [True]


def test_a_route_keeps_its_pipeline() -> None:
    world, gone = World(), list[Any]()
    world.apply(join(1))
    world.succeed(1, Pipeline(world.controller, gone))
    route = world.controller.route("m")
    world.apply(leave(1))
    assert isinstance(route.pipeline, Pipeline)
    assert gone == []
    del route
    gc.collect()
    assert len(gone) == 1


def test_a_controller_can_be_referred_to_weakly() -> None:
    world = World()
    reference = weakref.ref(world.controller)
    assert reference() is world.controller
    del world
    gc.collect()
    assert reference() is None


def test_entries_stay_the_same_objects_in_threads() -> None:
    seen: list[object] = []
    together(lambda: seen.append(SET.incumbent))
    assert {id(entry) for entry in seen} == {id(SET.incumbent)}
