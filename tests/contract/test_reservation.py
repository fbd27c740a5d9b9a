"""Chapter R: who holds a set, who joins, who waits."""

from __future__ import annotations

import pytest

from workerset import Apply, CohortRejected, Delete, RecordRefused, Reset, StartBuild

from .world import A, B, C, World, adapter, base, card, checksum, instance, join, kinds, leave, of


def test_r1_the_first_valid_card_reserves_while_its_build_is_queued_building_and_retrying() -> None:
    world = World(max_concurrent_builds=1)
    world.apply(base(9, card("busy"), endpoint="e2"))
    world.apply(join(1), join(2, B), join(3, B))
    assert [entry["phase"] for entry in world.sets()] == ["building", "queued"]
    world.succeed(1)
    world.drain()
    world.fail(2)
    entry = world.sets()[1]
    assert (entry["phase"], entry["incumbent"]["mdc_checksum"]) == ("retrying", checksum(card()))
    assert entry["retry"] == {"attempt": 1, "deadline": 1.0, "reason": "broken"}


def test_r2_equal_checksums_join_the_incumbent() -> None:
    world = World()
    world.serving(join(1))
    hop = world.controller.route("m").decode
    world.apply(join(2))
    assert (hop.ids(), world.members()) == ((1, 2), ["ns/c/e/1", "ns/c/e/2"])


def test_r3_a_larger_cohort_never_displaces_the_incumbent() -> None:
    world = World()
    world.serving(join(1), *(join(n, B) for n in range(2, 50)))
    assert world.controller.route("m").decode.ids() == (1,)
    assert len(world.only_set()["rejected"][0]["members"]) == 48


def test_r4_rejected_workers_and_their_adapters_change_nothing_of_the_incumbent() -> None:
    world = World()
    world.serving(join(1), adapter(1, "lora"))
    hop, before = world.controller.route("m").decode, world.only_set()
    outputs = world.apply(join(2, B), adapter(2, "lora"), adapter(2, "other"), leave(2))
    assert outputs == []
    assert (world.only_set(), hop.ids(), world.controller.models()) == (before, (1,), ("lora", "m"))


def test_r4_rejected_workers_stay_tracked_for_removal_and_reconsideration() -> None:
    world = World()
    world.serving(join(1), join(2, B), join(3, B))
    world.apply(leave(3))
    assert world.only_set()["rejected"][0]["members"] == ["ns/c/e/2"]
    world.serving(leave(1))
    assert world.controller.route("m").decode.ids() == (2,)


def test_r5_cohorts_keep_first_observation_order_over_duplicates_and_snapshots() -> None:
    world = World()
    records = [base(1), base(2, card(context=B)), base(3, card(context=C))]
    world.apply(*records)
    world.apply(records[2], records[1], Reset([records[2], records[1], records[0]], as_of=0))
    waiting = [entry["mdc_checksum"] for entry in world.only_set()["rejected"]]
    assert waiting == [checksum(card(context=B)), checksum(card(context=C))]


