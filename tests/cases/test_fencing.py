"""Late results, retained bindings and ids that come back (clauses S3 to S5, I8, H4)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.cases.cast import builds, steps
from tests.contract.world import B, Event, World, base, card, instance, join, leave, of
from workerset import (
    Apply,
    BindingRetired,
    Committed,
    Delete,
    Fenced,
    MembersChanged,
    NoRoutableWorkers,
    RecordRefused,
    Reset,
)

CARD = "v1/mdc/ns/c/e/1"


@pytest.mark.parametrize("successor", [B, None], ids=["another checksum", "the same checksum"])
def test_a_slow_result_of_an_earlier_life_is_dropped(successor: int | None) -> None:
    """https://github.com/ai-dynamo/dynamo/pull/12890 (S4): the world had moved on when the result came."""
    world = World()
    world.apply(join(1))
    world.apply(leave(1))
    world.apply(join(2, successor) if successor else join(2))
    fresh, late = object(), object()
    assert world.succeed(2, fresh) == Committed(2)
    assert isinstance(world.succeed(1, late), Fenced)
    route = world.controller.route("m")
    assert (route.generation, route.pipeline is fresh, route.decode.ids()) == (2, True, (2,))


def test_a_choice_pinned_to_a_replaced_worker_is_refused_and_a_fresh_route_knows_the_new_one() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/13100 (S5): a pin was used without a look whether it still holds."""
    world = World()
    world.serving(join(1))
    retained = world.controller.route("m").decode
    assert retained.pick_direct(1) == 1
    world.serving(leave(1))
    world.serving(join(9))
    for attempt in (retained.pick, lambda: retained.pick_direct(1), lambda: retained.pick_direct(9)):
        with pytest.raises(BindingRetired):
            attempt()
    fresh = world.controller.route("m").decode
    assert (fresh.generation, fresh.pick_direct(9)) == (2, 9)


def test_a_pin_on_a_worker_that_left_a_living_cohort_is_refused_too() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/13100 (H2, H5): the binding lives on, only the pin is stale."""
    world = World()
    world.serving(join(1), join(9))
    hop = world.controller.route("m").decode
    world.apply(leave(1))
    with pytest.raises(NoRoutableWorkers, match="1"):
        hop.pick_direct(1)
    assert (hop.retired, hop.pick()) == (False, 9)


@pytest.mark.parametrize(
    "events",
    [
        [*leave(1), *join(1)],
        [Delete(CARD), base(1, incarnation="a")],
        [base(1, incarnation="b")],
        [Reset([instance(1), base(1, incarnation="b")], as_of=1)],
    ],
    ids=["both records", "the card alone", "another incarnation", "another incarnation in a listing"],
)
def test_leave_and_return_in_one_step_are_two_transitions(events: Iterable[Event]) -> None:
    """https://github.com/ai-dynamo/dynamo/pull/15010 (I8, D5, S3): merged into "no change", old bookings survived."""
    world = World()
    world.serving(instance(1), base(1, incarnation="a"))
    old = world.controller.route("m").decode
    outputs = world.apply(events)
    assert (builds(outputs), of(outputs, MembersChanged)) == ([2], []), "the same ids, another binding"
    assert world.succeed(2) == Committed(2)
    new = world.controller.route("m").decode
    assert (old.retired, new.ids(), new.mdc_checksum, new != old) == (True, (1,), old.mdc_checksum, True)
    with pytest.raises(BindingRetired):
        old.pick_direct(1)


def test_removal_is_by_the_instance_key_and_not_by_an_address() -> None:
    """https://github.com/smg-project/smg/issues/2521 (I8): the address was spelled otherwise, so the worker stayed."""
    world = World()
    world.serving(join(1))
    moved = str(instance(1).value).replace("127.0.0.1:9000", "tcp://localhost:9000")
    world.apply(Apply("v1/instances/ns/c/e/1", moved))
    assert world.controller.route("m").decode.ids() == (1,)
    world.apply(Delete(CARD))
    assert world.sets() == []


@pytest.mark.parametrize("spelling", ["1F", "01f", "0x1f", "1f/"])
def test_another_spelling_of_a_key_is_another_key(spelling: str) -> None:
    """https://github.com/smg-project/smg/issues/2521 (R7, D2): registered by one rule, removed by another.

    Such a spelling cannot be registered either, so no worker exists that only it could remove. The report asks that a
    removal that matches nothing be reported; the contract remembers it (D2) and reports nothing, because after a
    reconnection such removals are ordinary.
    """
    world = World()
    path = f"v1/mdc/ns/c/e/{spelling}"
    (refused,) = world.apply(Apply(path, base(0x1F).value))
    assert isinstance(refused, RecordRefused)
    world.serving(join(0x1F))
    assert world.apply(Delete(path)) == []
    assert world.controller.route("m").decode.ids() == (0x1F,)


@pytest.mark.parametrize("context", [4096, B], ids=["the same card", "another card"])
def test_a_worker_that_returns_is_in_the_fresh_channel_from_the_start(context: int) -> None:
    """https://github.com/envoyproxy/go-control-plane/issues/583 (S3, H8): "nothing new" was the answer to a new reader.

    Also https://github.com/envoyproxy/envoy/issues/31535: a changed object had to wait for its endpoints to be
    told once more. The endpoint record is not written again here.
    """
    world = World()
    world.serving(join(1))
    world.apply(Delete(CARD))
    outputs = world.serving(base(1, card(context=context)))
    assert builds(outputs) == [2]
    hop = world.controller.route("m").decode
    assert (hop.ids(), hop.pick(), hop.generation) == ((1,), 1, 2)


def test_a_successor_on_the_same_endpoint_starts_with_its_own_members() -> None:
    """https://github.com/envoyproxy/envoy/issues/31535 (S2, S3, H4): it began empty."""
    world = World()
    world.serving(join(1))
    old = world.controller.route("m").decode
    world.apply(join(2, B), join(3, B))
    world.serving(leave(1))
    new = world.controller.route("m").decode
    assert (new.ids(), old.ids(), new.worker_set == old.worker_set) == ((2, 3), (), True)


def test_nothing_keyed_by_the_old_id_survives_its_return_under_another() -> None:
    """https://github.com/rabbitmq/rabbitmq-server/pull/17404 (S3, S5): back after its lease lapsed, and not seen.

    The part that belongs to the core; that a worker registers again is the writer's affair.
    """
    world = World()
    world.serving(join(100))
    old = world.controller.route("m").decode
    world.apply(leave(100))
    world.now = 30.0
    assert builds(world.serving(join(101))) == [2]
    new = world.controller.route("m").decode
    assert (new.ids(), 100 in new, new.worker(100), 101 in old) == ((101,), False, None, False)
    assert world.only_set()["incumbent"]["members"] == ["ns/c/e/65"]


def test_a_delayed_removal_of_the_first_life_does_not_touch_the_second() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/15010 (D2): told late, by its revision it is older than the return."""
    world = World()
    world.serving(instance(1), base(1, revision=1))
    world.serving(Delete(CARD, revision=4))
    world.serving(base(1, revision=5))
    assert steps(world, Delete(CARD, revision=4), base(1, card(context=B), revision=3)) == []
    assert world.controller.route("m").generation == 2
