"""First wins: reports of conflicts, of starts and of failed builds (chapter R)."""

from __future__ import annotations

import pytest

import workerset
from tests.cases.cast import ROLES, arrive, builds, depart, rejected, role
from tests.contract.world import B, World, base, card, checksum, join, leave, of
from workerset import CohortRejected, Committed, NotReady, Reset, Retry, StartBuild, Withdraw


def test_one_worker_that_differs_leaves_a_serving_model_alone() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/14215 (R3, R4): a conflict used to hide the healthy model."""
    world = World()
    world.serving(join(1))
    world.apply(join(2))
    hop = world.controller.route("m").decode
    (told,) = world.apply(join(3, B))
    assert isinstance(told, CohortRejected)
    assert (told.instance, told.members, told.differs) == ("ns/c/e/3", 1, ("context_length",))
    assert (hop.ids(), hop.retired, world.controller.models()) == ((1, 2), False, ("m",))
    entry = world.only_set()
    assert (entry["generation"], entry["incumbent"]["mdc_checksum"]) == (1, checksum(card()))
    assert rejected(world) == [["ns/c/e/3"]]


def test_a_larger_cohort_that_fails_again_and_again_changes_nothing() -> None:
    """https://github.com/ray-project/ray/pull/66252 (R3, R4): a failing update is no reason to stop the old version.

    The report's newcomers are unhealthy; admission knows only whether their records are there (S1).
    """
    world = World()
    world.serving(join(1))
    for newcomer in (2, 3, 4):
        outputs = world.apply(join(newcomer, B), join(newcomer + 10, B), leave(newcomer), leave(newcomer + 10))
        outputs += world.apply(join(newcomer, B), join(newcomer + 10, B))
        assert of(outputs, Withdraw, StartBuild, workerset.MembersChanged, workerset.ModelNotReady) == []
        assert world.controller.route("m").decode.ids() == (1,)
        world.apply(leave(newcomer), leave(newcomer + 10))
    entry = world.only_set()
    assert (entry["generation"], entry["admitted"], entry["rejected"]) == (1, [1], [])


def test_two_frontends_that_see_another_order_serve_another_cohort_and_both_are_well() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/14632 (Y4): the choice is each frontend's own."""
    first, second = World(), World()
    first.serving(join(1))
    first.apply(join(2, B))
    second.serving(join(2, B))
    second.apply(join(1))
    assert first.controller.route("m").decode.ids() == (1,)
    assert second.controller.route("m").decode.ids() == (2,)
    assert first.controller.models() == second.controller.models() == ("m",)
    assert (rejected(first), rejected(second)) == ([["ns/c/e/2"]], [["ns/c/e/1"]])


def test_two_frontends_that_start_on_one_store_choose_alike() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/14632 (R6): one listing has one order, whatever order it is told in."""
    entries = [base(1, card(context=B), created=20), base(2, created=10), base(3, card(context=B))]
    for listing in (entries, entries[::-1]):
        world = World()
        world.apply(Reset(listing, as_of=1))
        assert world.members() == ["ns/c/e/2"]


def test_a_build_that_never_returns_holds_up_nobody_else() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/4904 (S7, D5): after a restart only some models came back."""
    world = World()
    models = {"a": 1, "b": 2, "c": 3}
    listing = [record for name, n in models.items() for record in arrive(n, role("aggregated", name), component=name)]
    world.apply(Reset(listing, as_of=1))
    started = {spec.model: generation for generation, spec in world.specs.items()}
    assert set(started) == set(models)
    for name in ("b", "c"):
        assert world.succeed(started[name]) == Committed(started[name])
    world.apply(arrive(4, role("aggregated", "b"), component="b"))
    assert world.controller.models() == ("b", "c")
    assert world.controller.route("b").decode.ids() == (2, 4)
    entry = world.sets()[0]
    assert (entry["model"], entry["phase"], entry["generation"]) == ("a", "building", None)


