"""Workers for the demo: registered in a file store exactly as Dynamo 1.6 workers do, and kept alive by touches."""

from __future__ import annotations

import json
import os
import secrets
from typing import TYPE_CHECKING, Any

from workerset.discovery._file_store import encode_name

if TYPE_CHECKING:
    from pathlib import Path

NAMESPACE, COMPONENT, ENDPOINT = "demo", "backend", "generate"


class StoreWriter:
    """Writes and removes registrations. Files are never seen half written.

    Args:
        root: the folder that holds `v1`.

    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def register(self, instance_id: int, model: str, block_size: int) -> None:
        """Write the endpoint record and the card of one worker."""
        name = {"namespace": NAMESPACE, "component": COMPONENT, "endpoint": ENDPOINT, "instance_id": instance_id}
        transport = {"tcp": f"127.0.0.1:9000/{instance_id:x}/{NAMESPACE}/{COMPONENT}/{ENDPOINT}"}
        endpoint = {"type": "Endpoint"} | name | {"transport": transport, "device_type": "cuda"}
        self._create("instances", instance_id, endpoint | {"request_plane_codec": "msgpack"})
        self._create("mdc", instance_id, {"type": "Model"} | name | {"card_json": _card(model, block_size)})

    def remove(self, instance_id: int) -> None:
        """Remove both, as a worker that shuts down does."""
        for bucket in ("mdc", "instances"):
            self._file(bucket, instance_id).unlink()

    def touch(self) -> None:
        """Give every registration its sign of life."""
        for file in self._root.glob("v1/*/*"):
            os.utime(file)

    def _create(self, bucket: str, instance_id: int, record: dict[str, Any]) -> None:
        file = self._file(bucket, instance_id)
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.parent / f".tmp_{secrets.token_hex(8)}"
        temporary.write_text(json.dumps(record, separators=(",", ":")), encoding="utf-8")
        file.hardlink_to(temporary)
        temporary.unlink()

    def _file(self, bucket: str, instance_id: int) -> Path:
        return self._root / "v1" / bucket / encode_name(f"{NAMESPACE}/{COMPONENT}/{ENDPOINT}/{instance_id:x}")


def _card(model: str, block_size: int) -> dict[str, Any]:
    def file(name: str, digit: str) -> dict[str, Any]:
        return {"path": f"/models/{model}/{name}", "checksum": f"blake3:{digit * 64}", "size": 1024}

    return {
        "display_name": model,
        "slug": model,
        "source_path": f"/models/{model}",
        "model_info": {"hf_config_json": file("config.json", "1")},
        "tokenizer": {"hf_tokenizer_json": file("tokenizer.json", "2")},
        "prompt_formatter": {"hf_tokenizer_config_json": file("tokenizer_config.json", "3")},
        "gen_config": {"hf_generation_config_json": file("generation_config.json", "4")},
        "architectural_max_context_length": 4096,
        "context_length": 4096,
        "kv_cache_block_size": block_size,
        "migration_limit": 0,
        "model_type": "Chat | Completions",
        "model_input": "Tokens",
        "worker_type": "aggregated",
        "needs": [],
        "runtime_config": {"total_kv_blocks": 2048, "max_num_seqs": 256, "enable_local_indexer": True},
        "media_decoder": None,
        "media_fetcher": None,
    }
