"""The cards that the systematic set and the generator start from."""

import hashlib
from typing import Any

Card = dict[str, Any]

# In the order in which Dynamo 1.6 declares the fields: a struct may also be written as an array in this order.
FIELDS = (
    "display_name",
    "slug",
    "source_path",
    "model_info",
    "tokenizer",
    "prompt_formatter",
    "chat_template_file",
    "gen_config",
    "prompt_context",
    "architectural_max_context_length",
    "context_length",
    "kv_cache_block_size",
    "migration_limit",
    "model_type",
    "model_input",
    "worker_type",
    "needs",
    "lora",
    "aliases",
    "user_data",
    "runtime_config",
    "tensor_model_config",
    "media_decoder",
    "media_fetcher",
    "router_config",
    "indexer_identity",
    "extra_files",
)

MODEL_TYPES = (
    "Chat",
    "Completions",
    "Embedding",
    "TensorBased",
    "Prefill",
    "Images",
    "Audios",
    "Videos",
    "Realtime",
    "Classify",
    "Pooling",
)
WORKER_TYPES = ("prefill", "decode", "encode", "aggregated")
ROUTER_MODES = (
    "round_robin",
    "random",
    "power_of_two_choices",
    "k_v",
    "direct",
    "least_loaded",
    "device_aware_weighted",
)


def digest(seed: object) -> str:
    """A checksum as files carry it, fixed by the seed."""
    return "blake3:" + hashlib.sha256(repr(seed).encode()).hexdigest()


def file(path: str, seed: object = None) -> Card:
    """A file entry."""
    return {"path": path, "checksum": digest(path if seed is None else seed)}


MINIMAL: Card = {
    "display_name": "org/model-a",
    "slug": "org_model-a",
    "kv_cache_block_size": 16,
    "migration_limit": 0,
    "model_type": "Chat",
    "model_input": "Tokens",
}

ROUTER: Card = {"router_mode": "k_v", "kv_router_config": {}, "load_threshold_config": {}}

FULL: Card = {
    "display_name": "org/model-b",
    "slug": "org_model-b",
    "source_path": "/models/b",
    "model_info": {"hf_config_json": file("/models/b/config.json")},
    "tokenizer": {"hf_tokenizer_json": file("/models/b/tokenizer.json")},
    "prompt_formatter": {"hf_tokenizer_config_json": file("/models/b/tokenizer_config.json")},
    "chat_template_file": {
        "hf_chat_template": {"is_custom": False, "file": file("/models/b/chat_template.jinja")},
    },
    "gen_config": {"hf_generation_config_json": file("/models/b/generation_config.json")},
    "prompt_context": ["oai_chat"],
    "architectural_max_context_length": 32768,
    "context_length": 16384,
    "kv_cache_block_size": 64,
    "migration_limit": 3,
    "model_type": "Chat | Completions",
    "model_input": "Tokens",
    "worker_type": "decode",
    "needs": [["prefill"]],
    "aliases": ["model-b", "b"],
    "user_data": {"owner": "team", "n": [1, 2.5, None]},
    "runtime_config": {
        "context_length": 8192,
        "total_kv_blocks": 4096,
        "max_num_seqs": 256,
        "max_num_batched_tokens": 8192,
        "max_gpu_lora_count": 4,
        "tool_call_parser": "hermes",
        "runtime_data": {"vllm_inference_v1_generate": True, "seen": 1},
        "taints": ["t"],
    },
    "router_config": {
        "router_mode": "k_v",
        "kv_router_config": {"router_temperature": 0.5, "use_kv_events": False},
        "load_threshold_config": {"active_decode_blocks_threshold": 0.9},
        "enforce_disagg": True,
    },
    "indexer_identity": {"semantics": {"hash": "xxh3"}, "routing_scope": {"pool": "a", "area": "b"}},
    "extra_files": [file("/models/b/vocab.json"), file("https://models.invalid/b/merges.txt")],
}

BASES: dict[str, Card] = {"minimal": MINIMAL, "full": FULL, "router": {**MINIMAL, "router_config": ROUTER}}
