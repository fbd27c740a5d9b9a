"""LoRA adapters: reports of adapters that vanish, appear or take others with them (chapter L)."""

from __future__ import annotations

import pytest

from tests.cases.cast import adapter_at, arrive, builds, drop_adapter, role
from tests.contract.world import B, World, adapter, join, leave, of
from workerset import BindingRetired, ModelNotFound, ModelNotReady, NotReady, Reset


def test_an_adapter_that_nobody_advertises_is_unknown_and_its_base_is_well() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/11163 (L1, Y6): loaded, so the worker said, and never to be called.

    The report asks for "not advertised by any admitted worker". The contract has two answers: nobody has registered it,
    then it is not found; only workers that are not admitted have, then it is known and not ready.
    """
    world = World()
    world.serving(Reset([*join(1), *join(2, B)], as_of=1))
    with pytest.raises(ModelNotFound, match="'a1'"):
        world.controller.route("a1")
    world.apply(adapter(2, "a1"))
    with pytest.raises(NotReady):
        world.controller.route("a1")
    assert (world.controller.models(), world.only_set()["adapters"]) == (("m",), [])
    world.apply(adapter(1, "a1"))
    assert world.controller.route("a1").decode.ids() == (1,)
    assert world.controller.route("m").decode.ids() == (1,)


def test_unloading_an_adapter_takes_away_the_adapter_and_nothing_else() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/14216 (L3, Y1): a removal cleared what other models offered."""
    world = World()
    world.serving(Reset([*join(1), *arrive(2, role("aggregated", "x"), component="x")], as_of=1))
    world.apply(adapter(1, "a1"))
    held = world.controller.route("a1", model_type="chat")
    assert world.controller.models() == ("a1", "m", "x")
    outputs = world.apply(drop_adapter(1, "a1"))
    assert (world.controller.models(), builds(outputs), of(outputs, ModelNotReady)) == (("m", "x"), [], [])
    for model, worker in (("m", 1), ("x", 2)):
        assert world.controller.route(model, model_type="chat").decode.ids() == (worker,)
    with pytest.raises(NotReady):
        world.controller.route("a1")
    assert 1 not in held.decode.ids()


def test_an_adapter_is_ready_when_every_hop_that_its_base_uses_carries_it() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/11520 (ROUTING 2, derived): prefill had never heard of it.

    Agreed: not ready, then ready, and the base is ready all the while.
    """
    world = World()
    world.serving(arrive(1, role("decode", needs=[["prefill"]]), component="backend"))
    world.serving(arrive(2, role("prefill", needs=[["decode"]]), component="prefill"))
    world.serving(arrive(3, role("prefill", needs=[["decode"]]), component="prefill"))
    world.apply(adapter_at(1, "a1", component="backend"))
    with pytest.raises(NotReady, match="carries the adapter"):
        world.controller.route("a1")
    base = world.controller.route("m")
    assert base.prefill is not None
    assert (base.decode.ids(), base.prefill.ids()) == ((1,), (2, 3))
    world.apply(adapter_at(3, "a1", component="prefill"))
    route = world.controller.route("a1")
    assert route.prefill is not None
    assert (route.model, route.decode.ids(), route.prefill.ids()) == ("m", (1,), (3,))


def test_a_base_and_all_its_adapters_are_listed_each_with_its_parent() -> None:
    """https://github.com/vllm-project/production-stack/pull/417 (L2, S9): only the first name of a worker was seen."""
    world = World()
    world.serving(join(1), adapter(1, "a1"), adapter(1, "a2"))
    assert world.controller.models() == ("a1", "a2", "m")
    routes = [world.controller.route(name) for name in ("m", "a1", "a2")]
    assert [(route.model, route.adapter) for route in routes] == [("m", None), ("m", "a1"), ("m", "a2")]
    assert {route.decode.pick() for route in routes} == {1}
    assert world.only_set()["adapters"] == ["ns/c/e/1/a1", "ns/c/e/1/a2"]


def test_adapters_of_a_rejected_worker_wait_until_their_cohort_succeeds() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/14632 (R4, L2): they showed up, and the worker got no traffic."""
    world = World()
    world.serving(join(1), join(2, B), adapter(2, "a9"), adapter(1, "a1"))
    assert (world.controller.models(), world.only_set()["adapters"]) == (("a1", "m"), ["ns/c/e/1/a1"])
    held = world.controller.route("a1").decode
    assert builds(world.serving(leave(1))) == [2]
    assert (world.controller.models(), world.only_set()["adapters"]) == (("a9", "m"), ["ns/c/e/2/a9"])
    assert world.controller.route("a9").decode.ids() == (2,)
    with pytest.raises(BindingRetired):
        held.pick()