def test_a_missed_worker_found_by_a_listing_joins_a_set_that_retries() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/11092 (R1, R5, S7): a failure and a missed event lose no model."""
    world = World()
    world.apply(join(1))
    assert world.fail(1) == Retry(1, 1.0)
    world.drain()
    assert builds(world.advance(60.0)) == [2]
    assert builds(world.apply(Reset([*join(1), *join(2)], as_of=5))) == []
    assert world.fail(2) == Retry(2, 62.0), "a member more does not forget the failure before"
    assert builds(world.advance(62.0)) == [3]
    assert world.succeed(3) == Committed(3)
    assert world.controller.route("m").decode.ids() == (1, 2)
    assert rejected(world) == []


def test_a_failed_build_keeps_the_set_reserved_and_says_why() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/11178 (R1, R4, S7): one failure left an empty frontend that was ready.

    The error of a request carries the reason and the time of the next attempt as data, not as text.
    """
    world = World()
    world.apply(Reset(join(1), as_of=1))
    world.fail(1, "the file is larger than advertised")
    world.apply(join(2, B))
    assert world.controller.models() == ()
    with pytest.raises(NotReady) as caught:
        world.controller.route("m")
    (entry,) = caught.value.worker_sets
    assert (entry.phase, entry.admitted, entry.generation) == ("retrying", (1,), None)
    assert entry.retry is not None
    assert (entry.retry.attempt, entry.retry.deadline) == (1, 1.0)
    assert entry.retry.reason == "the file is larger than advertised"
    assert [cohort.members for cohort in entry.rejected] == [("ns/c/e/2",)]
    assert builds(world.advance(30.0)) == [2]
    assert world.specs[2].mdc_checksum == checksum(card())
    assert world.succeed(2) == Committed(2)
    assert (world.controller.models(), rejected(world)) == (("m",), [["ns/c/e/2"]])


def test_the_error_of_a_request_says_what_is_there_and_why_it_does_not_serve() -> None:
    """https://github.com/BerriAI/litellm/issues/17729 (API 6, derived): the error spoke of a missing fallback.

    Agreed, with one remark: the text names the model, what its set is doing and the last error; set, phase and the
    rejected cohorts are attributes, taken from the inventory when they are read.
    """
    world = World()
    world.apply(join(1), join(2, B))
    world.fail(1, "tokenizer missing")
    with pytest.raises(
        NotReady,
        match=r"'m' is not ready: the build of ns/c/e failed 1 time in a row, .*: tokenizer missing",
    ) as caught:
        world.controller.route("m")
    assert (caught.value.model, caught.value.retryable, caught.value.caused_by) == ("m", True, "world")
    (entry,) = caught.value.worker_sets
    assert entry.worker_set.key_text == '["ns","c","e","chat","aggregated"]'
    assert (entry.phase, entry.retry and entry.retry.reason, len(entry.rejected)) == (
        "retrying",
        "tokenizer missing",
        1,
    )


def test_a_worker_is_pending_or_rejected_or_routable_and_never_two_of_them() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/14570 (R1, H2): workers without requests counted as registered."""
    world = World()
    world.apply(join(1), join(2, B))
    entry = world.only_set()
    assert (entry["phase"], entry["admitted"], entry["routable"]) == ("building", [1], [])
    assert rejected(world) == [["ns/c/e/2"]]
    with pytest.raises(NotReady):
        world.controller.route("m")
    world.succeed(1)
    assert (world.only_set()["routable"], rejected(world)) == ([1], [["ns/c/e/2"]])


@pytest.mark.parametrize("name", ROLES)
def test_every_role_follows_the_same_rules(name: str) -> None:
    """https://github.com/vllm-project/router/issues/296 (H1, R1, S1): encode workers were a role of their own kind."""
    world = World()
    world.serving(arrive(1, role(name)))
    world.apply(arrive(2, role(name, context_length=B)))
    assert (world.only_set()["worker_type"], rejected(world)) == (name, [["ns/c/e/2"]])
    assert builds(world.serving(depart(1))) == [2]
    entry = world.only_set()
    assert (entry["generation"], entry["admitted"], entry["routable"], entry["rejected"]) == (2, [2], [2], [])
