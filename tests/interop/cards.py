"""A seeded generator of card texts, valid and invalid, that share nothing with the code under test."""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.interop.base_cards import FULL, MINIMAL, MODEL_TYPES, ROUTER, ROUTER_MODES, WORKER_TYPES, Card, digest
from tests.interop.card_values import ANY, BASENAMES, CONTRACT, RUNTIME, TEXTS, TRUTHY
from tests.interop.jsontext import Pairs, Raw, dump
from tests.interop.router_cards import CHOICES, COUNTS, FLOATS, NUMERALS, SWITCHES

UNIT = ("host_cache_hit_weight", "disk_cache_hit_weight", "shared_cache_multiplier")
UNIT_RATIO = "conditional_disagg_eff_isl_ratio_threshold"


def cards(seed: int, count: int) -> Iterator[str]:
    """`count` card texts, the same for the same seed; about half of them valid for 1.6."""
    for index in range(count):
        yield card(random.Random(f"{seed}/{index}"))


def card(rng: random.Random) -> str:
    """One card text."""
    tree: Any = dict(FULL if rng.random() < 0.3 else MINIMAL)
    for field, make in FIELD_MAKERS.items():
        if rng.random() < 0.2:
            tree[field] = make(rng)
    for _ in range(rng.choice((0, 0, 0, 0, 1, 1, 2, 4))):
        # The makers hand out shared values, which other cards use too.
        tree = copy.deepcopy(tree)
        _mutate(rng, tree)
    if rng.random() < 0.2:
        tree = dict(rng.sample(list(tree.items()), len(tree)))
    text = dump(tree, ascii_only=rng.random() < 0.3)
    return _damage(rng, text) if rng.random() < 0.03 else text


def numeral(rng: random.Random) -> Raw:
    """A number literal, often of odd length or magnitude."""
    kind = rng.randrange(6)
    if kind == 0:
        return Raw(rng.choice(NUMERALS))
    if kind == 1:
        return Raw(str(rng.choice((rng.randrange(100), rng.getrandbits(32), rng.getrandbits(63), rng.getrandbits(65)))))
    if kind == 2:
        return Raw(repr(rng.choice((rng.random(), rng.uniform(0, 1e6), rng.expovariate(1e-3)))))
    if kind == 3:
        return Raw("0." + _digits(rng, 25))
    whole = (rng.choice("123456789") + _digits(rng, 24)) if rng.random() < 0.7 else "0"
    fraction = "." + _digits(rng, 25) if rng.random() < 0.7 else ""
    exponent = (
        f"e{rng.choice(('', '+', '-'))}{rng.choice((rng.randrange(12), rng.randrange(340)))}" if kind == 5 else ""
    )
    return Raw(rng.choice(("", "", "", "", "-")) + whole + fraction + exponent)


def fraction(rng: random.Random) -> Raw:
    """A number literal from 0 to 1."""
    return rng.choice((Raw("0"), Raw("1"), Raw("-0.0"), Raw("0." + _digits(rng, 25)), Raw("0." + _digits(rng, 3))))


def text(rng: random.Random) -> str:
    """A short string, often with characters that need care."""
    return rng.choice(
        (rng.choice(TEXTS), "".join(rng.choices('aZ09 /._-|é模🦙\u0000\u001f"\\\n\u2028', k=rng.randrange(9))))
    )


def file(rng: random.Random) -> Card:
    """A file entry; a few digests recur so that slots may agree."""
    path = rng.choice((rng.choice(BASENAMES), "/m/" + text(rng), "https://h/" + text(rng), text(rng)))
    made: Card = {"path": path, "checksum": digest(rng.randrange(6))}
    if rng.random() < 0.3:
        made["size"] = rng.choice((None, rng.getrandbits(32), rng.getrandbits(64)))
    return made


