"""Chapter S: what happens between two incumbents, and which results count."""

from __future__ import annotations

import pytest

import workerset
from workerset import (
    BindingRetired,
    BuildToken,
    CancelBuild,
    CohortRejected,
    Committed,
    Fenced,
    MembersChanged,
    Requeued,
    Retry,
    StartBuild,
    Succession,
    Withdraw,
)

from .world import B, C, World, adapter, base, card, checksum, instance, join, kinds, leave, of


def test_s1_the_oldest_waiting_cohort_is_eligible_only_after_the_last_incumbent_left() -> None:
    world = World()
    world.serving(join(1), join(2), join(3, B), join(4, C))
    assert of(world.apply(leave(1)), StartBuild, Succession) == []
    outputs = world.apply(leave(2))
    (succession,) = of(outputs, Succession)
    assert succession.incumbent_checksum == checksum(card(context=B))
    assert [start.spec.representative for start in of(outputs, StartBuild)] == ["ns/c/e/3"]


def test_s2_succession_clears_admissions_withdraws_the_group_and_retires_its_channel() -> None:
    world = World()
    world.serving(join(1), join(2, B))
    hop = world.controller.route("m").decode
    outputs = world.apply(leave(1))
    assert kinds(outputs) == ["Withdraw", "MembersChanged", "Succession", "StartBuild", "ModelNotReady"]
    assert outputs[0] == Withdraw(world.tokens[1])
    (change,) = of(outputs, MembersChanged)
    assert (change.joined, change.left) == ((2,), (1,))
    assert (hop.retired, hop.ids(), len(hop)) == (True, (), 0)
    with pytest.raises(workerset.NotReady):
        world.controller.route("m")


def test_s2_succession_cancels_a_build_that_runs() -> None:
    world = World()
    world.apply(join(1), join(2, B))
    outputs = world.apply(leave(1))
    assert of(outputs, CancelBuild) == [CancelBuild(world.tokens[1])]


def test_s3_every_build_takes_a_fresh_generation_in_growing_order_across_sets() -> None:
    world = World()
    world.apply(join(1), base(1, card("n"), endpoint="e2"))
    world.fail(1)
    world.cancelled(2)
    world.drain()
    world.advance(1.0)
    assert sorted(world.tokens) == [1, 2, 3, 4]
    assert [world.specs[n].model for n in (1, 2, 3, 4)] == ["m", "n", "n", "m"]


def test_s3_a_token_of_another_controller_is_fenced() -> None:
    ours, theirs = World(), World()
    ours.apply(join(1))
    theirs.apply(join(1))
    assert ours.tokens[1] != theirs.tokens[1]
    verdict = ours.controller.build_succeeded(theirs.tokens[1], now=0.0)
    assert isinstance(verdict, Fenced)
    assert "another controller" in verdict.reason
    assert ours.succeed(1) == Committed(1)


def test_s3_controllers_without_a_configuration_are_told_apart_too() -> None:
    ours, theirs = workerset.AdmissionController(), workerset.AdmissionController()
    ours.apply(join(1), now=0.0)
    theirs.apply(join(1), now=0.0)
    ours.poll()
    ours_start, theirs_start = ours.poll(), of([theirs.poll(), theirs.poll()], StartBuild)[0]
    assert isinstance(ours_start, StartBuild)
    assert ours_start.spec.token != theirs_start.spec.token
    assert isinstance(ours.build_succeeded(theirs_start.spec.token, now=0.0), Fenced)
    assert ours.build_succeeded(ours_start.spec.token, now=0.0) == Committed(1)


def test_s4_a_result_counts_only_with_the_selected_checksum_and_generation() -> None:
    world = World()
    world.apply(join(1))
    world.apply(leave(1))
    world.apply(join(1))
    assert isinstance(world.succeed(1), Fenced), "the same checksum, an earlier lifetime"
    token = world.tokens[2]
    altered = BuildToken(
        model=token.model, worker_set=token.worker_set, mdc_checksum=checksum(card(context=B)), generation=2
    )
    assert isinstance(world.controller.build_succeeded(altered, now=0.0), Fenced)
    assert world.succeed(2) == Committed(2)


def test_s4_a_result_may_be_reported_once() -> None:
    world = World()
    world.apply(join(1))
    assert world.succeed(1) == Committed(1)
    for report in (world.succeed, world.fail, world.cancelled):
        verdict = report(1)
        assert isinstance(verdict, Fenced)
        assert "reported before" in verdict.reason
    assert world.controller.route("m").generation == 1


def test_s5_a_retained_hop_never_yields_successor_ids_even_for_the_same_endpoint_and_checksum() -> None:
    world = World()
    world.serving(join(1))
    old = world.controller.route("m").decode
    world.serving(leave(1))
    world.serving(join(1))
    new = world.controller.route("m").decode
    assert (new.pick(), new.mdc_checksum, new.worker_set) == (1, old.mdc_checksum, old.worker_set)
    for attempt in (old.pick, lambda: old.pick_except([]), lambda: old.pick_direct(1)):
        with pytest.raises(BindingRetired):
            attempt()
    assert (1 in old, 1 in new) == (False, True)


