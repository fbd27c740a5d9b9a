"""Records as Dynamo workers write them, and a controller that has committed one WorkerSet of them."""

import hashlib
import json
from typing import Any

import workerset

MODEL = "bench/model"
PLACE = "bench/backend/generate"
FIRST_ID = 0x4A0E_0000_0000_0000


def _file(name: str) -> dict[str, object]:
    checksum = "blake3:" + hashlib.sha256(name.encode()).hexdigest()
    return {"path": f"/models/bench/{name}", "checksum": checksum, "size": 4096}


def card(router_mode: str = "round_robin", **fields: object) -> dict[str, Any]:
    """A card of about 1.7 kB with everything that a worker with a local model publishes."""
    base: dict[str, Any] = {
        "display_name": MODEL,
        "slug": "bench_model",
        "source_path": "/models/bench",
        "model_info": {"hf_config_json": _file("config.json")},
        "tokenizer": {"hf_tokenizer_json": _file("tokenizer.json")},
        "prompt_formatter": {"hf_tokenizer_config_json": _file("tokenizer_config.json")},
        "gen_config": {"hf_generation_config_json": _file("generation_config.json")},
        "context_length": 32768,
        "kv_cache_block_size": 16,
        "migration_limit": 3,
        "model_type": "Chat | Completions",
        "model_input": "Tokens",
        "worker_type": "aggregated",
        "needs": [],
        "runtime_config": {
            "context_length": 32768,
            "total_kv_blocks": 24064,
            "max_num_seqs": 256,
            "max_num_batched_tokens": 8192,
            "tool_call_parser": "hermes",
            "reasoning_parser": None,
            "data_parallel_start_rank": 0,
            "data_parallel_size": 1,
            "enable_local_indexer": True,
            "runtime_data": {"vllm_inference_v1_generate": True},
        },
        "router_config": {
            "router_mode": router_mode,
            "kv_router_config": {"router_temperature": 0.0, "use_kv_events": True, "router_event_threads": 4},
            "load_threshold_config": {"active_decode_blocks_threshold": 0.9},
            "enforce_disagg": False,
        },
        "extra_files": [_file("vocab.json"), _file("merges.txt")],
    }
    return base | fields


def records(index: int, model_card: dict[str, Any]) -> list[workerset.Apply]:
    """The two records of one worker: its endpoint, then its card."""
    instance = FIRST_ID + index
    component, endpoint = PLACE.split("/")[1:]
    place = {"namespace": "bench", "component": component, "endpoint": endpoint, "instance_id": instance}
    transport = {"tcp": f"127.0.0.1:{40000 + index % 20000}/{instance:x}/{PLACE}"}
    live = {
        "type": "Endpoint",
        **place,
        "transport": transport,
        "device_type": "cuda",
        "request_plane_codec": "msgpack",
    }
    model = {"type": "Model", **place, "card_json": model_card}
    return [
        workerset.Apply(f"v1/{bucket}/{PLACE}/{instance:x}", json.dumps(value, separators=(",", ":")).encode())
        for bucket, value in (("instances", live), ("mdc", model))
    ]


def drain(controller: workerset.AdmissionController, now: float) -> None:
    """Take everything that the controller says; every build succeeds at once."""
    while (said := controller.poll()) is not None:
        if isinstance(said, workerset.StartBuild):
            controller.build_succeeded(said.spec.token, now=now)


def controller_with(count: int, router_mode: str = "round_robin") -> workerset.AdmissionController:
    """A controller with one committed WorkerSet of that many workers."""
    controller = workerset.AdmissionController(workerset.AdmissionConfig())
    model_card = card(router_mode)
    controller.apply([record for index in range(count) for record in records(index, model_card)], now=0.0)
    drain(controller, 0.0)
    return controller
