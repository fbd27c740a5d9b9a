"""Records as Dynamo 1.6 workers write them."""

import json
from typing import Any

MODEL = "m"


def card(model: str = MODEL, block_size: int = 16, **fields: Any) -> dict[str, Any]:
    """A card that needs no files."""
    whole: dict[str, Any] = {
        "display_name": model,
        "slug": model,
        "source_path": f"/models/{model}",
        "context_length": 4096,
        "kv_cache_block_size": block_size,
        "migration_limit": 0,
        "model_type": "Chat | Completions",
        "model_input": "Tokens",
        "worker_type": "aggregated",
        "needs": [],
        "runtime_config": {},
    }
    return whole | fields


def place(instance_id: int, namespace: str = "ns", component: str = "backend", endpoint: str = "generate") -> str:
    """An instance key."""
    return f"{namespace}/{component}/{endpoint}/{instance_id:x}"


def card_record(key: str, content: dict[str, Any]) -> bytes:
    """The record of a base card under an instance key."""
    return compact({"type": "Model"} | _named(key) | {"card_json": content})


def endpoint_record(key: str) -> bytes:
    """The endpoint record under an instance key."""
    return compact({"type": "Endpoint"} | _named(key) | {"transport": {"tcp": f"127.0.0.1:9000/{key}"}})


def worker(instance_id: int, content: dict[str, Any] | None = None, **where: str) -> dict[str, bytes]:
    """Both records of one worker, by path."""
    key = place(instance_id, **where)
    content = card() if content is None else content
    return {f"v1/mdc/{key}": card_record(key, content), f"v1/instances/{key}": endpoint_record(key)}


def compact(value: Any) -> bytes:
    """Compact JSON."""
    return json.dumps(value, separators=(",", ":")).encode()


def _named(key: str) -> dict[str, Any]:
    namespace, component, endpoint, instance_id = key.split("/")
    return {
        "namespace": namespace,
        "component": component,
        "endpoint": endpoint,
        "instance_id": int(instance_id, 16),
    }
