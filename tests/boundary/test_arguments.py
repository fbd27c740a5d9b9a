"""Arguments that cannot be: each names what is wrong, and nothing is taken."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import workerset
from tests.boundary.samples import CARD, KEY, OTHER, SUM, TOKEN
from tests.contract.world import World, base, join

if TYPE_CHECKING:
    from collections.abc import Callable

untyped: Any = workerset


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("checksum_profile", "1.7"),
        ("max_concurrent_builds", 0),
        ("max_concurrent_builds", -1),
        ("max_concurrent_builds", 10**7),
        ("max_record_bytes", 0),
        ("max_record_bytes", (1 << 30) + 1),
        ("tokenizer_backend", "none-such"),
        ("linger_seconds", -1.0),
        ("linger_seconds", math.nan),
        ("linger_seconds", math.inf),
        ("router_policy_files", "maybe"),
        ("default_router_mode", "kv"),
    ],
)
def test_an_option_out_of_range_is_named(option: str, value: Any) -> None:
    with pytest.raises(workerset.ConfigError) as caught:
        workerset.AdmissionConfig(**{option: value})
    assert caught.value.field == option
    assert caught.value.reason
    assert option in str(caught.value)


def test_a_configuration_is_a_record_of_named_options() -> None:
    config = workerset.AdmissionConfig(
        checksum_profile="1.5",
        max_concurrent_builds=2,
        namespaces=workerset.NamespaceFilter.exact("ns"),
        tokenizer_backend="fastokens",
        tokenizer_fallback=True,
        router_policy_files={"/b", "/a"},
        default_router_mode="random",
    )
    assert config.router_policy_files == frozenset({"/a", "/b"})
    assert config.namespaces == workerset.NamespaceFilter.exact("ns")
    assert config.to_dict() == {
        "checksum_profile": "1.5",
        "max_concurrent_builds": 2,
        "max_record_bytes": 4_194_304,
        "namespaces": {"rule": "exact", "text": "ns", "strict": False},
        "linger_seconds": 60.0,
        "tokenizer_backend": "fastokens",
        "tokenizer_fallback": True,
        "router_policy_files": ["/a", "/b"],
        "default_router_mode": "random",
    }
    with pytest.raises(TypeError):
        untyped.AdmissionConfig("1.5")


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: untyped.BuildToken("m", KEY, "AB" * 32, 1), ValueError),
        (lambda: untyped.BuildToken("m", KEY, "ab" * 31, 1), ValueError),
        (lambda: untyped.BuildToken("m", KEY, "ab" * 32 + "a", 1), ValueError),
        (lambda: untyped.BuildToken("m", KEY, "é" * 32, 1), ValueError),
        (lambda: untyped.BuildToken("other", KEY, SUM, 1), ValueError),
        (lambda: untyped.BuildToken("m", "key", SUM, 1), TypeError),
        (lambda: untyped.BuildToken("m", KEY, SUM, -1), OverflowError),
        (lambda: untyped.BuildToken("m", KEY, SUM, 2**64), OverflowError),
        (lambda: untyped.BuildSpec(TOKEN, "m", KEY, OTHER, 7, CARD, "k"), ValueError),
        (lambda: untyped.BuildCommitted("other", TOKEN), ValueError),
        (lambda: untyped.MembersChanged("other", KEY, None, [], []), ValueError),
        (lambda: untyped.WorkerSetKey("m", "n", "c", "e", "chat", "worker"), ValueError),
        (lambda: untyped.NamespaceFilter("some", "", False), ValueError),
        (lambda: untyped.NamespaceFilter("all", "a", False), ValueError),
        (lambda: untyped.NamespaceFilter("exact", "a", True), ValueError),
        (lambda: untyped.Apply("p", 1), TypeError),
        (lambda: untyped.Apply("\ud800", "{}"), ValueError),
        (lambda: untyped.Apply("p"), TypeError),
        (lambda: untyped.Reset([untyped.Delete("p")], 0), TypeError),
        (lambda: untyped.RejectedEntry(SUM, "text", 0.0, []), TypeError),
        (lambda: untyped.CardDifference("f", math.nan, None), ValueError),
        (lambda: untyped.CardDifference("f", object(), None), TypeError),
        (lambda: untyped.CardDifference("f", {1: 2}, None), TypeError),
        (untyped.ModelCard, TypeError),
        (lambda: untyped.ModelCard.from_json(1), TypeError),
        (lambda: untyped.ModelCard.from_json("{}", "1.2"), workerset.ConfigError),
        (lambda: untyped.explain(CARD, None), TypeError),
        (lambda: untyped.evaluate_readiness([None]), TypeError),
    ],
)
def test_a_value_that_a_record_cannot_have_is_refused(make: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested too deeply"):
        workerset.CardDifference("f", endless, None)


def test_a_batch_with_something_foreign_in_it_takes_nothing() -> None:
    world = World()
    foreign: list[Any] = [*join(1), "text"]
    with pytest.raises(TypeError, match=r"events\[2\].*str"):
        world.controller.apply(foreign, now=0.0)
    with pytest.raises(ValueError, match=r"events\[0\].*Reset"):
        world.controller.apply([workerset.Apply("v1/mdc/ns/c/e/1", None)], now=0.0)
    assert world.drain() == []
    assert world.sets() == []


def test_events_come_from_any_iterable() -> None:
    world = World()
    world.controller.apply((event for event in join(1)), now=0.0)
    assert world.members() == ["ns/c/e/1"]


def test_the_error_of_an_iterable_comes_through() -> None:
    def events() -> Any:
        yield base(1)
        raise ZeroDivisionError

    world = World()
    with pytest.raises(ZeroDivisionError):
        world.controller.apply(events(), now=0.0)
    assert world.sets() == []


@pytest.mark.parametrize("now", [math.nan, math.inf, -math.inf])
def test_a_time_is_finite(now: float) -> None:
    with pytest.raises(ValueError, match="now"):
        World().controller.advance(now=now)


def test_a_source_state_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="live, lost or ended"):
        World().controller.source_changed("up", now=0.0)


def test_times_go_by_name() -> None:
    controller: Any = World().controller
    with pytest.raises(TypeError):
        controller.advance(1.0)
