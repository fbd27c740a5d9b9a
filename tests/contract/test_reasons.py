"""Why a request gets no route, in sentences (S1, S7, S9, Y6): who waits for whom, since when, and what happens next."""

from __future__ import annotations

from typing import Any

import pytest

import workerset
from workerset import AdmissionController, BuildRetry, Delete, NotReady, Reset

from .world import B, C, World, adapter, base, card, instance, join, leave


def reasons(world: World, name: str = "m", **how: Any) -> tuple[str, ...]:
    with pytest.raises(NotReady) as failure:
        world.controller.route(name, **how)
    start, _, told = str(failure.value).partition(" is not ready: ")
    assert start.startswith(f"model '{failure.value.model[:200]}") and told == "; ".join(failure.value.reasons)
    return failure.value.reasons


def placed(model: str, component: str) -> list[workerset.Apply]:
    return [base(1, card(model), component=component), instance(1, component=component)]


def test_before_the_first_snapshot() -> None:
    assert reasons(World()) == ("discovery has not delivered its first snapshot",)


def test_s7_a_set_waits_for_a_build_place_and_names_who_holds_them() -> None:
    world = World(max_concurrent_builds=8)
    for number in range(8):
        world.now = float(number)
        world.apply(placed(f"slow-{number}", f"c{number}"))
    world.now = 20.0
    world.apply(placed("m", "mine"), placed("n", "next"))
    world.advance(32.0)
    (reason,) = reasons(world)
    assert reason == (
        'ns/mine/e waits for a build place (8 of 8 busy: "slow-0" for 32 s, "slow-1" for 31 s, "slow-2" for 30 s '
        "and 5 more), number 1 in line for 12 s"
    )
    assert "number 2 in line" in reasons(world, "n")[0]
    assert world.controller.inventory(now=32.0).builds.to_dict() == {"running": 8, "waiting": 2, "places": 8}
    world.cancelled(1)
    assert reasons(world, "slow-0")[0].startswith("ns/c0/e waits for a build place (8 of 8 busy:")


def test_s7_a_cancelled_build_that_goes_on_is_named_by_its_model() -> None:
    world = World(max_concurrent_builds=1)
    world.apply(placed("gone", "c1"))
    world.apply(placed("m", "c2"), Delete("v1/mdc/ns/c1/e/1"))
    world.advance(3.0)
    assert reasons(world) == (
        'ns/c2/e waits for a build place (1 of 1 busy: "gone" for 3.0 s), number 1 in line for 3.0 s',
    )


def test_a_build_runs() -> None:
    world = World()
    world.apply(join(1))
    world.advance(12.0)
    assert reasons(world) == ("ns/c/e is being built (generation 1) for 12 s",)
    timed = AdmissionController(build_timeout=600.0)
    timed.apply([Reset([], 1), *join(1)], now=0.0)
    timed.advance(now=90.0)
    with pytest.raises(NotReady) as failure:
        timed.route("m")
    assert failure.value.reasons == ("ns/c/e is being built (generation 1) for 90 s of 10 min at most",)


def test_s7_a_build_failed() -> None:
    world = World()
    world.apply(join(1))
    world.fail(1, "no memory")
    (retry,) = [output for output in world.drain() if isinstance(output, BuildRetry)]
    assert retry.delay == 1.0
    world.advance(1.0)
    world.fail(2, "no memory")
    world.advance(1.5)
    assert reasons(world) == (
        "the build of ns/c/e failed 2 times in a row, last 0.5 s ago: no memory; tried again in 1.5 s",
    )


def test_s9_a_set_is_blocked() -> None:
    world = World()
    world.serving(placed("owner", "c1"))
    world.serving(base(2, card("m", aliases=["owner"]), component="c2"), instance(2, component="c2"))
    assert reasons(world) == ('ns/c2/e is blocked: the name "owner" is held by model "owner"; tried again in 1.0 s',)


def test_s1_an_incumbents_card_lingers_and_others_wait_behind_it() -> None:
    world = World()
    world.serving(join(1), join(2, B), join(3, B), join(4, C))
    world.apply(Delete("v1/instances/ns/c/e/1"))
    assert reasons(world)[0] == (
        "ns/c/e has 1 admitted worker with a card, and no usable endpoint record; 3 workers wait behind that"
    )
    world.apply(leave(2), leave(3))
    assert reasons(world)[0].endswith("; 1 worker waits behind that")
    world.apply(leave(4), base(5))
    assert reasons(world)[0] == "ns/c/e has 2 admitted workers with a card, and no usable endpoint record"


