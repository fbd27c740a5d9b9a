"""A controller with a clock that is set by hand, and short ways to write records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import workerset
from workerset import AdmissionConfig, AdmissionController, Apply, Delete, Reset

Output: TypeAlias = Any
Event: TypeAlias = Apply | Delete | Reset
A, B, C = 4096, 8192, 1024


class World:
    """Applies events, keeps every token by generation, and returns what each call put out."""

    def __init__(self, **config: Any) -> None:
        self.controller = AdmissionController(AdmissionConfig(**config))
        self.now = 0.0
        self.tokens: dict[int, workerset.BuildToken] = {}
        self.specs: dict[int, workerset.BuildSpec] = {}

    def apply(self, *events: Event | Iterable[Event]) -> list[Output]:
        flat: list[Event] = []
        for event in events:
            flat.extend([event] if isinstance(event, Apply | Delete | Reset) else event)
        self.controller.apply(flat, now=self.now)
        return self.drain()

    def succeed(self, generation: int, pipeline: object = None) -> workerset.BuildVerdict:
        return self.controller.build_succeeded(self.tokens[generation], pipeline, now=self.now)

    def fail(self, generation: int, reason: str = "broken") -> workerset.BuildVerdict:
        return self.controller.build_failed(self.tokens[generation], reason, now=self.now)

    def cancelled(self, generation: int) -> workerset.BuildVerdict:
        return self.controller.build_cancelled(self.tokens[generation], now=self.now)

    def advance(self, now: float) -> list[Output]:
        self.now = now
        self.controller.advance(now=now)
        return self.drain()

    def serving(self, *events: Event | Iterable[Event]) -> list[Output]:
        """Apply events and let every build succeed at once."""
        outputs = self.apply(*events)
        for start in of(outputs, workerset.StartBuild):
            self.succeed(start.spec.generation)
        return outputs + self.drain()

    def drain(self) -> list[Output]:
        outputs: list[Output] = []
        while (output := self.controller.poll()) is not None:
            if isinstance(output, workerset.StartBuild):
                self.tokens[output.spec.generation] = output.spec.token
                self.specs[output.spec.generation] = output.spec
            outputs.append(output)
        return outputs

    def sets(self) -> list[dict[str, Any]]:
        sets: list[dict[str, Any]] = self.controller.inventory(now=self.now).to_dict()["worker_sets"]
        return sets

    def only_set(self) -> dict[str, Any]:
        (one,) = self.sets()
        return one

    def refused(self) -> dict[str, str]:
        entries = self.controller.inventory(now=self.now).to_dict()["refused"]
        return {entry["key"]: entry["reason"] for entry in entries}

    def members(self) -> list[str]:
        members: list[str] = self.only_set()["incumbent"]["members"]
        return members


def of(outputs: Iterable[Output], *kinds: type) -> list[Output]:
    return [output for output in outputs if isinstance(output, kinds)]


def kinds(outputs: Iterable[Output]) -> list[str]:
    return [type(output).__name__ for output in outputs]


def card(model: str = "m", context: int = A, **fields: Any) -> dict[str, Any]:
    """Return a card whose context length tells one checksum from another."""
    return {
        "display_name": model,
        "slug": model,
        "kv_cache_block_size": 16,
        "migration_limit": 0,
        "model_type": "Chat",
        "model_input": "Text",
        "worker_type": "aggregated",
        "context_length": context,
        **fields,
    }


def checksum(content: Mapping[str, Any]) -> str:
    return workerset.ModelCard.from_json(json.dumps(content)).normalized().mdcsum


def base(  # the place is five words, each with a usual value
    worker: int,
    content: Mapping[str, Any] | None = None,
    *,
    namespace: str = "ns",
    component: str = "c",
    endpoint: str = "e",
    **where: Any,
) -> Apply:
    """Return the card record of a worker."""
    value = {
        "type": "Model",
        "namespace": namespace,
        "component": component,
        "endpoint": endpoint,
        "instance_id": worker,
        "card_json": card() if content is None else content,
    }
    return Apply(f"v1/mdc/{namespace}/{component}/{endpoint}/{worker:x}", json.dumps(value), **where)


def instance(worker: int, *, namespace: str = "ns", component: str = "c", endpoint: str = "e", **where: Any) -> Apply:
    """Return the endpoint record of a worker."""
    value = {
        "type": "Endpoint",
        "namespace": namespace,
        "component": component,
        "endpoint": endpoint,
        "instance_id": worker,
        "transport": {"tcp": f"127.0.0.1:9000/{worker:x}"},
    }
    return Apply(f"v1/instances/{namespace}/{component}/{endpoint}/{worker:x}", json.dumps(value), **where)


def adapter(worker: int, name: str = "lora", *, incarnation: str | None = None, **fields: Any) -> Apply:
    """Return the record of an adapter that a worker carries."""
    value = {
        "type": "Model",
        "namespace": "ns",
        "component": "c",
        "endpoint": "e",
        "instance_id": worker,
        "card_json": card(name, **{"lora": {"name": name}, **fields}),
        "model_suffix": name,
    }
    return Apply(f"v1/mdc/ns/c/e/{worker:x}/{name}", json.dumps(value), incarnation=incarnation)


def join(worker: int, context: int = A, **fields: Any) -> list[Apply]:
    return [instance(worker), base(worker, card(context=context, **fields))]


def leave(worker: int) -> list[Delete]:
    return [Delete(f"v1/mdc/ns/c/e/{worker:x}"), Delete(f"v1/instances/ns/c/e/{worker:x}")]