def test_s6_each_rejected_cohort_is_reported_once_and_again_under_a_new_incumbent() -> None:
    world = World()
    outputs = world.apply(join(1), join(2, B), join(3, C))
    assert [r.instance for r in of(outputs, CohortRejected)] == ["ns/c/e/2", "ns/c/e/3"]
    assert of(world.apply(join(2, B), join(4, C), leave(4), join(4, C)), CohortRejected) == []
    (again,) = of(world.apply(leave(1)), CohortRejected)
    assert (again.incumbent_checksum, again.rejected_checksum, again.members) == (
        checksum(card(context=B)),
        checksum(card(context=C)),
        2,
    )


def test_s6_a_rejected_cohort_that_empties_is_newly_rejected_on_return() -> None:
    world = World()
    world.apply(join(1), join(2, B))
    assert of(world.apply(leave(2)), CohortRejected) == []
    assert len(of(world.apply(join(2, B)), CohortRejected)) == 1


def test_s7_retries_wait_1_2_4_8_16_30_30_seconds() -> None:
    world = World()
    world.apply(join(1))
    delays = []
    for attempt in range(1, 8):
        verdict = world.fail(attempt)
        assert isinstance(verdict, Retry)
        delays.append(verdict.deadline - world.now)
        assert (verdict.attempt, world.controller.next_deadline) == (attempt, verdict.deadline)
        assert of(world.advance(verdict.deadline - 0.001), StartBuild) == []
        assert len(of(world.advance(verdict.deadline), StartBuild)) == 1
    assert delays == [1, 2, 4, 8, 16, 30, 30]


def test_s7_a_member_change_brings_the_retry_forward_and_keeps_the_count() -> None:
    world = World()
    world.apply(join(1))
    for attempt in (1, 2, 3):
        world.fail(attempt)
        world.drain()
        world.advance(world.controller.next_deadline or 0.0)
    failed = world.now
    world.fail(4)
    world.now += 0.25
    world.apply(join(2))
    assert world.controller.next_deadline == failed + 1.0
    world.advance(failed + 1.0)
    assert world.fail(5) == Retry(5, failed + 17.0)


def test_s7_r4_neither_a_rejected_worker_nor_an_update_moves_the_deadline() -> None:
    world = World()
    world.apply(join(1))
    world.fail(1)
    world.advance(1.0)
    world.fail(2)
    world.now = 2.5
    world.apply(join(2, B), adapter(2), leave(2), base(1, card(migration_limit=2)))
    assert world.controller.next_deadline == 3.0


def test_s7_eight_builds_run_at_once_and_cancelled_ones_count_until_reported() -> None:
    world = World()
    started = of(world.apply(*(base(1, card(f"m{n}"), endpoint=f"e{n}") for n in range(10))), StartBuild)
    assert len(started) == 8
    assert kinds(world.apply(workerset.Delete("v1/mdc/ns/c/e0/1"))) == ["CancelBuild", "MembersChanged"]
    world.cancelled(1)
    assert [start.spec.model for start in of(world.drain(), StartBuild)] == ["m8"]


def test_s7_a_current_build_reported_as_cancelled_is_queued_again() -> None:
    world = World()
    world.apply(join(1))
    assert world.cancelled(1) == Requeued()
    assert [start.spec.generation for start in of(world.drain(), StartBuild)] == [2]


def test_s8_the_smallest_instance_key_is_built_and_its_card_stays_selected() -> None:
    world = World()
    world.apply(instance(2), base(2, card(migration_limit=2)), instance(16), base(16, card(migration_limit=16)))
    assert world.specs[1].representative == "ns/c/e/10"
    world.apply(leave(16))
    world.succeed(1)
    route = world.controller.route("m")
    assert (route.decode.ids(), route.card.to_dict()["migration_limit"]) == ((2,), 16)


def test_s9_a_name_of_another_committed_model_blocks_until_its_owner_withdraws() -> None:
    world = World()
    world.serving(join(1, aliases=["gpt"]))
    world.apply(base(1, card("n", aliases=["gpt"]), endpoint="e2"), instance(1, endpoint="e2"))
    verdict = world.succeed(2)
    assert isinstance(verdict, workerset.Blocked)
    assert '"m"' in verdict.reason
    entry = world.sets()[1]
    assert (entry["phase"], entry["blocked_by"], entry["retry"]["attempt"]) == ("blocked", "m", 1)
    outputs = world.apply(leave(1))
    assert [start.spec.model for start in of(outputs, StartBuild)] == ["n"], "queued at once"
    assert world.succeed(3) == Committed(3)
    assert world.controller.route("gpt").model == "n"


def test_s9_sets_of_one_display_name_never_collide() -> None:
    world = World()
    world.serving(base(1, card(aliases=["x"]), namespace="a"), base(1, card(aliases=["x"]), namespace="b"))
    assert [entry["phase"] for entry in world.sets()] == ["ready", "ready"]


def test_a_batch_of_joins_and_leaves_reports_the_net_difference() -> None:
    world = World()
    world.serving(join(1))
    outputs = world.apply(join(2), join(3), leave(2), leave(1), join(1), join(9, B), leave(9))
    (change,) = of(outputs, MembersChanged)
    assert (change.joined, change.left) == ((3,), ())
