"""`Route`, `Hop` and `WorkerInfo` as Python objects."""

from __future__ import annotations

import collections

import pytest

import workerset
from tests.contract.world import World, base, card, instance, join, leave


def test_a_route_shows_its_binding() -> None:
    world = World()
    pipeline = object()
    world.apply(join(1), join(2))
    assert world.succeed(1, pipeline) == workerset.Committed(1)
    route = world.controller.route("m", model_type="chat", namespace="ns")
    assert (route.model, route.namespace, route.generation, route.adapter) == ("m", "ns", 1, None)
    assert route.pipeline is pipeline
    assert route.card == world.specs[1].card
    assert route.prefill is route.encode is None
    assert repr(route) == '<Route "m" namespace "ns" generation 1>'


def test_a_hop_is_a_live_collection_of_ids() -> None:
    world = World()
    world.serving(join(2), join(1))
    hop = world.controller.route("m").decode
    assert hop == world.controller.route("m").decode
    assert hash(hop) == hash(world.controller.route("m").decode)
    assert hop.ids() == (1, 2)
    assert len(hop) == 2
    assert 1 in hop
    for foreign in (3, -1, 2**70, "1", 1.0, None):
        assert foreign not in hop
    assert (hop.generation, hop.retired, hop.router_mode, hop.kv_cache_block_size) == (1, False, "round_robin", 16)
    assert hop.mdc_checksum == world.specs[1].mdc_checksum
    assert hop.worker_set == world.specs[1].worker_set
    assert hop.card == world.specs[1].card
    world.apply(join(3))
    assert hop.ids() == (1, 2, 3)
    assert collections.Counter(hop.pick_many(30)) == {1: 10, 2: 10, 3: 10}
    assert hop.pick_many(0) == []
    assert hop.pick_except({1, 2}) == 3
    assert hop.pick_direct(2) == 2
    assert "3 routable" in repr(hop)
    world.apply(leave(1), leave(2), leave(3))
    assert hop
    assert len(hop) == 0
    assert hop.ids() == ()
    assert hop.worker(1) is None
    assert "retired" in repr(hop)


def test_a_random_hop_picks_every_worker_about_equally_often() -> None:
    world = World(default_router_mode="random")
    world.serving(*(join(worker) for worker in range(4)))
    counts = collections.Counter(world.controller.route("m").decode.pick_many(4000))
    assert set(counts) == {0, 1, 2, 3}
    assert all(700 < count < 1300 for count in counts.values()), counts  # 11 standard deviations


def test_a_worker_shows_its_transport_and_its_own_card() -> None:
    world = World()
    world.serving(join(1), instance(2), base(2, card(user_data={"own": True})))
    hop = world.controller.route("m").decode
    worker = hop.worker(2)
    assert worker is not None
    assert worker.instance_id == 2
    assert worker.transport == {"tcp": "127.0.0.1:9000/2"}
    assert worker.card.user_data == {"own": True}
    assert hop.worker(3) is None


@pytest.mark.parametrize("count", [-1, 2**70])
def test_a_count_of_picks_is_a_count(count: int) -> None:
    world = World()
    world.serving(join(1))
    with pytest.raises(OverflowError):
        world.controller.route("m").decode.pick_many(count)
