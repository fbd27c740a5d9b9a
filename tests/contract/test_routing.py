"""Chapters H and Y, as far as a route shows them."""

from __future__ import annotations

import pytest

import workerset
from workerset import BindingRetired, ControllerClosed, ModelNotFound, NoRoutableWorkers, NotReady, Reset

from .world import B, World, base, card, instance, join, leave


def test_h1_h2_a_hop_holds_exactly_what_is_admitted_and_discovered() -> None:
    world = World()
    world.serving(join(1), join(2, B), base(3), instance(4))
    hop = world.controller.route("m").decode
    assert (hop.ids(), len(hop), 1 in hop, 2 in hop, 3 in hop) == ((1,), 1, True, False, False)
    worker = hop.worker(1)
    assert worker is not None
    assert (worker.instance_id, worker.transport) == (1, {"tcp": "127.0.0.1:9000/1"})
    assert (hop.worker(2), hop.worker(4)) == (None, None)


def test_h2_nothing_else_is_picked_when_nobody_is_routable() -> None:
    world = World()
    world.serving(join(1), join(2, B))
    hop = world.controller.route("m").decode
    world.apply(workerset.Delete("v1/instances/ns/c/e/1"))
    with pytest.raises(NoRoutableWorkers) as caught:
        hop.pick()
    assert caught.value.admitted == 1
    with pytest.raises(NotReady):
        world.controller.route("m")


def test_h3_mode_and_block_size_come_from_the_selected_card() -> None:
    config = {"router_mode": "random", "kv_router_config": {}, "load_threshold_config": {}}
    world = World()
    world.serving(join(1, router_config=config, kv_cache_block_size=64))
    route = world.controller.route("m")
    hop = route.decode
    assert (hop.router_mode, hop.kv_cache_block_size, hop.card == route.card) == ("random", 64, True)

    default = World(default_router_mode="random")
    default.serving(join(1))
    assert default.controller.route("m").decode.router_mode == "random"


def test_h4_h5_membership_reaches_a_held_hop_and_succession_makes_another() -> None:
    world = World()
    world.serving(join(1), join(5, B))
    old = world.controller.route("m").decode
    world.apply(join(2), leave(1))
    assert (old.ids(), old.generation) == ((2,), world.controller.route("m").generation)
    world.serving(leave(2))
    new = world.controller.route("m").decode
    assert (new.ids(), old.retired, new.generation > old.generation) == ((5,), True, True)


def test_h6_a_managed_route_never_falls_back_to_unadmitted_workers() -> None:
    world = World()
    world.serving(instance(1), instance(2), base(2))
    world.fail(1)
    with pytest.raises(NoRoutableWorkers):
        world.controller.route("m").decode.pick_direct(1)


def test_picks_visit_every_worker_and_respect_exclusions() -> None:
    world = World()
    world.serving(*(join(n) for n in range(1, 5)))
    hop = world.controller.route("m").decode
    assert sorted(hop.pick() for _ in range(4)) == [1, 2, 3, 4]
    assert {hop.pick_except([1, 3]) for _ in range(100)} == {2, 4}
    with pytest.raises(NoRoutableWorkers):
        hop.pick_except([1, 2, 3, 4])
    assert hop.pick_direct(3) == 3
    with pytest.raises(NoRoutableWorkers, match="9"):
        hop.pick_direct(9)


def test_random_picks_reach_every_worker() -> None:
    world = World(default_router_mode="random")
    world.serving(*(join(n) for n in range(1, 5)))
    hop = world.controller.route("m").decode
    assert {hop.pick() for _ in range(500)} == {1, 2, 3, 4}


def test_a_route_carries_what_the_build_returned() -> None:
    world = World()
    pipeline = object()
    world.apply(join(1))
    assert world.succeed(1, pipeline) == workerset.Committed(1)
    route = world.controller.route("m", model_type="chat")
    assert route.pipeline is pipeline
    assert (route.model, route.namespace, route.generation, route.adapter) == ("m", "ns", 1, None)
    assert (route.prefill, route.encode) == (None, None)


def test_y6_an_unknown_model_is_not_ready_until_the_first_snapshot_and_lingers_after_its_last_worker() -> None:
    world = World(linger_seconds=10.0)
    with pytest.raises(NotReady):
        world.controller.route("m")
    world.apply(Reset([], as_of=1))
    with pytest.raises(ModelNotFound):
        world.controller.route("m")
    world.serving(join(1))
    world.apply(leave(1))
    with pytest.raises(NotReady):
        world.controller.route("m")
    world.advance(10.0)
    with pytest.raises(ModelNotFound):
        world.controller.route("m")


def test_close_retires_every_channel_and_refuses_further_use() -> None:
    world = World()
    world.serving(join(1))
    hop = world.controller.route("m").decode
    world.controller.close()
    with pytest.raises(BindingRetired):
        hop.pick()
    with pytest.raises(ControllerClosed):
        world.controller.route("m")
    with pytest.raises(ControllerClosed):
        world.controller.apply([base(1, card())], now=0.0)
