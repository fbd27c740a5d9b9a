"""Prefill, decode and encode of one model: reports of mixed-up roles (chapter H, ROUTING)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.cast import arrive, depart, role
from tests.contract.world import B, World, of
from workerset import BindingRetired, HopChanged, NotReady

DECODE: dict[str, Any] = {"needs": [["prefill"]]}
PREFILL: dict[str, Any] = {"needs": [["decode"]]}


def pairs(world: World) -> set[tuple[int, int | None]]:
    """(decode, prefill) of many requests for the model, whatever the namespace."""
    found = set()
    for _ in range(200):
        route = world.controller.route("m")
        found.add((route.decode.pick(), route.prefill and route.prefill.pick()))
    return found


def test_prefill_and_decode_of_two_generations_are_never_paired() -> None:
    """https://github.com/llm-d/llm-d/issues/499 (I2, H1, H7): pairs were made by role and load, not by version."""
    world = World()
    world.serving(arrive(1, role("decode", **DECODE), namespace="g1"))
    world.serving(arrive(2, role("prefill", **PREFILL), namespace="g1", component="p"))
    world.serving(arrive(11, role("decode", context_length=B, **DECODE), namespace="g2"))
    assert pairs(world) == {(1, 2)}, "the second generation is not whole"
    world.serving(arrive(12, role("prefill", context_length=B, **PREFILL), namespace="g2", component="p"))
    assert pairs(world) == {(1, 2), (11, 12)}
    world.apply(depart(2, namespace="g1", component="p"))
    assert pairs(world) == {(11, 12)}


def test_a_decode_worker_that_needs_prefill_is_not_run_without_it() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/6957 (Y2, H6): without prefill, requests ran in another mode."""
    world = World()
    world.serving(arrive(1, role("decode", **DECODE)))
    assert world.controller.models() == ()
    with pytest.raises(NotReady, match="prefill"):
        world.controller.route("m")
    world.serving(arrive(2, role("prefill", **PREFILL), component="p"))
    route = world.controller.route("m")
    assert route.prefill is not None
    assert (route.decode.pick(), route.prefill.pick()) == (1, 2)


def test_each_hop_follows_the_card_of_its_own_set() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/13197 (H3): one mode was used for two sets."""

    def routed(mode: str) -> dict[str, Any]:
        return {"router_config": {"router_mode": mode, "kv_router_config": {}, "load_threshold_config": {}}}

    world = World()
    world.serving(arrive(1, role("decode", **routed("round_robin"), **DECODE)))
    world.serving(arrive(2, role("prefill", kv_cache_block_size=64, **routed("k_v"), **PREFILL), component="p"))
    route = world.controller.route("m")
    assert route.prefill is not None
    assert (route.decode.router_mode, route.decode.kv_cache_block_size) == ("round_robin", 16)
    assert (route.prefill.router_mode, route.prefill.kv_cache_block_size) == ("k_v", 64)


def test_an_encode_hop_comes_and_goes_and_stays_in_its_namespace() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/11460 (H6, H7): the hop must follow the encode workers."""
    world = World()
    world.serving(arrive(1, role("decode"), namespace="g1"))
    world.serving(arrive(2, role("prefill", **PREFILL), namespace="g1", component="p"))
    assert world.controller.route("m").encode is None
    world.serving(arrive(4, role("encode"), namespace="g2", component="x"))
    assert world.controller.route("m").encode is None
    outputs = world.serving(arrive(3, role("encode"), namespace="g1", component="x"))
    assert [(told.namespace, told.hop, told.active) for told in of(outputs, HopChanged)] == [("g1", "encode", True)]
    hop = world.controller.route("m").encode
    assert hop is not None
    assert {hop.pick() for _ in range(20)} == {3}
    world.apply(depart(3, namespace="g1", component="x"))
    with pytest.raises(BindingRetired):
        hop.pick()
    route = world.controller.route("m")
    assert (route.namespace, route.encode) == ("g1", None)
