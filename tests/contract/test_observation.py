"""Chapter D: what is newer than what, and when a change shows."""

from __future__ import annotations

import threading
from typing import Literal

import pytest

from workerset import Apply, Delete, Reset

from .world import B, C, World, base, card, instance, join, kinds, leave

CARD = "v1/mdc/ns/c/e/1"


def test_d1_an_older_snapshot_may_not_remove_what_was_confirmed_after_it() -> None:
    world = World()
    world.apply(base(1, revision=2), base(1, revision=9))
    world.apply(Reset([], as_of=8))
    assert world.members() == ["ns/c/e/1"]
    world.apply(Reset([], as_of=9))
    assert world.sets() == []


def test_d2_a_snapshot_neither_resurrects_nor_changes_what_was_observed_after_it() -> None:
    world = World()
    world.apply(base(1, revision=2), base(2, revision=2))
    world.apply(Delete(CARD, revision=7), base(2, card(migration_limit=5), revision=8))
    world.apply(Reset([base(1, revision=2), base(2, revision=2)], as_of=6))
    assert world.members() == ["ns/c/e/2"]
    world.apply(instance(2))
    world.succeed(1)
    worker = world.controller.route("m").decode.worker(2)
    assert worker is not None
    assert worker.card.to_dict()["migration_limit"] == 5


def test_d2_whatever_a_snapshot_lacks_and_is_not_newer_is_removed() -> None:
    world = World()
    world.apply(base(1, revision=2), base(2, revision=3), base(3))
    world.apply(Reset([base(2, revision=3)], as_of=5))
    assert world.members() == ["ns/c/e/2"]


def test_d2_departures_come_first_then_updates_then_arrivals() -> None:
    world = World()
    world.serving(join(1), join(2, B), join(3, C))
    listing = [instance(9), base(9), base(3, card(context=C, migration_limit=1)), base(2, card(context=B))]
    world.apply(Reset([*listing, instance(2), instance(3)], as_of=1))
    assert world.members() == ["ns/c/e/2"], "the cohort that departures emptied has lost its place to who waited"
    assert [entry["members"] for entry in world.only_set()["rejected"]] == [["ns/c/e/3"], ["ns/c/e/9"]]


def test_d2_an_older_snapshot_over_the_same_or_a_wider_prefix_is_ignored_after_a_newer_one() -> None:
    world = World()
    world.apply(Reset([base(1, revision=4)], as_of=9))
    assert world.apply(Reset([], as_of=8), Reset([], as_of=8, prefix="v1/mdc/")) == []
    assert world.members() == ["ns/c/e/1"]
    assert world.apply(base(2, revision=8)) == [], "absence is an observation at as_of too"
    assert world.apply(base(2, revision=10)) != []


def test_d2_stale_events_are_ignored_and_unknown_revisions_apply_in_order() -> None:
    world = World()
    world.apply(base(1, revision=5))
    assert world.apply(Delete(CARD, revision=4), base(1, card(context=B), revision=4)) == []
    world.apply(Delete(CARD))
    assert world.sets() == []


def test_d2_a_delete_of_an_unknown_key_is_remembered_for_ten_minutes() -> None:
    world = World()
    world.apply(Delete(CARD, revision=5))
    world.apply(base(1, revision=4))
    assert world.sets() == []
    world.advance(600.0)
    world.apply(base(1, revision=4))
    assert world.members() == ["ns/c/e/1"]


def test_d2_an_entry_without_a_value_stands_for_what_was_applied_last() -> None:
    world = World()
    world.serving(join(1))
    assert world.apply(Reset([Apply(CARD, None), Apply("v1/instances/ns/c/e/1", None)], as_of=3)) == []
    assert world.controller.route("m").decode.ids() == (1,)
    world.apply(Reset([Apply(CARD, None), Apply("v1/mdc/ns/c/e/2", None)], as_of=4))
    assert list(world.refused()) == ["ns/c/e/2"]


@pytest.mark.parametrize("state", ["lost", "ended"])
def test_d3_losing_the_source_removes_nothing_and_is_visible(state: Literal["lost", "ended"]) -> None:
    world = World()
    world.serving(Reset(join(1), as_of=7))
    world.now = 4.0
    world.controller.source_changed(state, now=4.0)
    assert world.controller.route("m").decode.ids() == (1,)
    assert world.controller.inventory(now=5.0).to_dict()["source"] == {
        "state": state,
        "snapshot_age": 5.0,
        "revision": 7,
    }


def test_the_source_shows_the_newest_revision_that_was_seen_anywhere() -> None:
    world = World()
    world.apply(Reset([base(1, revision=7)], as_of=4))
    assert world.controller.inventory(now=0.0).to_dict()["source"]["revision"] == 7


def test_d4_a_snapshot_after_a_gap_is_applied_in_one_step() -> None:
    world = World()
    world.serving(join(1), join(2), join(3, B))
    hop = world.controller.route("m").decode
    outputs = world.apply(Reset([*join(2), *join(4)], as_of=9))
    assert kinds(outputs) == ["MembersChanged"]
    assert (hop.ids(), hop.retired, world.only_set()["rejected"]) == ((2, 4), False, [])


def test_d5_no_build_starts_for_a_state_that_the_batch_has_left() -> None:
    world = World()
    outputs = world.apply(join(1), leave(1), join(2, B), leave(2), join(3, C))
    assert kinds(outputs) == ["MembersChanged", "StartBuild"]
    assert (world.specs[1].representative, list(world.specs)) == ("ns/c/e/3", [1])


def test_d5_a_hop_whose_cohort_stays_non_empty_never_looks_empty_to_another_thread() -> None:
    world = World()
    world.serving(join(0))
    hop = world.controller.route("m").decode
    done, failures, picks = threading.Event(), [], 0

    def read() -> None:
        nonlocal picks
        while not done.is_set() or picks == 0:
            picks += 1
            hop.pick()
            if len(listed := hop.ids()) != 1:
                failures.append(listed)

    reader = threading.Thread(target=read)
    reader.start()
    for worker in range(1, 300):
        world.apply(join(worker), leave(worker - 1))
    done.set()
    reader.join()
    assert (failures, picks > 0, hop.ids()) == ([], True, (299,))
