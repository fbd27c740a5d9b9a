"""The cards that tests use, each with the facts about it that the contract speaks of.

The checksum is the one fact that is taken from the product; other tests hold the sums against the real wheels.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import workerset

KEY_NAMES = {
    "Chat": "chat",
    "Completions": "completions",
    "Embedding": "embedding",
    "TensorBased": "tensor",
    "Prefill": "prefill",
    "Images": "images",
    "Audios": "audios",
    "Videos": "videos",
    "Realtime": "realtime",
    "Classify": "classify",
    "Pooling": "pooling",
}
"""Model types in bit order, and what they are called in keys (WIRE 5)."""

# Hashed fields in the order in which differences are listed (API section 1).
HASHED = (
    "display_name",
    "source_path",
    "prompt_context",
    "context_length",
    "kv_cache_block_size",
    "worker_type",
    "needs",
    "aliases",
    "router_config",
)

Needs = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class CardFacts:
    """What a card says, as the contract sees it after the discovery boundary (WIRE 4)."""

    label: str
    checksum: str | None
    """None: the boundary refuses the card."""
    display_name: str
    aliases: tuple[str, ...]
    types: str
    """Key text of the model types."""
    worker_type: str | None
    """As declared, after the legacy prefill topology; None: a legacy card."""
    needs: Needs
    is_adapter: bool
    enforce_disagg: bool
    hands_off: bool
    """Takes encoder results (ROUTING section 1)."""
    hashed: tuple[object, ...]

    @property
    def role(self) -> str:
        """The effective role (WIRE 4)."""
        return self.worker_type or "aggregated"


_by_text: dict[str, CardFacts] = {}


@cache
def facts_of(text: str | bytes) -> CardFacts:
    """Work out, once for each text, what a card says."""
    return facts(json.loads(text))


def facts(card: dict[str, Any]) -> CardFacts:
    """Work out, once for each distinct card, what it says."""
    text = json.dumps(card, sort_keys=True)
    if text not in _by_text:
        _by_text[text] = _read(card, text)
    return _by_text[text]


def differing(a: CardFacts, b: CardFacts) -> tuple[str, ...]:
    """Names of the hashed fields that differ."""
    return tuple(name for name, left, right in zip(HASHED, a.hashed, b.hashed, strict=True) if left != right)


def _read(card: dict[str, Any], text: str) -> CardFacts:
    try:
        checksum = workerset.ModelCard.from_json(text).normalized().mdcsum
    except workerset.CardError:
        checksum = None
    tokens = {token.strip() for token in str(card.get("model_type", "")).split("|")} - {""}
    worker_type = card.get("worker_type")
    needs = card.get("needs", [])
    if worker_type is None and "Prefill" in tokens:
        worker_type, needs = "prefill", needs or [["decode"]]
    if not _has_shape(card, tokens, worker_type or "aggregated"):
        checksum = None
    router = card.get("router_config") or {}
    runtime = card.get("runtime_config", {})
    hashed = {**card, "worker_type": worker_type, "needs": needs, "aliases": card.get("aliases", [])}
    return CardFacts(
        label=text,
        checksum=checksum,
        display_name=card.get("display_name", ""),
        aliases=tuple(card.get("aliases", [])),
        types="|".join(name for flag, name in KEY_NAMES.items() if flag in tokens),
        worker_type=worker_type,
        needs=tuple(tuple(alternative) for alternative in needs),
        is_adapter=card.get("lora") is not None,
        enforce_disagg=bool(router.get("enforce_disagg", False)),
        hands_off=runtime.get("runtime_data", {}).get("encoder_result_handoff") is True,
        hashed=tuple(json.dumps(hashed.get(name), sort_keys=True) for name in HASHED),
    )


def _has_shape(card: dict[str, Any], flags: set[str], role: str) -> bool:
    """The boundary's shape validation (WIRE 4c)."""
    model_input = card.get("model_input")
    if not card.get("display_name"):
        return False
    if role == "prefill":
        return model_input == "Tokens"
    if role == "encode" and not flags:
        return model_input == "Tokens"
    if model_input == "Tokens":
        return not flags or bool(flags & {"Chat", "Completions", "Embedding"})
    return not flags or model_input == "Text" or (model_input == "Tensor" and "TensorBased" in flags)
