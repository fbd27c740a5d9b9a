"""Who waits is woken by what concerns it, and by nothing else (P20)."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.discovery.records import card, endpoint_record, place, worker
from tests.frontend.helpers import PATIENCE, Workshop, put, remove, until
from workerset import AdmissionConfig, Frontend, ThreadedFrontend
from workerset._waiters import Waiters, Wanted
from workerset.discovery import MemoryDiscovery
from workerset.errors import ControllerClosed, ModelNotFound, NotReady, RoutingError

if TYPE_CHECKING:
    from workerset import Route


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every name that is asked for, by waiters too."""
    names: list[str] = []
    ask = Waiters._try

    def spy(self: Waiters, wanted: Wanted) -> Route | RoutingError:
        names.append(wanted.model)
        return ask(self, wanted)

    monkeypatch.setattr(Waiters, "_try", spy)
    return names


async def waiting(frontend: Frontend, many: int, *name: Any, **how: Any) -> list[asyncio.Task[Route]]:
    """That many calls of `wait_for`, once they wait."""
    before = len(frontend._waiters)
    tasks = [asyncio.create_task(frontend.wait_for(*name, **how)) for _ in range(many)]
    await until(frontend, lambda: len(frontend._waiters) == before + many)
    return tasks


def left_nothing(frontend: Frontend) -> bool:
    waiters = frontend._waiters
    return (len(waiters), waiters._entries, waiters._tickets) == (0, {}, {})


async def test_changes_of_other_models_wake_nobody_and_one_change_wakes_all(asked: list[str]) -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    gate = workshop.hold(1)
    put(source, 1)
    async with Frontend(source, build=workshop.build) as frontend:
        tasks = await waiting(frontend, 200, "m")
        assert len(frontend._waiters._entries) == 1, "they share one wait"
        asked.clear()
        for number in range(2, 52):
            put(source, number, card=card("other"), component="other")
            put(source, number)
            await until(frontend, partial(has_sizes, frontend, [number - 1, number]))
        assert asked == [], "nobody was woken"
        gate.set()
        routes = await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
        assert {route.generation for route in routes} == {1}
        assert asked.count("m") == 200
        assert left_nothing(frontend)


def has_sizes(frontend: Frontend, expected: list[int]) -> bool:
    return sorted(len(entry.admitted) for entry in frontend.inventory().worker_sets) == expected


async def test_a_waiter_is_woken_for_its_namespace_and_type_only(asked: list[str]) -> None:
    source = MemoryDiscovery()
    async with Frontend(source) as frontend:
        (here,) = await waiting(frontend, 1, "m", namespace="ns", unknown_ok=True)
        (embedding,) = await waiting(frontend, 1, "m", model_type="embedding", unknown_ok=True)
        asked.clear()
        put(source, 1, namespace="elsewhere")
        await frontend.wait_for("m", unknown_ok=True)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not here.done() and not embedding.done()
        assert asked.count("m") <= 3, "only the one that was just called"
        put(source, 1)
        assert (await asyncio.wait_for(here, PATIENCE)).namespace == "ns"
        put(source, 2, card=card(model_type="Embedding"), component="e")
        assert (await asyncio.wait_for(embedding, PATIENCE)).decode.ids() == (2,)


async def test_an_endpoint_record_that_comes_late_wakes() -> None:
    source = MemoryDiscovery()
    put(source, 1, namespace="ready")
    source.put(f"v1/mdc/{place(1)}", worker(1)[f"v1/mdc/{place(1)}"])
    async with Frontend(source) as frontend:
        (task,) = await waiting(frontend, 1, "m", namespace="ns")
        source.put(f"v1/instances/{place(1)}", endpoint_record(place(1)))
        assert (await asyncio.wait_for(task, PATIENCE)).namespace == "ns"


