"""From a source to routes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.discovery.harness import FileBackend
from tests.discovery.records import card, worker
from tests.frontend.helpers import PATIENCE, Scripted, Workshop, put, remove, until
from workerset import AdmissionConfig, Apply, Event, NamespaceFilter, Reset
from workerset.discovery import MemoryDiscovery
from workerset.errors import (
    BindingRetired,
    ConfigError,
    ControllerClosed,
    DiscoveryError,
    DiscoveryTimeout,
    ModelNotFound,
    NotReady,
)
from workerset.frontend import Frontend
from workerset.observability import Lagged


async def test_it_is_entered_with_the_first_snapshot_applied() -> None:
    source = MemoryDiscovery()
    put(source, 1, 2)
    async with Frontend(source) as frontend:
        assert [len(entry.admitted) for entry in frontend.inventory().worker_sets] == [2]
        assert frontend.inventory().source.state == "live"
        route = await frontend.wait_for("m")
        assert route.pipeline is None
        assert route.decode.ids() == (1, 2)
        assert frontend.route("m", model_type="chat", namespace="ns").decode.pick() in {1, 2}


async def test_changes_reach_a_hop_that_is_held() -> None:
    source = MemoryDiscovery()
    put(source, 1)
    async with Frontend(source) as frontend:
        hop = (await frontend.wait_for("m")).decode
        put(source, 2)
        await until(frontend, lambda: hop.ids() == (1, 2))
        remove(source, 1)
        await until(frontend, lambda: hop.ids() == (2,))


async def test_it_gives_up_without_a_snapshot() -> None:
    source = MemoryDiscovery()
    source.drop_connection("the cable is out")
    with pytest.raises(DiscoveryTimeout, match=r"no snapshot within 0\.05 s: the cable is out"):
        await Frontend(source, start_timeout=0.05).__aenter__()
    with pytest.raises(DiscoveryError, match="closed"):
        await source.snapshot()


async def test_a_source_that_ends_before_its_snapshot_cannot_be_entered() -> None:
    async def nothing() -> AsyncIterator[Sequence[Event]]:
        none: tuple[Sequence[Event], ...] = ()
        for batch in none:
            yield batch

    source = Scripted(nothing)
    with pytest.raises(DiscoveryError, match="ended before its first snapshot"):
        await Frontend(source).__aenter__()
    assert source.closed


async def test_a_source_that_is_configured_wrongly_cannot_be_entered() -> None:
    class Wrong(Scripted):
        def batches(self) -> AsyncIterator[Sequence[Event]]:
            self.begun += 1
            raise ConfigError("discovery", "the extra is missing")

    source = Wrong()
    with pytest.raises(ConfigError, match="the extra is missing"):
        await Frontend(source).__aenter__()
    assert source.begun == 1


async def test_a_lost_source_keeps_serving_and_shows() -> None:
    source = MemoryDiscovery()
    put(source, 1)
    async with Frontend(source) as frontend:
        hop = (await frontend.wait_for("m")).decode
        source.drop_connection()
        await until(frontend, lambda: frontend.inventory().source.state == "lost")
        assert frontend.route("m").decode.pick() == 1
        source.restore()
        put(source, 2)
        await until(frontend, lambda: frontend.inventory().source.state == "live")
        await until(frontend, lambda: hop.ids() == (1, 2))


async def test_a_source_that_ends_keeps_serving_and_shows() -> None:
    async def once() -> AsyncIterator[Sequence[Event]]:
        yield [Reset([Apply(path, value) for path, value in worker(1).items()], 1)]

    async with Frontend(Scripted(once)) as frontend:
        await until(frontend, lambda: frontend.inventory().source.state == "ended")
        assert frontend.route("m").decode.pick() == 1


async def test_a_source_that_raises_is_read_again(caplog: pytest.LogCaptureFixture) -> None:
    async def broken() -> AsyncIterator[Sequence[Event]]:
        yield [Reset([Apply(path, value) for path, value in worker(1).items()], 1)]
        raise KeyError("a bug of the adapter")

    async def whole() -> AsyncIterator[Sequence[Event]]:
        yield [Reset([Apply(path, value) for path, value in worker(2).items()], 2)]
        await asyncio.Event().wait()

    source = Scripted(broken, whole)
    async with Frontend(source) as frontend:
        await until(frontend, lambda: frontend.inventory().source.state == "lost")
        assert frontend.route("m").decode.pick() == 1
        await until(frontend, lambda: frontend.inventory().worker_sets[0].admitted == (2,))
        assert frontend.inventory().source.state == "live"
    assert source.begun == 2
    assert "a bug of the adapter" in caplog.text


async def test_a_large_batch_is_applied_in_a_thread_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    to_thread = asyncio.to_thread

    async def spying(function: object, *arguments: Sequence[Event]) -> None:
        threads.append(len(arguments[0]))
        await to_thread(function, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("workerset.frontend.asyncio.to_thread", spying)
    source = MemoryDiscovery()
    async with Frontend(source) as frontend:
        put(source, *range(1, 301))
        remove(source, 300)
        hop = (await frontend.wait_for("m", unknown_ok=True)).decode
        assert hop.ids() == tuple(range(1, 300))
        put(source, 301)
        await until(frontend, lambda: hop.ids() == (*range(1, 300), 301))
    assert threads == [602]


async def test_wait_for_an_unknown_model() -> None:
    source = MemoryDiscovery()
    async with Frontend(source) as frontend:
        with pytest.raises(ModelNotFound):
            await frontend.wait_for("m")
        with pytest.raises(ModelNotFound):
            await frontend.wait_for("m", timeout=0.01, unknown_ok=True)
        waiting = asyncio.create_task(frontend.wait_for("m", timeout=None, unknown_ok=True))
        await asyncio.sleep(0)
        put(source, 1)
        assert (await asyncio.wait_for(waiting, PATIENCE)).model == "m"


async def test_wait_for_a_model_that_does_not_become_ready_says_why() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.hold(1)
    put(source, 1)
    async with Frontend(source, build=workshop.build) as frontend:
        with pytest.raises(NotReady) as failure:
            await frontend.wait_for("m", timeout=0.05)
        assert failure.value.model == "m"
        assert failure.value.reasons
        assert [entry.phase for entry in failure.value.worker_sets] == ["building"]


async def test_wait_for_waits_across_a_succession() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    gate = workshop.hold(2)
    put(source, 1)
    async with Frontend(source, build=workshop.build, close=workshop.close) as frontend:
        first = await frontend.wait_for("m")
        put(source, 2, card=card(block_size=32))
        remove(source, 1)
        await until(frontend, lambda: first.decode.retired)
        waiting = asyncio.create_task(frontend.wait_for("m"))
        await until(frontend, lambda: len(workshop.specs) == 2)
        assert not waiting.done()
        gate.set()
        second = await waiting
        assert (second.generation, second.pipeline, second.decode.ids()) == (2, "pipeline 2", (2,))
        with pytest.raises(BindingRetired):
            first.decode.pick()
        assert workshop.dropped == ["pipeline 1"]


async def test_waiting_ends_when_the_frontend_closes() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.hold(1)
    put(source, 1)
    async with Frontend(source, build=workshop.build) as frontend:
        await until(frontend, lambda: len(workshop.specs) == 1)
        waiting = asyncio.create_task(frontend.wait_for("m", timeout=None))
        await asyncio.sleep(0)
    with pytest.raises(ControllerClosed):
        await asyncio.wait_for(waiting, PATIENCE)


async def test_a_wait_that_is_cancelled_at_the_moment_of_a_change_stays_cancelled() -> None:
    async with Frontend(MemoryDiscovery()) as frontend:
        waiting = asyncio.create_task(frontend.wait_for("m", unknown_ok=True))
        for _ in range(3):
            await asyncio.sleep(0)
        frontend._waiters.wake_all()
        waiting.cancel()
        await asyncio.wait({waiting})
        assert waiting.cancelled()


async def test_closing_ends_everything() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    put(source, 1)
    put(source, 1, card=card("other"), component="other")
    workshop.hold(2)
    async with Frontend(source, build=workshop.build, close=workshop.close) as frontend:
        await until(frontend, lambda: len(workshop.specs) == 2)
        built = next(spec.model for spec in workshop.specs if spec.generation == 1)
        hop = (await frontend.wait_for(built)).decode
        notices = frontend.subscribe()
    assert hop.retired
    assert workshop.cancelled == [2]
    assert workshop.dropped == ["pipeline 1"]
    with pytest.raises(ControllerClosed):
        frontend.route("m")
    with pytest.raises(ControllerClosed):
        frontend.inventory()
    with pytest.raises(DiscoveryError):
        await source.snapshot()
    assert [notice async for notice in notices if isinstance(notice, Lagged)] == []
    await frontend.aclose()
    assert workshop.dropped == ["pipeline 1"]


async def test_it_is_entered_once() -> None:
    frontend = Frontend(MemoryDiscovery())
    async with frontend:
        pass
    with pytest.raises(ConfigError):
        await frontend.__aenter__()


@pytest.mark.parametrize("option", ["start_timeout", "build_timeout"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_timeout_is_positive(option: str, value: float) -> None:
    with pytest.raises(ConfigError, match=option):
        Frontend(MemoryDiscovery(), **{option: value})  # type: ignore[arg-type]


async def test_the_configuration_reaches_the_controller() -> None:
    source = MemoryDiscovery()
    put(source, 1)
    put(source, 2, namespace="other")
    config = AdmissionConfig(namespaces=NamespaceFilter.exact("other"))
    async with Frontend(source, config=config) as frontend:
        assert [entry.namespace for entry in frontend.inventory().worker_sets] == ["other"]


async def test_names_that_do_not_decode_are_refused_visibly(tmp_path: Path) -> None:
    backend = FileBackend(tmp_path)
    for path, value in worker(1).items():
        backend.put(path, value)
    (backend.root / "v1/mdc/ns%2").write_bytes(b"{}")
    async with Frontend(backend.open()) as frontend:
        refused = frontend.inventory().refused
        assert [entry.key for entry in refused] == ["ns%2"]
        assert refused[0].reason
        assert (await frontend.wait_for("m")).decode.pick() == 1
