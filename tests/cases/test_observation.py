"""Listings, gaps and sources that fail, as far as the core and the frontend decide (chapter D, Y6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.cases.cast import arrive, builds, rejected, role
from tests.contract.world import B, World, base, instance, join, kinds, leave, of
from tests.discovery.harness import FileBackend
from tests.discovery.records import worker
from tests.frontend.helpers import Scripted, until
from workerset import Apply, CohortRejected, Event, ModelNotFound, NotReady, Reset
from workerset.errors import DiscoveryTimeout
from workerset.frontend import Frontend


def test_after_a_gap_absence_removes_and_nothing_else_changes() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/11144 (D3, D4): instances that went in the gap were kept.

    The core's half: what the source does on reconnection is its adapter's.
    """
    world = World()
    world.serving(Reset([*join(1), *join(2)], as_of=4))
    hop = world.controller.route("m").decode
    world.controller.source_changed("lost", now=1.0)
    assert hop.ids() == (1, 2)
    world.controller.source_changed("live", now=2.0)
    assert kinds(world.apply(Reset(join(2), as_of=9))) == ["MembersChanged"]
    assert (hop.ids(), hop.generation, hop.retired) == ((2,), 1, False)


def test_everything_gone_in_one_burst_is_a_new_start_in_the_order_of_arrival() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/3493 (R5, D3): an outage of seconds, and all leases lapsed.

    The core's half. A lost connection alone removes nothing; deletes that are told do, and then nobody keeps a place.
    """
    world = World()
    world.serving(join(1), join(2), join(3, B))
    world.controller.source_changed("lost", now=0.0)
    assert world.controller.route("m").decode.ids() == (1, 2)
    world.apply(leave(1), leave(2), leave(3))
    assert world.sets() == []
    assert builds(world.serving(join(4, B), join(5), join(6))) == [2]
    assert world.controller.route("m").decode.ids() == (4,)
    assert rejected(world) == [["ns/c/e/5", "ns/c/e/6"]]


def test_the_same_content_in_another_order_is_no_news() -> None:
    """https://github.com/ligato/cn-infra/pull/265 (R5, S6, D4): a watch that cannot resume lists everything."""
    world = World()
    outputs = world.serving(join(1), join(2, B))
    listing = Reset([*join(2, B), *join(1)], as_of=50)
    assert world.apply(listing) == []
    outputs += world.apply(Reset(listing.entries[::-1], as_of=51))
    assert len(of(outputs, CohortRejected)) == 1
    entry = world.only_set()
    assert (entry["admitted"], entry["generation"], rejected(world)) == ([1], 1, [["ns/c/e/2"]])


def test_a_listing_shows_the_set_that_was_missed_and_nobody_else_answers_for_a_model() -> None:
    """https://github.com/ray-project/ray/issues/63784 (D4, Y6, H6): old routes for ever after the peer was replaced."""
    world = World()
    world.serving(Reset(join(1), as_of=1))
    world.controller.source_changed("lost", now=0.0)
    with pytest.raises(ModelNotFound):
        world.controller.route("z")
    world.now = 30.0
    outputs = world.serving(Reset([*join(1), *arrive(26, role("aggregated", "z"), component="z")], as_of=2))
    assert builds(outputs) == [2]
    assert world.controller.route("z").decode.ids() == (26,)
    assert (world.controller.route("m").decode.ids(), world.controller.route("m").generation) == ((1,), 1)


def test_a_card_without_its_endpoint_is_admitted_and_not_ready() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/11855 (H2, Y5): the card was there, the way to it was not."""
    world = World()
    world.serving(base(1))
    assert (world.only_set()["admitted"], world.controller.models()) == ([1], ())
    with pytest.raises(NotReady):
        world.controller.route("m")
    outputs = world.apply(instance(1))
    assert kinds(outputs) == ["ModelReady"]
    assert (world.controller.models(), world.controller.route("m").decode.pick()) == (("m",), 1)


def test_before_the_first_listing_nothing_is_unknown() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/7763 (Y6, derived): a fresh replica said healthy, having seen nobody.

    Agreed; an empty listing is a complete one. A worker that is told before it is on its way like any other.
    """
    world = World()
    with pytest.raises(NotReady):
        world.controller.route("m")
    world.apply(join(1))
    assert world.controller.models() == ()
    assert world.controller.inventory(now=0.0).source.state == "lost"
    world.apply(Reset(join(1), as_of=1))
    with pytest.raises(NotReady):
        world.controller.route("m")
    with pytest.raises(ModelNotFound):
        world.controller.route("x")
    world.succeed(1)
    assert world.controller.models() == ("m",)


async def test_a_frontend_is_not_entered_before_its_first_listing_and_says_what_is_wrong(tmp_path: Path) -> None:
    """https://github.com/ai-dynamo/dynamo/pull/7763 (API 4, derived): the server was up, and that counted as ready."""
    backend = FileBackend(tmp_path)
    backend.root.write_bytes(b"")
    with pytest.raises(DiscoveryTimeout, match="Not a directory"):
        await Frontend(backend.open(), start_timeout=0.1).__aenter__()
    backend.root.unlink()
    async with Frontend(backend.open()) as frontend:
        with pytest.raises(ModelNotFound):
            frontend.route("m")
        assert frontend.inventory().source.state == "live"


async def test_a_source_that_dies_is_read_again_and_meanwhile_nothing_is_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """https://github.com/NVIDIA/aicr/issues/1192 (D3, derived): the task that read the stream died, and nothing told.

    Agreed: what is committed serves on, the loss shows in the inventory and in the log, and the source is read again.
    """
    broken = asyncio.Event()

    async def dies() -> AsyncIterator[Sequence[Event]]:
        yield [Reset([Apply(path, value) for path, value in worker(1).items()], 1)]
        await broken.wait()
        raise RuntimeError("polled after it was finished")

    async def lives() -> AsyncIterator[Sequence[Event]]:
        entries = [Apply(path, value) for n in (1, 2) for path, value in worker(n).items()]
        yield [Reset(entries, 2)]
        await asyncio.Event().wait()

    source = Scripted(dies, lives)
    async with Frontend(source) as frontend:
        hop = (await frontend.wait_for("m")).decode
        broken.set()
        await until(frontend, lambda: frontend.inventory().source.state == "lost")
        assert hop.pick() == 1
        assert "polled after it was finished" in caplog.text
        await until(frontend, lambda: frontend.inventory().source.state == "live")
        assert (hop.ids(), hop.generation, source.begun) == ((1, 2), 1, 2)


def test_a_source_of_which_nothing_is_heard_keeps_serving_and_shows_its_age() -> None:
    """https://github.com/grpc/grpc-rust/pull/2746 (D3, derived): a half-open stream, and dead addresses for ever.

    The core's half: it serves what was committed last and tells how old that is. The deadline is the adapter's (D4).
    """
    world = World()
    world.serving(Reset(join(1), as_of=7))
    world.advance(60.0)
    source = world.controller.inventory(now=60.0).source
    assert (source.state, source.snapshot_age, source.revision) == ("live", 60.0, 7)
    world.controller.source_changed("lost", now=60.0)
    assert world.controller.inventory(now=61.0).source.state == "lost"
    assert world.controller.route("m").decode.pick() == 1