def test_r5_a_cohort_that_empties_and_returns_joins_the_end() -> None:
    world = World()
    world.apply(join(1), join(2, B), join(3, C), leave(2), join(2, B))
    world.apply(leave(1))
    assert world.members() == ["ns/c/e/3"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_r6_the_oldest_registration_of_a_first_snapshot_reserves_whatever_the_order(order: tuple[int, ...]) -> None:
    entries = [base(1, card(context=A), created=30), base(2, card(context=B), created=10), base(3, card(context=C))]
    world = World()
    world.apply(Reset([entries[n] for n in order], as_of=40))
    assert world.members() == ["ns/c/e/2"]
    assert [entry["members"] for entry in world.only_set()["rejected"]] == [["ns/c/e/1"], ["ns/c/e/3"]]


def test_r7_what_cannot_be_decoded_reserves_nothing_and_is_reported_once_per_value() -> None:
    world = World()
    broken = Apply("v1/mdc/ns/c/e/1", b"{not json")
    outputs = world.apply(broken, broken, Reset([broken], as_of=3))
    assert kinds(outputs) == ["RecordRefused"]
    assert outputs[0].key == "ns/c/e/1"
    assert (world.sets(), list(world.refused())) == ([], ["ns/c/e/1"])


@pytest.mark.parametrize(
    ("record", "key", "reason"),
    [
        (base(1, card(kv_cache_block_size=-1)), "ns/c/e/1", "kv_cache_block_size"),
        (base(1, card("")), "ns/c/e/1", "display_name"),
        (base(1, card(worker_type="prefill", model_type="Prefill")), "ns/c/e/1", "model_input"),
        (Apply("v1/mdc/ns/c/e/2", base(1).value), "ns/c/e/2", "instance_id"),
        (Apply("v1/mdc/other/c/e/1", base(1).value), "other/c/e/1", "namespace"),
        (Apply("v1/mdc/ns/c/e/1/x", base(1).value), "ns/c/e/1/x", "suffix"),
        (Apply("v1/mdc/ns/c/e/0x1", base(1).value), "ns/c/e/0x1", "hex"),
        (Apply("v1/mdc/ns/c", base(1).value), "ns/c", "parts"),
        (Apply("v1/instances/ns/c/e/1", "{}"), "v1/instances/ns/c/e/1", "type"),
        (Apply("v1/instances/ns/c/e/2", instance(1).value), "v1/instances/ns/c/e/2", "instance_id"),
        (Apply("v1/mdc/ns/c/e/1", b"\xff"), "ns/c/e/1", "JSON"),
    ],
)
def test_r7_every_unusable_record_is_refused_with_its_reason(record: Apply, key: str, reason: str) -> None:
    world = World()
    (refused,) = world.apply(record)
    assert isinstance(refused, RecordRefused)
    assert (refused.key, list(world.refused()), world.sets()) == (key, [key], [])
    assert reason in refused.reason
    world.apply(Delete(record.path))
    assert world.refused() == {}, "a removal ends it"


def test_r7_the_last_valid_state_stays_unless_its_incarnation_has_left() -> None:
    world = World()
    world.serving(instance(1), base(1, incarnation="a"))
    world.apply(Apply("v1/mdc/ns/c/e/1", "[]", incarnation="a"))
    assert world.controller.route("m").decode.ids() == (1,)
    world.apply(Reset([Apply("v1/mdc/ns/c/e/1", "[", incarnation="a"), instance(1)], as_of=9))
    assert world.controller.route("m").decode.ids() == (1,), "in a snapshot such a key counts as present"
    world.apply(Apply("v1/mdc/ns/c/e/1", "[]", incarnation="b"))
    assert world.sets() == []


def test_r7_of_a_name_that_stands_twice_in_a_record_the_last_counts() -> None:
    value = base(1).value
    assert isinstance(value, str)
    world = World()
    world.serving(Apply("v1/mdc/ns/c/e/1", value.replace('"type"', '"namespace": 5, "type"', 1)), instance(1))
    assert world.controller.route("m").decode.ids() == (1,)


def test_foreign_buckets_are_ignored() -> None:
    world = World()
    assert world.apply(Apply("v1/event_channels/namespace/ns/topic/t/1", "{"), Delete("v2/x")) == []
    assert (world.sets(), world.refused()) == ([], {})


def test_s6_a_rejection_names_everything_that_an_operator_needs() -> None:
    world = World()
    (rejection,) = of(world.apply(join(1), join(3, B), join(2, B)), CohortRejected)
    assert rejection == CohortRejected(
        model="m",
        worker_set=rejection.worker_set,
        incumbent_checksum=checksum(card()),
        rejected_checksum=checksum(card(context=B)),
        instance="ns/c/e/2",
        members=2,
        differs=("context_length",),
    )
    assert of(world.apply(join(4, B)), CohortRejected, StartBuild) == []
