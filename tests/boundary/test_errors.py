"""The exceptions: their tree, what they carry, that they pickle, and which native failures they come from."""

from __future__ import annotations

import pickle

import pytest

import workerset
from tests.boundary.samples import SET
from tests.contract.world import World, base, card, instance, join, leave
from workerset import errors

SAMPLES: list[errors.WorkerSetError] = [
    errors.ConfigError("linger_seconds", "-1 is not allowed"),
    errors.CardError("must be a string", "display_name"),
    errors.CardError("expected value"),
    errors.ControllerClosed(),
    errors.RoutingError("m", "choose a worker"),
    errors.ModelNotFound("m"),
    errors.NotReady("m", ("first", "second"), (SET,)),
    errors.NoRoutableWorkers("m", ("none",), admitted=2, discovered=1, routable=0, next_release=5.0),
    errors.BindingRetired("m", 7),
    errors.DiscoveryError("refused", url="etcd://h:2379"),
    errors.DiscoveryAuthError("no rights"),
    errors.DiscoveryTimeout("no answer in 30 s", url="file:///d"),
    errors.InternalError("broken"),
]

TREE: dict[type[BaseException], tuple[type[BaseException], ...]] = {
    errors.WorkerSetError: (Exception,),
    errors.ConfigError: (errors.WorkerSetError, ValueError),
    errors.CardError: (errors.WorkerSetError, ValueError),
    errors.ControllerClosed: (errors.WorkerSetError, RuntimeError),
    errors.RoutingError: (errors.WorkerSetError,),
    errors.ModelNotFound: (errors.RoutingError, LookupError),
    errors.NotReady: (errors.RoutingError,),
    errors.NoRoutableWorkers: (errors.NotReady,),
    errors.BindingRetired: (errors.RoutingError,),
    errors.DiscoveryError: (errors.WorkerSetError, ConnectionError),
    errors.DiscoveryAuthError: (errors.DiscoveryError, PermissionError),
    errors.DiscoveryTimeout: (errors.DiscoveryError, TimeoutError),
    errors.InternalError: (errors.WorkerSetError, RuntimeError),
}


def test_the_tree_is_the_documented_one_and_every_class_has_a_sample() -> None:
    assert {getattr(errors, name) for name in errors.__all__} == set(TREE)
    assert {type(sample) for sample in SAMPLES} == set(TREE) - {errors.WorkerSetError}
    for kind, bases in TREE.items():
        assert kind.__bases__ == bases


@pytest.mark.parametrize("error", SAMPLES, ids=repr)
@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_errors_pickle_with_what_they_carry(error: errors.WorkerSetError, protocol: int) -> None:
    restored = pickle.loads(pickle.dumps(error, protocol))
    assert type(restored) is type(error)
    assert (str(restored), restored.args, vars(restored)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize("error", SAMPLES, ids=repr)
def test_every_error_says_who_caused_it_and_whether_a_retry_helps(error: errors.WorkerSetError) -> None:
    assert error.caused_by in {"caller", "input", "world", "library"}
    said = " ".join((type(error).__doc__ or "").lower().split())
    assert error.caused_by == "library" or f"caused by the {error.caused_by}" in said
    assert "retry" in said or "same hop never works again" in said
    for value in vars(error).values():
        if isinstance(value, str):
            assert value in str(error)


def test_only_the_world_may_be_better_later() -> None:
    retryable = {type(error) for error in SAMPLES if error.retryable}
    assert retryable == {
        errors.NotReady,
        errors.NoRoutableWorkers,
        errors.DiscoveryError,
        errors.DiscoveryTimeout,
    }


def test_a_card_error_names_the_field() -> None:
    with pytest.raises(errors.CardError) as caught:
        workerset.ModelCard.from_json('{"display_name": 1}')
    assert caught.value.field == "display_name"
    assert caught.value.reason
    with pytest.raises(errors.CardError) as caught:
        workerset.ModelCard.from_json(b"\xff")
    assert caught.value.field == ""


def test_a_name_that_nobody_offers_is_not_found_once_a_snapshot_is_there() -> None:
    world = World()
    with pytest.raises(errors.NotReady) as caught:
        world.controller.route("m")
    assert caught.value.reasons
    world.apply(workerset.Reset([], 1))
    with pytest.raises(errors.ModelNotFound) as missing:
        world.controller.route("m")
    assert missing.value.model == "m"


def test_not_ready_brings_the_models_inventory_entries() -> None:
    world = World()
    world.apply(join(1), base(2, card("other")))
    with pytest.raises(errors.NotReady) as caught:
        world.controller.route("m")
    (entry,) = caught.value.worker_sets
    assert (entry.model, entry.phase) == ("m", "building")
    assert caught.value.worker_sets is caught.value.worker_sets
    restored = pickle.loads(pickle.dumps(caught.value))
    assert (restored.model, restored.reasons, restored.worker_sets) == ("m", caught.value.reasons, (entry,))


def test_picks_say_why_nobody_can_be_picked() -> None:
    world = World()
    world.serving(join(1), join(2))
    hop = world.controller.route("m").decode
    with pytest.raises(errors.NoRoutableWorkers) as caught:
        hop.pick_direct(3)
    assert "3" in caught.value.reasons[0]
    assert (caught.value.admitted, caught.value.routable, caught.value.next_release) == (2, 2, None)
    with pytest.raises(errors.NoRoutableWorkers, match="excluded"):
        hop.pick_except([1, 2])
    world.apply(workerset.Delete("v1/instances/ns/c/e/1"), workerset.Delete("v1/instances/ns/c/e/2"))
    for pick in (hop.pick, lambda: hop.pick_many(2)):
        with pytest.raises(errors.NoRoutableWorkers) as caught:
            pick()
        assert (caught.value.admitted, caught.value.discovered) == (2, 0)
    world.apply(instance(1))
    assert hop.pick() == 1


def test_a_retired_hop_says_so() -> None:
    world = World()
    world.serving(join(1))
    hop = world.controller.route("m").decode
    world.apply(leave(1))
    for pick in (hop.pick, lambda: hop.pick_except([]), lambda: hop.pick_direct(1), lambda: hop.pick_many(1)):
        with pytest.raises(errors.BindingRetired) as caught:
            pick()
        assert (caught.value.model, caught.value.generation) == ("m", hop.generation)
    assert hop.retired


def test_a_hop_that_routes_directly_tells_the_caller_to_choose() -> None:
    world = World(default_router_mode="direct")
    world.serving(join(1))
    hop = world.controller.route("m").decode
    with pytest.raises(errors.RoutingError, match="pick_direct"):
        hop.pick()
    assert hop.pick_direct(1) == 1


def test_a_closed_controller_says_so() -> None:
    world = World()
    world.serving(join(1))
    hop = world.controller.route("m").decode
    token = world.tokens[1]
    world.controller.close()
    world.controller.close()
    assert world.controller.closed
    for call in (
        lambda: world.controller.apply([], now=0.0),
        lambda: world.controller.advance(now=0.0),
        lambda: world.controller.source_changed("lost", now=0.0),
        lambda: world.controller.inventory(now=0.0),
        lambda: world.controller.route("m"),
    ):
        with pytest.raises(errors.ControllerClosed):
            call()
    assert hop.retired
    assert world.controller.models() == ()
    assert workerset.Withdraw(token) in world.drain()
    assert isinstance(world.controller.build_succeeded(token, now=0.0), workerset.Fenced)
