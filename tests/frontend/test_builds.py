"""Every build is reported exactly once, and no pipeline is lost."""

import asyncio
from typing import Any

import pytest

from tests.discovery.records import card
from tests.frontend.helpers import PATIENCE, Workshop, put, remove, until
from workerset import AdmissionConfig, BuildBlocked, BuildCommitted, BuildRetry, BuildSpec
from workerset.discovery import MemoryDiscovery
from workerset.frontend import Frontend
from workerset.observability import Lagged, Subscription


async def first_of(notices: Subscription, kind: type[Any]) -> Any:
    async for notice in notices:
        if isinstance(notice, kind):
            return notice
    raise AssertionError(f"no {kind.__name__}")


async def test_a_build_gets_the_selected_card_and_its_pipeline_is_served() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    put(source, 1, 2)
    async with Frontend(source, build=workshop.build) as frontend:
        route = await frontend.wait_for("m")
        assert route.pipeline == "pipeline 1"
        (spec,) = workshop.specs
        assert spec.generation == route.generation == 1
        assert spec.representative == "ns/backend/generate/1"
        assert spec.card.mdcsum == spec.mdc_checksum == route.decode.mdc_checksum


async def test_a_failed_build_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.failures[1] = ValueError("no memory")
    put(source, 1)
    async with Frontend(source, build=workshop.build, close=workshop.close) as frontend:
        notices = frontend.subscribe()
        route = await frontend.wait_for("m")
        assert route.pipeline == "pipeline 2"
        retry = await first_of(notices, BuildRetry)
        assert (retry.attempt, retry.reason) == (1, "ValueError: no memory")
    assert workshop.dropped == ["pipeline 2"]
    assert "Traceback" in caplog.text


async def test_a_build_that_takes_too_long_is_cancelled_and_failed() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.hold(1)
    put(source, 1)
    async with Frontend(source, build=workshop.build, build_timeout=0.05) as frontend:
        notices = frontend.subscribe()
        assert (await frontend.wait_for("m")).generation == 2
        assert (await first_of(notices, BuildRetry)).reason == "the build took longer than 0.05 s"
        assert workshop.cancelled == [1]


async def test_what_a_late_build_returns_is_closed() -> None:
    source, workshop = MemoryDiscovery(), Workshop()

    async def careless(spec: BuildSpec) -> str:
        if spec.generation == 1:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "too late"
        return await workshop.build(spec)

    put(source, 1)
    async with Frontend(source, build=careless, close=workshop.close, build_timeout=0.05) as frontend:
        notices = frontend.subscribe()
        assert (await frontend.wait_for("m")).pipeline == "pipeline 2"
        assert (await first_of(notices, BuildRetry)).reason == "the build took longer than 0.05 s"
        assert workshop.dropped == ["too late"]


async def test_a_build_that_cancels_itself_has_failed() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.failures[1] = asyncio.CancelledError()
    put(source, 1)
    async with Frontend(source, build=workshop.build) as frontend:
        notices = frontend.subscribe()
        assert (await frontend.wait_for("m")).generation == 2
        assert (await first_of(notices, BuildRetry)).reason == "the build cancelled itself"


async def test_a_build_that_is_no_coroutine_has_failed() -> None:
    source = MemoryDiscovery()
    put(source, 1)
    async with Frontend(source, build=lambda spec: spec.generation) as frontend:  # type: ignore[arg-type, return-value]
        notices = frontend.subscribe()
        assert (await first_of(notices, BuildRetry)).reason.startswith("TypeError: ")


async def test_a_succession_cancels_the_build_and_a_fenced_pipeline_is_closed() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.deaf = True
    gate = workshop.hold(1)
    put(source, 1)
    async with Frontend(source, build=workshop.build, close=workshop.close) as frontend:
        await until(frontend, lambda: len(workshop.specs) == 1)
        put(source, 2, card=card(block_size=32))
        remove(source, 1)
        assert (await frontend.wait_for("m")).pipeline == "pipeline 2"
        assert workshop.cancelled == [1]
        assert workshop.dropped == []
        gate.set()
        await until(frontend, lambda: workshop.dropped == ["pipeline 1"])
        assert frontend.route("m").pipeline == "pipeline 2"


