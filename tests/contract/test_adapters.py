"""Chapter L: adapters ride on base registrations and decide nothing."""

from __future__ import annotations

import json

import pytest

import workerset
from workerset import Apply, Delete, NotReady, Reset, StartBuild

from .world import A, B, World, adapter, base, card, instance, join, kinds, leave, of


def test_l1_an_adapter_reserves_nothing_and_keeps_nothing_alive() -> None:
    world = World()
    assert world.apply(adapter(1)) == []
    assert world.sets() == []
    world.serving(join(1))
    assert kinds(world.apply(Delete("v1/mdc/ns/c/e/1")))[0] == "Withdraw"
    assert world.sets() == []


def test_l2_an_adapter_applies_where_its_base_is_the_incumbent_and_is_limited_to_its_carriers() -> None:
    world = World()
    world.serving(join(1), join(2), adapter(2), adapter(3))
    route = world.controller.route("lora")
    assert (route.model, route.adapter, route.decode.ids()) == ("m", "lora", (2,))
    assert world.only_set()["adapters"] == ["ns/c/e/2/lora"], "3 has no base registration"
    assert world.controller.route("m").decode.ids() == (1, 2)


def test_l2_adapters_of_rejected_workers_project_nothing_and_come_along_when_their_cohort_succeeds() -> None:
    world = World()
    world.serving(join(1), join(2, B), adapter(2))
    assert world.controller.models() == ("m",)
    with pytest.raises(NotReady):
        world.controller.route("lora")
    world.serving(leave(1))
    assert world.controller.models() == ("lora", "m")
    assert world.controller.route("lora").decode.pick() == 2


def test_l3_a_change_of_the_projection_alone_rebuilds_nothing() -> None:
    world = World()
    world.serving(join(1), adapter(1))
    generation = world.controller.route("m").generation
    outputs = world.apply(base(1, card(runtime_config={"max_gpu_lora_count": 9})), adapter(1, lora={"name": "renamed"}))
    assert of(outputs, StartBuild) == []
    assert world.controller.route("lora").generation == generation
    worker = world.controller.route("lora").decode.worker(1)
    assert worker is not None
    assert worker.card.runtime_config["max_gpu_lora_count"] == 9


@pytest.mark.parametrize("in_a_snapshot", [False, True])
def test_i8_another_incarnation_of_an_adapter_keeps_its_place(in_a_snapshot: bool) -> None:
    world = World()
    first, second = base(1, card("a")), base(2, card("b"))
    world.serving(instance(1), instance(2), first, second, adapter(1, incarnation="x"), adapter(2))
    assert world.controller.route("lora").model == "a"
    again = adapter(1, incarnation="y")
    listing = [instance(1), instance(2), first, second, again, adapter(2)]
    assert world.apply(Reset(listing, as_of=1) if in_a_snapshot else again) == []
    assert world.controller.route("lora").model == "a"


@pytest.mark.parametrize("suffix", ["", "/x"])
def test_l4_a_suffix_is_present_if_and_only_if_the_card_has_lora(suffix: str) -> None:
    value = json.loads(str(base(1).value))
    if suffix:
        value["model_suffix"] = "x"
    else:
        value["card_json"]["lora"] = {"name": "x"}
    world = World()
    (refused,) = world.apply(Apply(f"v1/mdc/ns/c/e/1{suffix}", json.dumps(value)))
    assert "lora" in refused.reason
    assert world.sets() == []


def test_s9_an_adapter_whose_name_a_model_holds_is_not_projected_and_the_reason_is_kept() -> None:
    world = World()
    world.serving(join(1), adapter(1, "taken"), base(1, card("taken", A), endpoint="e2"), instance(1, endpoint="e2"))
    assert world.controller.route("taken").model == "taken"
    (unprojected,) = world.sets()[0]["unprojected"]
    assert unprojected["key"] == "ns/c/e/1/taken"
    assert "taken" in unprojected["reason"]


def test_s9_adapters_of_one_base_model_may_share_a_name() -> None:
    world = World()
    world.serving(join(1), join(2), adapter(1), adapter(2))
    assert world.controller.route("lora").decode.ids() == (1, 2)
    world.apply(Delete("v1/mdc/ns/c/e/1/lora"))
    assert world.controller.route("lora").decode.ids() == (2,)
    with pytest.raises(workerset.NoRoutableWorkers):
        world.controller.route("lora").decode.pick_direct(1)
