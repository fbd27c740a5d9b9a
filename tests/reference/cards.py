"""The cards that tests use, each with the facts about it that the contract speaks of.

The checksum is the one fact that is taken from the product; the sums themselves are held against the real wheels elsewhere.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import workerset

FLAGS = (
    "Chat Completions Embedding TensorBased Prefill Images Audios Videos Realtime Classify Pooling"
).split()
KEY_NAMES = (
    "chat completions embedding tensor prefill images audios videos realtime classify pooling"
).split()

# Hashed fields in the order in which differences are listed (API section 1).
HASHED = (
    "display_name source_path model_info tokenizer prompt_formatter chat_template_file gen_config extra_files "
    "prompt_context context_length kv_cache_block_size worker_type needs aliases router_config"
).split()

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies of a model share its cards."""
        return facts_of, (self.label,)


_by_text: dict[str, CardFacts] = {}


def facts_of(text: str) -> CardFacts:
    """Return the facts of a card whose JSON was given to :func:`facts` before, or work them out."""
    known = _by_text.get(text)
    return facts(json.loads(text)) if known is None else known


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
    tokens = [token.strip() for token in str(card.get("model_type", "")).split("|")]
    bits = [index for index, flag in enumerate(FLAGS) if flag in tokens]
    worker_type = card.get("worker_type")
    needs = card.get("needs", [])
    if worker_type is None and "Prefill" in tokens:
        worker_type, needs = "prefill", needs or [["decode"]]
    router = card.get("router_config") or {}
    runtime = card.get("runtime_config", {})
    hashed = {**card, "worker_type": worker_type, "needs": needs, "aliases": card.get("aliases", [])}
    return CardFacts(
        label=text,
        checksum=checksum,
        display_name=card.get("display_name", ""),
        aliases=tuple(card.get("aliases", [])),
        types="|".join(KEY_NAMES[bit] for bit in bits),
        worker_type=worker_type,
        needs=tuple(tuple(alternative) for alternative in needs),
        is_adapter=card.get("lora") is not None,
        enforce_disagg=bool(router.get("enforce_disagg", False)),
        hands_off=runtime.get("runtime_data", {}).get("encoder_result_handoff") is True,
        hashed=tuple(json.dumps(hashed.get(name), sort_keys=True) for name in HASHED),
    )
