"""Workers of any role at any place: what the reports' stories need beside `tests.contract.world`."""

from __future__ import annotations

import json
from typing import Any

import workerset
from tests.contract.world import Event, Output, World, base, card, instance, of
from workerset import Apply, Delete

ROLES: dict[str, dict[str, Any]] = {
    "aggregated": {},
    "decode": {"worker_type": "decode"},
    "prefill": {"worker_type": "prefill", "model_type": "Prefill", "model_input": "Tokens"},
    "encode": {"worker_type": "encode", "model_type": "", "model_input": "Tokens"},
}


def role(name: str, model: str = "m", **fields: Any) -> dict[str, Any]:
    """A card of that role."""
    return card(model, **{**ROLES[name], **fields})


def arrive(worker: int, content: dict[str, Any], **place: str) -> list[Apply]:
    """Both records of a worker with that card, at a place such as `namespace="g1", component="p"`."""
    return [instance(worker, **place), base(worker, content, **place)]


def depart(worker: int, **place: str) -> list[Delete]:
    """Take both records away."""
    return [Delete(event.path) for event in (base(worker, None, **place), instance(worker, **place))]


def adapter_at(worker: int, name: str, **place: str) -> Apply:
    """The record of an adapter that a worker at that place carries."""
    below = base(worker, card(name, lora={"name": name}), **place)
    value = json.loads(str(below.value)) | {"model_suffix": name}
    return Apply(f"{below.path}/{name}", json.dumps(value))


def drop_adapter(worker: int, name: str, **place: str) -> Delete:
    """Take an adapter's record away."""
    return Delete(adapter_at(worker, name, **place).path)


def builds(outputs: list[Output]) -> list[int]:
    """Generations of the builds that were asked for."""
    return [start.spec.generation for start in of(outputs, workerset.StartBuild)]


def rejected(world: World) -> list[list[str]]:
    """Members of the rejected cohorts of the only set, in cohort order."""
    return [cohort["members"] for cohort in world.only_set()["rejected"]]


def steps(world: World, *events: Event) -> list[Output]:
    """Apply the events one by one, a call each."""
    return [output for event in events for output in world.apply(event)]