def template(rng: random.Random) -> Card:
    """A chat template or prompt formatter."""
    arm = rng.choice(
        ("hf_tokenizer_config_json", "hf_chat_template", "hf_chat_template_jinja", "hf_chat_template_json")
    )
    return {
        arm: file(rng) if arm == "hf_tokenizer_config_json" else {"is_custom": rng.random() < 0.5, "file": file(rng)}
    }


def roles(rng: random.Random) -> list[list[str]]:
    """A value for `needs`."""
    return [[rng.choice(WORKER_TYPES) for _ in range(rng.randrange(4))] for _ in range(rng.randrange(4))]


def identity_map(rng: random.Random) -> Card | None:
    """One map of `indexer_identity`, sometimes too large."""
    if rng.random() < 0.2:
        return None
    size = rng.choice((1, 1, 2, 3, 32, 33))
    return {f"{text(rng)[: rng.randrange(40)]}{index}": text(rng) or "v" for index in range(size)}


def identity(rng: random.Random) -> Card:
    """A value for `indexer_identity`."""
    return {key: identity_map(rng) for key in ("semantics", "routing_scope") if rng.random() < 0.7}


def runtime_data(rng: random.Random) -> Card:
    """A value for `runtime_config.runtime_data`, mostly of keys that feed the checksum."""
    made: Card = {"other": rng.choice(ANY)}
    for key in ("vllm_enable_tower_connector_lora", "vllm_inference_v1_generate"):
        if rng.random() < 0.4:
            made[key] = rng.choice(TRUTHY)
    if rng.random() < 0.4:
        contract = rng.choice(
            (rng.choice(CONTRACT), {text(rng): numeral(rng) for _ in range(3)}, [numeral(rng), text(rng)])
        )
        made["vllm_nemotron_video_processor_contract"] = contract
    return made


def runtime_config(rng: random.Random) -> Card:
    """A value for `runtime_config`."""
    made: Card = {key: rng.choice(RUNTIME[key]) for key in rng.sample(list(RUNTIME), rng.randrange(5))}
    if rng.random() < 0.5:
        made["runtime_data"] = runtime_data(rng)
    return made


def kv_router_config(rng: random.Random) -> Card:
    """A value for `router_config.kv_router_config`; most of them keep the validity rules."""
    made: Card = {}
    for key in rng.sample(FLOATS, rng.choice((0, 1, 2, 5))):
        made[key] = fraction(rng) if key in UNIT or key == UNIT_RATIO else numeral(rng)
    for key in rng.sample(SWITCHES, rng.choice((0, 1, 2, 5))):
        made[key] = rng.random() < 0.5
    for key in rng.sample(COUNTS, rng.choice((0, 1))):
        made[key] = rng.choice((1, 4, 2048, rng.getrandbits(31), rng.getrandbits(33)))
    for key in rng.sample(list(CHOICES), rng.choice((0, 1, 2))):
        made[key] = rng.choice(CHOICES[key])
    if made.get("router_tracking_hash") == "keyed-xxh3-v1" or rng.random() < 0.05:
        made["router_tracking_key_file"] = text(rng)
        made["router_tracking_key_id"] = text(rng)
    made.pop(rng.choice((*SWITCHES, "durable_kv_events")), None)
    return made


def router_config(rng: random.Random) -> Card:
    """A value for `router_config`."""
    made: Card = {**ROUTER, "router_mode": rng.choice(ROUTER_MODES), "kv_router_config": kv_router_config(rng)}
    thresholds = ("active_decode_blocks_threshold", "active_prefill_tokens_threshold_frac")
    made["load_threshold_config"] = {key: numeral(rng) for key in thresholds if rng.random() < 0.4}
    if rng.random() < 0.3:
        made["load_threshold_config"]["active_prefill_tokens_threshold"] = rng.getrandbits(rng.choice((8, 40, 64)))
    extras: Card = {"enforce_disagg": rng.random() < 0.5, "session_affinity_mode": rng.choice(("hard", "soft"))}
    extras["session_affinity_ttl_secs"] = rng.choice((None, rng.getrandbits(20), rng.getrandbits(64)))
    return {**made, **{key: extras[key] for key in extras if rng.random() < 0.3}}


