"""`ModelCard` at the boundary: what goes in, what attributes come out, identity and pickling."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import workerset
from tests.contract.world import World, card

ROUTER = {"router_mode": "k_v", "kv_router_config": {}, "load_threshold_config": {}}


def decode(profile: str = "1.6", **fields: Any) -> workerset.ModelCard:
    return workerset.ModelCard.from_json(json.dumps(card(**fields)), profile)


def test_bytes_and_text_decode_alike_and_raw_is_the_bytes() -> None:
    text = json.dumps(card(display_name="é"), ensure_ascii=False)
    from_text = workerset.ModelCard.from_json(text)
    assert from_text == workerset.ModelCard.from_json(text.encode())
    assert from_text.raw == text.encode()


def test_attributes_of_a_card() -> None:
    decoded = decode(
        aliases=["a", "b"],
        worker_type="decode",
        needs=[["prefill"], ["encode", "prefill"]],
        router_config=ROUTER,
        source_path="path",
        user_data={"k": [1]},
        model_type="Chat | Completions",
    )
    assert decoded.profile == "1.6"
    assert decoded.display_name == "m"
    assert decoded.aliases == ("a", "b")
    assert decoded.model_type == "Chat | Completions"
    assert decoded.model_types == "chat|completions"
    assert decoded.model_input == "Text"
    assert decoded.worker_type == decoded.effective_worker_type == "decode"
    assert decoded.needs == (("prefill",), ("encode", "prefill"))
    assert decoded.kv_cache_block_size == 16
    assert decoded.context_length == 4096
    assert decoded.migration_limit == 0
    assert decoded.router_mode == "k_v"
    assert decoded.source_path == "path"
    assert decoded.slug == "m"
    assert decoded.metadata_cache_key == f"m/{decoded.mdcsum}"
    assert decoded.user_data == {"k": [1]}
    assert decoded.router_config is not None
    assert decoded.router_config["kv_router_config"]["router_ttl_secs"] == 120.0
    assert decoded.runtime_config == decoded.to_dict()["runtime_config"]
    assert len(decoded.mdcsum) == len(decoded.projection_fingerprint()) == 64


def test_what_a_card_does_not_say_is_none() -> None:
    decoded = decode(worker_type=None)
    assert decoded.worker_type is None
    assert decoded.effective_worker_type == "aggregated"
    for name in ("lora", "router_config", "router_mode", "source_path", "tokenizer", "model_info", "gen_config"):
        assert getattr(decoded, name) is None, name
    for name in ("prompt_formatter", "chat_template_file", "user_data"):
        assert getattr(decoded, name) is None, name
    assert decoded.aliases == ()
    assert decoded.needs == ()


def test_an_adapters_card_names_it() -> None:
    assert decode(lora={"name": "l", "max_gpu_lora_count": 2}).lora == {"name": "l", "max_gpu_lora_count": 2}


def test_mappings_are_copies() -> None:
    decoded = decode(router_config=ROUTER)
    before = decoded.to_dict()
    assert decoded.router_config is not None
    decoded.router_config.clear()
    decoded.runtime_config.clear()
    decoded.to_dict().clear()
    assert decoded.to_dict() == before


def test_cards_are_equal_by_bytes_release_and_content() -> None:
    one, same = decode(), decode()
    assert one == same
    assert hash(one) == hash(same)
    assert one != decode("1.5")
    assert one != decode(context=8192)
    assert one != workerset.ModelCard.from_json(json.dumps(card(), indent=1))
    normalized = one.normalized("fastokens", tokenizer_fallback=True)
    assert normalized != one
    assert normalized.mdcsum == one.mdcsum
    assert normalized == same.normalized("fastokens", tokenizer_fallback=True)
    assert one.normalized() == one


@pytest.mark.parametrize("profile", ["1.3", "1.4", "1.5", "1.6"])
def test_cards_pickle_with_their_release(profile: str) -> None:
    decoded = decode(profile)
    restored = pickle.loads(pickle.dumps(decoded))
    assert restored == decoded
    assert restored.profile == profile


def test_a_normalised_card_pickles_as_what_it_became() -> None:
    legacy = decode(worker_type=None, model_type="Prefill", model_input="Tokens")
    for normalized in (legacy.normalized(), legacy.normalized("fastokens", tokenizer_fallback=False)):
        assert normalized != legacy
        restored = pickle.loads(pickle.dumps(normalized))
        assert restored == normalized
        assert restored.needs == (("decode",),)
        assert restored.runtime_config == normalized.runtime_config


def test_a_card_that_only_discovery_decodes_pickles() -> None:
    """Text that names a field twice is no card; in a record the last value counts (WIRE 0)."""
    text = json.dumps(card()).replace('"slug": "m"', '"slug": "other", "slug": "m"')
    with pytest.raises(workerset.CardError):
        workerset.ModelCard.from_json(text)
    record = json.dumps(
        {"type": "Model", "namespace": "ns", "component": "c", "endpoint": "e", "instance_id": 1, "card_json": 0}
    )
    outputs = World().apply(workerset.Apply("v1/mdc/ns/c/e/1", record.replace(": 0", f": {text}")))
    (start,) = (output for output in outputs if isinstance(output, workerset.StartBuild))
    assert start.spec.card.slug == "m"
    assert pickle.loads(pickle.dumps(start)) == start


def test_policy_files_are_refused_unless_the_caller_knows_them() -> None:
    named = {**ROUTER, "kv_router_config": {"router_policy_config": "/p.yaml"}}
    text = json.dumps(card(router_config=named))
    for accepted in ("accept", frozenset({"/p.yaml"}), {"/p.yaml"}):
        assert workerset.ModelCard.from_json(text, router_policy_files=accepted).router_mode == "k_v"
    for refused in ("refuse", frozenset({"/other.yaml"})):
        with pytest.raises(workerset.CardError) as caught:
            workerset.ModelCard.from_json(text, router_policy_files=refused)
        assert caught.value.field.startswith("router_config")
    accepted_card = workerset.ModelCard.from_json(text, router_policy_files="accept")
    assert pickle.loads(pickle.dumps(accepted_card)) == accepted_card


def test_explain_names_the_fields_that_feed_the_checksum() -> None:
    assert workerset.explain(decode(), decode(user_data=1)) == ()
    assert workerset.explain(decode(), decode(context=8192)) == (
        workerset.CardDifference("context_length", 4096, 8192),
    )
    with pytest.raises(workerset.CardError, match=r"1\.6 and 1\.5"):
        workerset.explain(decode(), decode("1.5"))


def test_numbers_of_a_card_come_out_exactly() -> None:
    data = {"big": 2**64 - 1, "small": -(2**63), "float": 0.1, "deep": [[[{}]]], "text": "\ud7ff\U0001f600", "no": None}
    assert decode(user_data=data).user_data == data
