"""Chapter I: what a set and a cohort are."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workerset
from workerset import InPlaceChangeRefused, NamespaceFilter, StartBuild

from .world import B, World, adapter, base, card, checksum, instance, join, kinds, of


@pytest.mark.parametrize(
    "other",
    [
        base(2, card(context=B), namespace="ns2"),
        base(2, card(context=B), component="c2"),
        base(2, card(context=B), endpoint="e2"),
        base(2, card("m2", context=B)),
        base(2, card(context=B, model_type="Chat | Completions")),
        base(2, card(context=B, worker_type="decode")),
    ],
    ids=["namespace", "component", "endpoint", "model", "model types", "worker type"],
)
def test_i1_sets_that_differ_in_any_part_share_no_cohort(other: workerset.Apply) -> None:
    world = World()
    outputs = world.apply(base(1), other)
    assert [start.spec.generation for start in of(outputs, StartBuild)] == [1, 2]
    assert [entry["rejected"] for entry in world.sets()] == [[], []]


def test_i1_the_group_id_is_the_json_array_that_logs_show() -> None:
    world = World()
    (start,) = of(world.apply(base(1)), StartBuild)
    key = start.spec.worker_set
    assert key.key_text == '["ns","c","e","chat","aggregated"]'
    assert str(key) == '["m","[\\"ns\\",\\"c\\",\\"e\\",\\"chat\\",\\"aggregated\\"]"]'


def test_i2_versioned_namespaces_serve_one_model_side_by_side_and_replace_nothing() -> None:
    world = World()
    world.serving(base(1, namespace="v-1"), instance(1, namespace="v-1"))
    old = world.controller.route("m", namespace="v-1")
    world.serving(base(2, card(context=B), namespace="v-2"), instance(2, namespace="v-2"))
    assert (old.decode.ids(), old.decode.retired) == ((1,), False)
    assert world.controller.route("m", namespace="v-2").decode.ids() == (2,)
    assert {world.controller.route("m").namespace for _ in range(200)} == {"v-1", "v-2"}


def test_i3_the_checksum_is_taken_after_normalisation_and_before_construction() -> None:
    world = World(tokenizer_backend="fastokens")
    legacy = card(model_type="Prefill", model_input="Tokens")
    del legacy["worker_type"]
    (start,) = of(world.apply(base(1, legacy)), StartBuild)
    assert start.spec.mdc_checksum == checksum(legacy)
    raw = workerset.ModelCard.from_json(json.dumps(legacy))
    assert raw.mdcsum != start.spec.mdc_checksum, "the legacy prefill topology is filled in first"
    assert (start.spec.worker_set.worker_type, start.spec.card.needs) == ("prefill", (("decode",),))
    assert start.spec.card.runtime_config["tokenizer_backend"] == "fastokens"


def test_i4_the_projection_fingerprint_is_independent_of_the_checksum() -> None:
    plain = workerset.ModelCard.from_json(json.dumps(card()))
    capable = workerset.ModelCard.from_json(json.dumps(card(runtime_config={"max_gpu_lora_count": 4})))
    assert plain.mdcsum == capable.mdcsum
    assert plain.projection_fingerprint() != capable.projection_fingerprint()
    assert plain.metadata_cache_key.endswith(plain.mdcsum)


@pytest.mark.parametrize(
    ("fields", "differs"),
    [
        ({"source_path": "elsewhere"}, ["source_path"]),
        (
            {"router_config": {"router_mode": "round_robin", "kv_router_config": {}, "load_threshold_config": {}}},
            ["router_config"],
        ),
        ({"prompt_context": []}, ["prompt_context"]),
    ],
    ids=["another source path", "explicit router defaults", "an empty list instead of none"],
)
def test_i5_equality_is_strict_and_the_differing_fields_are_named(fields: dict[str, Any], differs: list[str]) -> None:
    world = World()
    world.serving(join(1), join(2, **fields))
    (rejected,) = world.only_set()["rejected"]
    assert rejected["differs"] == differs
    assert world.controller.route("m").decode.ids() == (1,)


def test_i6_a_legacy_card_joins_exactly_when_normalisation_makes_the_checksum_equal() -> None:
    world = World()
    typed = card(model_type="Prefill", model_input="Tokens", worker_type="prefill", needs=[["decode"]])
    legacy = card(model_type="Prefill", model_input="Tokens")
    del legacy["worker_type"]
    world.apply(base(1, typed), base(2, legacy))
    assert world.members() == ["ns/c/e/1", "ns/c/e/2"]

    world = World()
    untyped = card()
    del untyped["worker_type"]
    world.apply(base(1), base(2, untyped))
    assert world.only_set()["rejected"][0]["differs"] == ["worker_type"], "same key, another checksum"


def test_i7_a_controller_computes_the_checksum_of_its_profile() -> None:
    aliased = card(aliases=["x"])
    sums = {}
    for profile in ("1.3", "1.4", "1.5", "1.6"):
        (start,) = of(World(checksum_profile=profile).apply(base(1, aliased)), StartBuild)
        sums[profile] = start.spec.mdc_checksum
    assert sums["1.4"] == sums["1.5"] == sums["1.6"] == checksum(aliased)
    assert sums["1.3"] != sums["1.6"]
    with pytest.raises(workerset.ConfigError, match="checksum_profile"):
        World(checksum_profile="1.2")


def test_i8_an_apply_that_keeps_checksum_and_set_updates_the_instances_own_card_only() -> None:
    world = World()
    world.serving(join(1))
    route = world.controller.route("m")
    assert world.apply(base(1, card(runtime_config={"taints": ["x"]}))) == []
    worker = route.decode.worker(1)
    assert worker is not None
    assert list(worker.card.runtime_config["taints"]) == ["x"]
    assert "taints" not in route.card.runtime_config


def test_i8_a_change_in_place_is_refused_once_per_value_and_the_first_registration_stays() -> None:
    world = World()
    world.serving(join(1))
    changed = base(1, card(context=B))
    (refused,) = world.apply(changed, changed)
    assert isinstance(refused, InPlaceChangeRefused)
    assert (refused.key, refused.stored_checksum, refused.refused_checksum) == (
        "ns/c/e/1",
        checksum(card()),
        checksum(card(context=B)),
    )
    assert list(world.refused()) == ["ns/c/e/1"]
    assert world.controller.route("m").decode.ids() == (1,)
    world.apply(base(1))
    assert world.refused() == {}


def test_i8_another_incarnation_is_a_leave_followed_by_a_join() -> None:
    world = World()
    world.serving(instance(1), base(1, incarnation="first"), join(2, B))
    outputs = world.apply(base(1, incarnation="second"))
    assert kinds(outputs)[0] == "Withdraw"
    assert world.members() == ["ns/c/e/2"], "who left and came back stands at the end"
    assert world.only_set()["rejected"][0]["members"] == ["ns/c/e/1"]


def test_i8_an_adapter_record_simply_replaces_its_predecessor() -> None:
    world = World()
    world.serving(join(1), adapter(1, "lora"))
    assert world.apply(adapter(1, "lora", context=B)) == []
    assert (world.refused(), world.only_set()["adapters"]) == ({}, ["ns/c/e/1/lora"])


def test_namespaces_outside_the_filter_are_not_looked_at() -> None:
    world = World(namespaces=NamespaceFilter.prefix("ns", strict=True))
    world.apply(base(1), base(2, namespace="ns-0123abcd"), base(3, namespace="ns-other"), base(4, namespace="x"))
    assert [entry["namespace"] for entry in world.sets()] == ["ns", "ns-0123abcd"]