async def test_an_alias_and_an_adapter_wake() -> None:
    source = MemoryDiscovery()
    put(source, 1)
    async with Frontend(source) as frontend:
        await frontend.wait_for("m")
        (adapter,) = await waiting(frontend, 1, "tuned", unknown_ok=True)
        record = worker(1, card("tuned", lora={"name": "tuned"}))[f"v1/mdc/{place(1)}"]
        source.put(f"v1/mdc/{place(1)}/tuned", record[:-1] + b',"model_suffix":"tuned"}')
        assert (await asyncio.wait_for(adapter, PATIENCE)).adapter == "tuned"
        (alias,) = await waiting(frontend, 1, "also", unknown_ok=True)
        put(source, 1, card=card("n", aliases=["also"]), component="n")
        assert (await asyncio.wait_for(alias, PATIENCE)).model == "n"


async def test_a_name_that_becomes_unknown_ends_the_wait() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.hold(1)
    put(source, 1)
    async with Frontend(source, workshop.build, config=AdmissionConfig(linger_seconds=0.0)) as frontend:
        (task,) = await waiting(frontend, 1, "m", timeout=None)
        remove(source, 1)
        with pytest.raises(ModelNotFound):
            await asyncio.wait_for(task, PATIENCE)
        assert left_nothing(frontend)


async def test_a_cancelled_or_timed_out_waiter_leaves_nothing() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.hold(1)
    put(source, 1)
    async with Frontend(source, build=workshop.build) as frontend:
        tasks = await waiting(frontend, 10, "m", timeout=None)
        late = await waiting(frontend, 20, "m", timeout=0.05)
        for task in tasks[:9]:
            task.cancel()
        await asyncio.wait([*tasks[:9], *late])
        assert all(task.cancelled() for task in tasks[:9])
        assert all(isinstance(task.exception(), NotReady) for task in late)
        assert len(frontend._waiters) == 1
        tasks[9].cancel()
        await asyncio.wait(tasks)
        assert left_nothing(frontend)
        assert frontend._controller._ended_waits() == []


def test_threads_wait_without_the_loop_and_leave_nothing() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    gate = workshop.hold(1)
    put(source, 1)
    with Frontend.run_in_thread(source, build=workshop.build) as threaded, ThreadPoolExecutor(20) as pool:
        frontend = threaded._frontend
        waiters = [pool.submit(threaded.wait_for, "m", None) for _ in range(20)]
        while len(frontend._waiters) < 20:
            time.sleep(0.001)
        with pytest.raises(NotReady):
            threaded.wait_for("m", timeout=0.01)
        assert len(frontend._waiters) == 20
        threaded._loop.call_soon_threadsafe(gate.set)
        assert {waiter.result(PATIENCE).generation for waiter in waiters} == {1}
        assert left_nothing(frontend)


def test_threads_that_wait_while_the_frontend_closes_do_not_hang() -> None:
    for _ in range(20):
        threaded = Frontend.run_in_thread(MemoryDiscovery())
        with ThreadPoolExecutor(8) as pool:
            begin = threading.Barrier(9)

            def wait(frontend: ThreadedFrontend, begin: threading.Barrier) -> None:
                begin.wait()
                frontend.wait_for("nobody", None, unknown_ok=True)

            waiters = [pool.submit(wait, threaded, begin) for _ in range(8)]
            begin.wait()
            threaded.close()
            for waiter in waiters:
                with pytest.raises(ControllerClosed):
                    waiter.result(PATIENCE)
        assert left_nothing(threaded._frontend)


async def test_the_reasons_of_a_failed_route_are_made_when_they_are_read() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    gate = workshop.hold(1)
    put(source, 1)
    async with Frontend(source, build=workshop.build) as frontend:
        with pytest.raises(NotReady) as early:
            frontend.route("m")
        with pytest.raises(NotReady) as unread:
            frontend.route("m")
        assert len(early.value.reasons) == 1
        gate.set()
        await frontend.wait_for("m")
        assert unread.value.reasons == ("it was not when it was asked for, and is by now",)
        assert unread.value.worker_sets[0].phase == "ready"
        assert early.value.reasons != unread.value.reasons, "what was read stays"