def test_s2_a_succession_runs() -> None:
    world = World()
    world.serving(join(1), join(2, B))
    world.now = 10.0
    world.apply(leave(1))
    world.advance(12.0)
    assert reasons(world) == (
        "a succession has been running for 2.0 s: ns/c/e is being built (generation 2) for 2.0 s",
    )
    world.fail(2, "broken")
    assert reasons(world)[0].startswith("a succession has been running for 2.0 s: the build of ns/c/e failed 1 time")


def test_y6_the_last_worker_left() -> None:
    world = World()
    world.serving(join(1))
    world.apply(leave(1))
    world.advance(12.0)
    assert reasons(world) == ("its last worker left 12 s ago",)


def test_l1_an_adapter_is_carried_by_nobody_since() -> None:
    world = World()
    world.serving(join(1), adapter(1))
    world.apply(Delete("v1/mdc/ns/c/e/1/lora"))
    world.advance(12.0)
    assert reasons(world, "lora") == ("no worker has carried the adapter for 12 s",)


def test_l2_an_adapter_is_carried_by_those_who_do_not_serve() -> None:
    world = World()
    world.apply(join(1), adapter(1))
    assert reasons(world, "lora") == ("ns/c/e is being built (generation 1) for 0.0 s",)
    world.succeed(1)
    world.apply(join(2, B), adapter(2, "other"), adapter(3, "alone"))
    assert reasons(world, "other") == ("the adapter is carried by 1 rejected worker",)
    assert reasons(world, "alone") == ("the adapter is carried by 1 worker that published no card",)
    world.apply(Delete("v1/instances/ns/c/e/1"))
    assert reasons(world, "lora")[0].startswith(
        "ns/c/e has 1 admitted worker with a card, and no usable endpoint record"
    )


def test_what_a_request_asked_for_narrows_the_reasons() -> None:
    world = World()
    world.serving(join(1))
    assert reasons(world, model_type="embedding") == ("ns/c/e does not offer embedding; it offers chat",)
    assert reasons(world, namespace="elsewhere") == ("no committed set in namespace elsewhere",)
    world.apply(base(1, namespace="elsewhere"), instance(1, namespace="elsewhere"))
    assert reasons(world, namespace="elsewhere") == ("elsewhere/c/e is being built (generation 2) for 0.0 s",)


def test_a_missing_role_is_named_beside_what_its_set_is_doing() -> None:
    world = World()
    decode = card(worker_type="decode", needs=[["prefill"]], model_input="Tokens")
    world.serving(base(1, decode), instance(1))
    assert reasons(world) == ("namespace ns: no live prefill worker",)
    prefill = card(worker_type="prefill", model_type="Prefill", needs=[["decode"]], model_input="Tokens")
    world.apply(base(2, prefill, component="p"), instance(2, component="p"))
    assert reasons(world) == (
        "ns/p/e (prefill) is being built (generation 2) for 0.0 s",
        "namespace ns: no live prefill worker",
    )


def test_names_are_shown_in_part() -> None:
    world = World(max_concurrent_builds=1)
    world.apply(placed("x" * 100_000, "c1"))
    world.apply(placed("m", "c2"))
    world.fail(1, "y" * 100_000)
    assert all(len(reason) < 600 for name in ("m", "x" * 100_000) for reason in reasons(world, name))


def test_a_closed_controller_gives_the_reason() -> None:
    world = World()
    world.apply(join(1))
    with pytest.raises(NotReady) as failure:
        world.controller.route("m")
    world.controller.close()
    assert failure.value.reasons == ("the controller is closed",)


def test_texts_have_durations_and_data_has_numbers() -> None:
    """No text holds a reading of somebody's monotonic clock."""
    world = World()
    world.now = 11171.466
    world.apply(join(1), placed("owner", "o"))
    world.fail(1)
    world.succeed(2)
    outputs = world.apply(base(2, card("n", aliases=["owner"]), component="n"), instance(2, component="n"))
    world.succeed(3)
    outputs += world.drain()
    texts = [workerset.observability.describe(output) for output in outputs if hasattr(output, "deadline")]
    assert len(texts) == 2
    assert all("tried again in 1.0 s" in text and "1117" not in text for text in texts)
    assert [output.deadline for output in outputs if hasattr(output, "deadline")] == [11172.466] * 2
    assert all("1117" not in reason for name in ("m", "n") for reason in reasons(world, name))
    error = workerset.NoRoutableWorkers("m", ("all are inhibited",), next_release=11172.466, release_in=12.0)
    assert "next release in 12 s" in str(error) and "1117" not in str(error)