FIELD_MAKERS: dict[str, Callable[[random.Random], object]] = {
    "display_name": text,
    "slug": lambda rng: rng.choice(("", "a-b_c", "x" * 200, "0", "_-_", text(rng))),
    "source_path": lambda rng: rng.choice((None, text(rng))),
    "model_info": lambda rng: {"hf_config_json": file(rng)},
    "tokenizer": lambda rng: {rng.choice(("hf_tokenizer_json", "tik_token_model")): file(rng)},
    "prompt_formatter": template,
    "chat_template_file": template,
    "gen_config": lambda rng: {"hf_generation_config_json": file(rng)},
    "prompt_context": lambda rng: rng.choices(("oai_chat", "llama3_date_time"), k=rng.randrange(4)),
    "architectural_max_context_length": lambda rng: rng.choice((None, 0, rng.getrandbits(32))),
    "context_length": lambda rng: rng.choice((None, 0, rng.getrandbits(32))),
    "kv_cache_block_size": lambda rng: rng.getrandbits(32),
    "migration_limit": lambda rng: rng.getrandbits(32),
    "model_type": lambda rng: rng.choice((" | ", "|")).join(rng.sample(MODEL_TYPES, rng.randrange(4))),
    "model_input": lambda rng: rng.choice(("Text", "Tokens", "Tensor")),
    "worker_type": lambda rng: rng.choice((*WORKER_TYPES, None)),
    "needs": roles,
    "lora": lambda rng: {"name": text(rng), "max_gpu_lora_count": rng.choice((None, rng.getrandbits(32)))},
    "aliases": lambda rng: [text(rng) for _ in range(rng.randrange(4))],
    "user_data": lambda rng: rng.choice((rng.choice(ANY), rng.choice(CONTRACT), numeral(rng))),
    "runtime_config": runtime_config,
    "router_config": router_config,
    "indexer_identity": identity,
    "extra_files": lambda rng: [file(rng) for _ in range(rng.randrange(5))],
}


def _digits(rng: random.Random, most: int) -> str:
    return "".join(rng.choices("0123456789", k=rng.randint(1, most)))


def _slots(node: object) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a tree of dicts and lists."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield node, key
        yield from _slots(value)


def _mutate(rng: random.Random, tree: Card) -> None:
    """Change one place of the tree."""
    slots = list(_slots(tree))
    container, key = rng.choice(slots)
    value = container[key]
    kind = rng.randrange(9)
    if kind == 0:
        del container[key]
    elif kind == 1:
        container[key] = rng.choice(ANY)
    elif kind == 2 and isinstance(container, dict):
        container[rng.choice(("zz_future", key.upper(), key + " ", text(rng)))] = rng.choice(ANY)
    elif kind == 3 and isinstance(value, dict) and value:
        items = list(value.items())
        container[key] = Pairs((*items, rng.choice(items)))
    elif kind == 4 and isinstance(value, dict):
        container[key] = list(value.values())
    elif kind == 5 and isinstance(value, str):
        container[key] = rng.choice((text(rng), value + " ", value.upper(), {value: None}))
    elif kind == 6 and isinstance(value, list):
        container[key] = rng.choice((value[::-1], value + value, value[:1], [value]))
    elif kind == 7:
        container[key] = numeral(rng)
    else:
        other, place = rng.choice(slots)
        container[key] = copy.deepcopy(other[place])


def _damage(rng: random.Random, whole: str) -> str:
    """The text with one character cut, doubled or replaced."""
    at = rng.randrange(len(whole))
    return whole[:at] + rng.choice(("", whole[at] * 2, rng.choice('"\\{}[],:0x\t\u0001'))) + whole[at + 1 :]
