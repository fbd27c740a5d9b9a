"""Clause R8: nobody is routable whom nobody can dial."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workerset
from workerset import Apply

from .world import World, base, instance, of

PATH = "v1/instances/ns/c/e/1"
MISSING = object()
UNUSABLE = [
    (MISSING, "transport is missing"),
    (None, "transport is null, not an object"),
    ({}, "transport is {}, it names no kind and no address"),
    ("", 'transport is "", not an object'),
    ("tcp", 'transport is "tcp", not an object'),
    ([], "transport is [], not an object"),
    (["tcp"], 'transport is ["tcp"], not an object'),
    (5, "transport is 5, not an object"),
    (True, "transport is true, not an object"),
    ({"tcp": ""}, 'transport tcp is "", not an address'),
    ({"tcp": None}, "transport tcp is null, not an address"),
    ({"tcp": 9000}, "transport tcp is 9000, not an address"),
    ({"tcp": {"host": "h"}}, 'transport tcp is {"host":"h"}, not an address'),
    ({"http": ""}, 'transport http is "", not an address'),
    ({"nats_tcp": "a", "tcp": "b"}, 'transport is {"nats_tcp":"a","tcp":"b"}, it names more than one kind'),
    ({"tcp": "b", "x": ""}, 'transport is {"tcp":"b","x":""}, it names more than one kind'),
]


def record(transport: Any) -> Apply:
    value: dict[str, Any] = json.loads(instance(1).value or "")
    del value["transport"]
    return Apply(PATH, json.dumps(value if transport is MISSING else value | {"transport": transport}))


@pytest.mark.parametrize(("transport", "reason"), UNUSABLE, ids=lambda value: str(value)[:40])
def test_r8_a_transport_that_nobody_can_dial_makes_nobody_routable(transport: Any, reason: str) -> None:
    world = World()
    outputs = world.serving(base(1), record(transport))
    (refusal,) = of(outputs, workerset.RecordRefused)
    assert (refusal.key, refusal.reason) == (PATH, reason)
    assert world.refused() == {PATH: reason}
    assert (world.only_set()["admitted"], world.only_set()["routable"], world.only_set()["transports"]) == ([1], [], [])
    with pytest.raises(workerset.NotReady):
        world.controller.route("m")


@pytest.mark.parametrize(("transport", "reason"), UNUSABLE, ids=lambda value: str(value)[:40])
def test_r8_r7_in_an_update_of_a_live_worker_the_last_valid_transport_stays(transport: Any, reason: str) -> None:
    world = World()
    world.serving(base(1), record({"tcp": "h:1"}))
    hop = world.controller.route("m").decode
    outputs = world.apply(record(transport))
    assert [(refusal.key, refusal.reason) for refusal in of(outputs, workerset.RecordRefused)] == [(PATH, reason)]
    worker = hop.worker(hop.pick())
    assert worker is not None and worker.transport == {"tcp": "h:1"}
    assert world.only_set()["transports"] == ["tcp"]

    world.apply(record({"tcp": "h:2"}))
    worker = hop.worker(hop.pick())
    assert worker is not None and worker.transport == {"tcp": "h:2"}
    assert world.refused() == {}


@pytest.mark.parametrize("kind", ["tcp", "nats_tcp", "http", "a kind of tomorrow", 'odd":"kind', ""])
def test_r8_another_kind_with_an_address_is_kept_and_the_inventory_names_it(kind: str) -> None:
    world = World()
    world.serving(base(1), record({kind: "somewhere"}), base(2), instance(2))
    hop = world.controller.route("m").decode
    worker = hop.worker(1)
    assert worker is not None and worker.transport == {kind: "somewhere"}
    assert world.only_set()["transports"] == sorted({kind, "tcp"})


def test_r8_a_long_transport_is_named_in_a_short_reason() -> None:
    world = World()
    world.apply(record({"tcp": ["x" * 1_000_000]}))
    (reason,) = world.refused().values()
    assert reason.startswith('transport tcp is ["xxx') and len(reason) < 300
