"""From one incumbent to the next: reports of rollouts (chapter S)."""

from __future__ import annotations

import logging

import pytest

import workerset
from tests.cases.cast import arrive, builds, depart, rejected, role
from tests.contract.world import A, B, C, World, card, checksum, join, leave, of
from workerset import (
    BindingRetired,
    CancelBuild,
    CohortRejected,
    Committed,
    Fenced,
    ModelNotReady,
    NotReady,
    Reset,
    Succession,
)


def test_the_new_engine_takes_over_when_the_last_old_worker_is_gone() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/8263 (S1, S2, S3): the old card stuck until the frontend restarted."""
    world = World()
    world.serving(join(1))
    world.apply(join(2, B))
    assert builds(world.apply(leave(1))) == [2]
    assert world.specs[2].mdc_checksum == checksum(card(context=B))
    assert world.succeed(2) == Committed(2)
    entry = world.only_set()
    assert (entry["incumbent"]["mdc_checksum"], entry["rejected"]) == (checksum(card(context=B)), [])
    assert world.controller.route("m").decode.ids() == (2,)


def test_two_generations_in_one_namespace_change_over_at_the_last_old_worker() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/12796 (S1, H5): a rolling update without a namespace for each version.

    That two versions share a set shows in the rejection's differing fields; advice on namespaces is not the contract's.
    """
    world = World()
    world.serving(join(1), join(2))
    outputs = world.apply(leave(1))
    outputs += world.apply(join(11, B))
    assert [told.differs for told in of(outputs, CohortRejected)] == [("context_length",)]
    assert (builds(outputs), world.controller.route("m").decode.ids()) == ([], (2,))
    assert builds(world.serving(leave(2))) == [2]
    hop = world.controller.route("m").decode
    assert builds(world.apply(join(12, B))) == []
    assert (hop.ids(), hop.generation, rejected(world)) == ((11, 12), 2, [])


def test_the_old_namespace_may_go_once_the_new_one_is_committed_and_the_model_never_stops() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/13622 (I2, Y1): pod readiness came before the frontend's own.

    What may take over is what the frontend has committed in the new namespace, not what is registered there.
    """
    world = World()
    outputs = world.serving(arrive(1, role("decode"), namespace="old"))
    outputs += world.apply(arrive(2, role("decode", context_length=B), namespace="new"))

    def taken_over() -> list[int]:
        ids: list[int] = next(entry["routable"] for entry in world.sets() if entry["namespace"] == "new")
        return ids

    assert taken_over() == []
    with pytest.raises(NotReady):
        world.controller.route("m", namespace="new")
    assert world.controller.models() == ("m",)
    world.succeed(2)
    assert taken_over() == [2]
    assert world.controller.route("m", namespace="new").decode.ids() == (2,)
    outputs += world.apply(depart(1, namespace="old"))
    assert world.controller.route("m").decode.ids() == (2,)
    assert of(outputs, ModelNotReady) == []


def test_a_replacement_with_the_same_card_joins_before_the_old_worker_leaves() -> None:
    """https://github.com/sgl-project/sglang/pull/38524 (R2, H5): remove overtook add, and nobody was left."""
    world = World()
    world.serving(join(1))
    hop = world.controller.route("m").decode
    outputs = world.apply(join(2))
    assert hop.ids() == (1, 2)
    outputs += world.apply(leave(1))
    assert (hop.ids(), hop.generation, builds(outputs), of(outputs, ModelNotReady)) == ((2,), 1, [], [])


def test_when_the_removal_really_comes_first_the_generation_is_over() -> None:
    """https://github.com/sgl-project/sglang/pull/38524 (S5, D5): the order told decides, also within one step."""
    world = World()
    world.serving(join(1))
    hop = world.controller.route("m").decode
    assert builds(world.apply(leave(1), join(2))) == [2]
    with pytest.raises(BindingRetired):
        hop.pick()


def test_a_listing_that_exchanges_all_workers_is_a_departure_too() -> None:
    """https://github.com/sgl-project/sglang/pull/38524 (D2): in a listing departures come before arrivals."""
    world = World()
    world.serving(Reset(join(1), as_of=1))
    assert builds(world.apply(Reset(join(2), as_of=2))) == [2]


def test_a_rollout_of_hundreds_ends_with_exactly_what_is_there() -> None:
    """https://github.com/linkerd/linkerd2/issues/10491 (H5, D2): churn left proxies on addresses that were gone."""
    world = World()
    old, new = range(1, 181), range(1001, 1181)
    outputs = world.serving(*(join(worker) for worker in old))
    hop = world.controller.route("m").decode
    for gone, come in zip(old, new, strict=True):
        outputs += world.apply(join(come))
        outputs += world.apply(leave(gone))
        assert len(hop) == 180
    assert (hop.ids(), builds(outputs), of(outputs, ModelNotReady)) == (tuple(new), [1], [])
    assert world.only_set()["admitted"] == list(new)
    assert world.apply(Reset([record for worker in new for record in join(worker)], as_of=1)) == []


def test_a_build_that_waits_for_a_worker_that_left_is_cancelled() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/10580 (S2, S4): it asked a member that had left, and waited."""
    world = World()
    world.apply(join(1))
    assert of(world.apply(leave(1)), CancelBuild) == [CancelBuild(world.tokens[1])]
    assert builds(world.apply(join(2, B))) == [2], "at once, though the first has not ended yet"
    assert world.succeed(2) == Committed(2)
    assert isinstance(world.succeed(1), Fenced)
    assert world.controller.route("m").decode.ids() == (2,)


@pytest.mark.parametrize("remaining", [0, 1], ids=["nobody waits", "another cohort waits"])
def test_the_last_worker_takes_the_model_with_it(remaining: int) -> None:
    """https://github.com/hashicorp/consul/pull/5499 (S2, H6): emptiness was not passed on."""
    world = World()
    world.serving(Reset(join(1), as_of=1))
    world.apply(*(join(2, B) for _ in range(remaining)))
    hop = world.controller.route("m").decode
    outputs = world.apply(leave(1))
    assert of(outputs, workerset.Withdraw) == [workerset.Withdraw(world.tokens[1])]
    assert (hop.ids(), hop.retired, world.controller.models()) == ((), True, ())
    with pytest.raises(BindingRetired):
        hop.pick()
    with pytest.raises(NotReady):
        world.controller.route("m")


def test_a_rejected_cohort_is_one_line_in_the_log_until_the_incumbent_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """https://github.com/ai-dynamo/dynamo/pull/14215 (S6, API 7): operators learnt of a refusal only by its effects."""
    world = World()
    contexts = {1: A, 2: B, 3: B, 4: C}
    outputs = world.serving(join(1))
    for worker in (2, 3, 4):
        outputs += world.apply(join(worker, contexts[worker]))
    listing = [record for worker, context in contexts.items() for record in join(worker, context)]
    outputs += world.apply(Reset(listing, as_of=1))
    outputs += world.serving(leave(1))
    with caplog.at_level(logging.INFO, logger="workerset.admission"):
        for told in of(outputs, CohortRejected, Succession):
            workerset.log_notice(told)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    sums = {context: checksum(card(context=context)) for context in (A, B, C)}
    expected = [(A, B, "ns/c/e/2"), (A, C, "ns/c/e/4"), (B, C, "ns/c/e/4")]
    assert len(errors) == len(expected)
    for record, (incumbent, other, instance) in zip(errors, expected, strict=True):
        assert vars(record)["model"] == "m"
        for text in (sums[incumbent], sums[other], instance):
            assert text in record.getMessage()