async def test_a_cancelled_build_holds_its_place_until_it_ends() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.deaf = True
    gate = workshop.hold(1)
    put(source, 1)
    config = AdmissionConfig(max_concurrent_builds=1)
    async with Frontend(source, build=workshop.build, close=workshop.close, config=config) as frontend:
        await until(frontend, lambda: len(workshop.specs) == 1)
        put(source, 2, card=card("other"), component="other")
        remove(source, 1)
        await until(frontend, lambda: workshop.cancelled == [1])
        assert [entry.phase for entry in frontend.inventory().worker_sets] == ["queued"]
        gate.set()
        assert (await frontend.wait_for("other")).generation == 2


async def test_a_build_that_obeys_its_cancellation_frees_its_place() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.hold(1)
    put(source, 1)
    config = AdmissionConfig(max_concurrent_builds=1)
    async with Frontend(source, build=workshop.build, close=workshop.close, config=config) as frontend:
        await until(frontend, lambda: len(workshop.specs) == 1)
        put(source, 2, card=card("other"), component="other")
        remove(source, 1)
        assert (await frontend.wait_for("other", unknown_ok=True)).generation == 2
    assert workshop.dropped == ["pipeline 2"]


async def test_a_blocked_pipeline_is_closed() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    put(source, 1)
    async with Frontend(source, build=workshop.build, close=workshop.close) as frontend:
        await frontend.wait_for("m")
        notices = frontend.subscribe()
        put(source, 2, card=card("other", aliases=["m"]), component="other")
        blocked = await first_of(notices, BuildBlocked)
        assert (blocked.owner, blocked.name) == ("m", "m")
        assert workshop.dropped == ["pipeline 2"]


async def test_a_withdrawn_pipeline_is_closed_by_an_async_callable() -> None:
    source, workshop = MemoryDiscovery(), Workshop()

    async def close(pipeline: object) -> None:
        await asyncio.sleep(0)
        workshop.close(pipeline)

    put(source, 1)
    async with Frontend(source, build=workshop.build, close=close) as frontend:
        await frontend.wait_for("m")
        remove(source, 1)
        await until(frontend, lambda: workshop.dropped == ["pipeline 1"])


@pytest.mark.parametrize("in_a_task", [False, True])
async def test_what_close_raises_is_logged(in_a_task: bool, caplog: pytest.LogCaptureFixture) -> None:
    source, workshop = MemoryDiscovery(), Workshop()

    def close(_pipeline: object) -> None:
        raise ValueError("stuck")

    async def close_later(_pipeline: object) -> None:
        raise ValueError("stuck")

    put(source, 1)
    chosen = close_later if in_a_task else close
    async with Frontend(source, build=workshop.build, close=chosen) as frontend:
        await frontend.wait_for("m")
    assert "closing a pipeline failed: ValueError: stuck" in caplog.text


async def test_no_pipeline_is_not_closed() -> None:
    source, workshop = MemoryDiscovery(), Workshop()
    put(source, 1)
    async with Frontend(source, close=workshop.close) as frontend:
        await frontend.wait_for("m")
    assert workshop.dropped == []


async def test_closing_does_not_wait_for_ever_for_a_deaf_build(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("workerset._builds._PATIENCE", 0.05)
    source, workshop = MemoryDiscovery(), Workshop()
    workshop.deaf = True
    gate = workshop.hold(1)
    put(source, 1)
    async with Frontend(source, build=workshop.build, close=workshop.close) as frontend:
        await until(frontend, lambda: len(workshop.specs) == 1)
    assert "the build of generation 1 ignores its cancellation" in caplog.text
    closed = asyncio.Event()
    monkeypatch.setattr(frontend._builds, "_close", lambda _pipeline: closed.set())
    gate.set()
    await asyncio.wait_for(closed.wait(), PATIENCE)


async def test_a_slow_reader_is_told_how_much_it_missed() -> None:
    source = MemoryDiscovery()
    async with Frontend(source) as frontend:
        everything, little = frontend.subscribe(), frontend.subscribe(limit=2)
        put(source, *range(1, 21))
        await frontend.wait_for("m", unknown_ok=True)
        put(source, 1, card=card("other"), component="other")
        await frontend.wait_for("other", unknown_ok=True)
    told = [notice async for notice in everything]
    assert any(isinstance(notice, BuildCommitted) for notice in told)
    assert len(told) > 2
    assert [notice async for notice in little] == [Lagged(len(told) - 2), *told[-2:]]


async def test_a_subscription_after_the_end_is_empty() -> None:
    async with Frontend(MemoryDiscovery()) as frontend:
        pass
    assert [notice async for notice in frontend.subscribe()] == []
