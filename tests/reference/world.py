"""Cards, places and records that the property tests draw from."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from workerset import Apply

from .cards import facts


class Place(NamedTuple):
    """Where a worker registers."""

    namespace: str
    component: str
    endpoint: str
    instance_id: int

    @property
    def key(self) -> str:
        """The instance key."""
        return f"{self.namespace}/{self.component}/{self.endpoint}/{self.instance_id:x}"

    @property
    def card_path(self) -> str:
        """Path of the card record."""
        return f"v1/mdc/{self.key}"

    @property
    def instance_path(self) -> str:
        """Path of the endpoint record."""
        return f"v1/instances/{self.key}"


def card(name: str, context: int = 4096, **fields: Any) -> dict[str, Any]:
    """Return a card; the context length tells one checksum from another."""
    made = {
        "display_name": name,
        "slug": "s",
        "kv_cache_block_size": 16,
        "migration_limit": 0,
        "model_type": "Chat",
        "model_input": "Tokens",
        "worker_type": "aggregated",
        "context_length": context,
        **fields,
    }
    return {name: value for name, value in made.items() if value is not None}


ROUTER = {"router_mode": "round_robin", "kv_router_config": {}, "load_threshold_config": {}, "enforce_disagg": True}

PREFILL: dict[str, Any] = {"model_type": "Prefill", "worker_type": "prefill", "needs": [["decode"]]}
DECODE: dict[str, Any] = {"worker_type": "decode", "needs": [["prefill"]]}
ENCODE: dict[str, Any] = {"model_type": "", "worker_type": "encode"}

M = [
    card("m"),
    card("m", 8192),
    card("m", 1024, kv_cache_block_size=32),
    card("m", migration_limit=1),  # an update of the first
    card("m", model_type="Chat | Completions"),  # the first's checksum in another set
    card("m", aliases=["x"]),
    card("m", worker_type=None),  # a legacy card
]
N = [card("n"), card("n", aliases=["x", "y"]), card("n", 8192, aliases=["m"]), card("x"), card("y", aliases=["n"])]
P = [
    card("p", **DECODE),
    card("p", 8192, **DECODE),
    card("p", worker_type="decode"),
    card("p", worker_type="decode", router_config=ROUTER),
    card("p", **PREFILL),
    card("p", 8192, **PREFILL),
    card("p", model_type="Prefill", worker_type=None),  # becomes the first prefill card
    card("p", **ENCODE),
    card("p", runtime_config={"runtime_data": {"encoder_result_handoff": True}}),
]
UNUSABLE = [card(""), card("m", kv_cache_block_size=-1), card("m", model_type="", model_input="Tensor")]
ADAPTERS = [
    card(name, lora={"name": name}, migration_limit=limit) for name in ("lora", "lorb", "m", "x") for limit in (0, 1)
]

WORKERS = [Place("ns", "c", "e", number) for number in (1, 2, 3, 16)]
OTHERS = [Place("ns", "c", "e2", 1), Place("ns", "c", "e2", 2), Place("ns", "c", "e3", 1)]
NAMESPACES = [Place("ns", "c", "e", 1), Place("ns-0123abcd", "c", "e", 1), Place("ns-out", "c", "e", 1)]
DECODERS = [Place("ns", "d", "e", 1), Place("ns", "d", "e", 2)]
PREFILLERS = [Place("ns", "p", "e", 1), Place("ns", "p", "e", 2)]

Theme = dict[Place, list[dict[str, Any]]]
THEMES: dict[str, Theme] = {
    "cohorts": {place: [M[0], M[0], M[3], M[1], M[1], M[2]] for place in WORKERS},
    "sets": dict.fromkeys([*WORKERS, OTHERS[-1]], M),
    "names": {WORKERS[0]: [M[5], M[0]], **dict.fromkeys(OTHERS, N)},
    "roles": {
        **dict.fromkeys(DECODERS, P[:4]),
        **dict.fromkeys(PREFILLERS, P[4:7]),
        Place("ns", "q", "e", 1): P,
    },
    "namespaces": dict.fromkeys(NAMESPACES, M),
    "everything": {
        **dict.fromkeys([*WORKERS, *NAMESPACES], M),
        **{place: [*N, *M] for place in OTHERS},
        **dict.fromkeys([*DECODERS, *PREFILLERS], P),
    },
}
"""Places that have something to do with each other, and the cards that their workers publish."""

TRANSPORTS: tuple[Any, ...] = (None, {}, "", [], 5, {"tcp": ""}, {"tcp": None}, {"a": "x", "b": "x"}, {"a": "x"})
"""Of these only the last one is a transport (R8)."""

NAMES = ("m", "n", "p", "x", "y", "lora", "lorb", "unheard")


def base(place: Place, content: dict[str, Any], **how: Any) -> Apply:
    """Return the card record of a worker."""
    facts(content)
    return Apply(place.card_path, _record("Model", place, card_json=content), **how)


def adapter(place: Place, content: dict[str, Any], suffix: str, **how: Any) -> Apply:
    """Return the record of an adapter that a worker carries."""
    value = _record("Model", place, card_json=content, model_suffix=suffix)
    return Apply(f"{place.card_path}/{suffix}", value, **how)


def instance(place: Place, transport: str = "a", **how: Any) -> Apply:
    """Return the endpoint record of a worker."""
    return endpoint(place, {"tcp": transport}, **how)


def endpoint(place: Place, transport: Any, **how: Any) -> Apply:
    """Return an endpoint record whose transport may be anything."""
    return Apply(place.instance_path, _record("Endpoint", place, transport=transport), **how)


def _record(kind: str, place: Place, **rest: Any) -> str:
    return json.dumps({"type": kind, **place._asdict(), **rest})
