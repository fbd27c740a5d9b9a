"""One card per field and rule of WIRE sections 1 to 3, each named after what it shows."""

from collections.abc import Iterator
from typing import Any

from tests.interop.base_cards import (
    BASES,
    FIELDS,
    FULL,
    MINIMAL,
    MODEL_TYPES,
    ROUTER,
    ROUTER_MODES,
    WORKER_TYPES,
    Card,
    file,
)
from tests.interop.card_values import ANY, BASENAMES, CONTRACT, DIGEST, HEX, INTEGERS, NUMERALS, RUNTIME, TEXTS, TRUTHY
from tests.interop.jsontext import Pairs, Raw, dump

Named = Iterator[tuple[str, str]]


def systematic() -> Named:
    """Every card of the set."""
    yield from _whole()
    yield from _top_level()
    yield from _lengths()
    yield from _files()
    yield from _roles()
    yield from _names()
    yield from _identity()
    yield from _runtime()
    yield from _arrays()


def _with(base: str, **fields: object) -> str:
    return dump({**BASES[base], **fields})


def _label(value: object) -> str:
    return dump(value, ascii_only=True)[:48]


def _whole() -> Named:
    for name, card in BASES.items():
        text = dump(card)
        yield f"whole/{name}", text
        yield f"whole/{name}/reversed", dump(dict(reversed(card.items())))
        yield f"whole/{name}/ascii", dump(card, ascii_only=True)
        yield f"whole/{name}/spaced", text.replace(":", " :\t").replace(",", " ,\r\n")
    text = dump(MINIMAL)
    for label, broken in {
        "empty": "",
        "blank": " \n",
        "null": "null",
        "string": '"x"',
        "number": "7",
        "list": "[]",
        "cut": text[:-1],
        "cut-string": text[:-3],
        "trailing-comma": text[:-1] + ",}",
        "trailing-text": text + "x",
        "trailing-space": text + " \n",
        "two": text + text,
        "bom": "\ufeff" + text,
        "comment": "/**/" + text,
        "single-quotes": text.replace('"', "'"),
        "unknown-key": text[:-1] + ',"zz_future":{"a":[1]}}',
        "unknown-key-case": text[:-1] + ',"Display_Name":1}',
        "unknown-key-twice": text[:-1] + ',"zz":1,"zz":2}',
        "unknown-huge-number": text[:-1] + ',"zz":1e999}',
        "unknown-lone-surrogate": text[:-1] + ',"zz":"\\ud800"}',
        "unknown-bad-escape": text[:-1] + ',"zz":"\\q"}',
        "unknown-control": text[:-1] + ',"zz":"\u0001"}',
        "deep-126": text[:-1] + ',"user_data":' + "[" * 126 + "]" * 126 + "}",
        "deep-127": text[:-1] + ',"user_data":' + "[" * 127 + "]" * 127 + "}",
        "deep-128-unknown": text[:-1] + ',"zz":' + "[" * 128 + "]" * 128 + "}",
        "escaped-key": text.replace('"slug"', '"\\u0073lug"'),
        "user-data-1e999": text[:-1] + ',"user_data":1e999}',
        "user-data-twice-inside": text[:-1] + ',"user_data":{"a":1,"a":2}}',
        "user-data-lone-surrogate": text[:-1] + ',"user_data":"\\ud800"}',
    }.items():
        yield f"text/{label}", broken


def _top_level() -> Named:
    for field in FIELDS:
        for value in ANY:
            yield f"any/{field}/{_label(value)}", _with("minimal", **{field: value})
        without = {key: value for key, value in FULL.items() if key != field}
        if field in FULL:
            yield f"absent/{field}", dump(without)
            yield f"null/{field}", dump({**FULL, field: None})
            twice = Pairs((*FULL.items(), (field, FULL[field])))
            yield f"twice/{field}", dump(twice)
    for text in TEXTS:
        for field in ("display_name", "source_path", "slug"):
            yield f"text/{field}/{_label(text)}", _with("minimal", **{field: text})
    for escape in (
        "\\u0041",
        "\\u00e9",
        "\\ud83e\\udd99",
        "\\ud800",
        "\\udd99\\ud83e",
        "\\/",
        "\\u0000",
        "\\x41",
        "\\u12",
    ):
        yield f"escape/{escape}", _with("minimal", display_name=Raw(f'"{escape}"'))
    for name, path in (("ab", "c"), ("a", "bc"), ("abc", None), ("abc", "")):
        yield f"seam/{name}+{path}", _with("minimal", display_name=name, source_path=path)
    for context in (
        [],
        ["oai_chat"],
        ["llama3_date_time"],
        ["llama3_date_time", "oai_chat"],
        ["oai_chat"] * 2,
        ["OaiChat"],
    ):
        yield f"prompt_context/{context}", _with("minimal", prompt_context=context)
    for lora in (
        {"name": "l"},
        {"name": "l", "max_gpu_lora_count": 2**32},
        {"max_gpu_lora_count": 1},
        {"name": "l", "z": 1},
    ):
        yield f"lora/{_label(lora)}", _with("minimal", lora=lora)
    tensors: tuple[Card, ...] = ({"name": "t"}, {"name": "t", "inputs": [], "outputs": []}, {"inputs": []})
    for tensor in tensors:
        yield f"tensor/{_label(tensor)}", _with("minimal", tensor_model_config=tensor)
    fetcher: Card = {
        "user_agent": "u",
        "allow_direct_ip": False,
        "allow_direct_port": False,
        "allow_private_ips": False,
        "allowed_media_domains": ["d"],
        "timeout": {"secs": 1, "nanos": 5},
    }
    yield "media_fetcher/full", _with("minimal", media_fetcher=fetcher)
    for key in fetcher:
        yield (
            f"media_fetcher/without-{key}",
            _with("minimal", media_fetcher={k: v for k, v in fetcher.items() if k != key}),
        )


def _lengths() -> Named:
    for field in ("context_length", "architectural_max_context_length", "kv_cache_block_size", "migration_limit"):
        for value in (*INTEGERS, *(Raw(text) for text in NUMERALS)):
            yield f"integer/{field}/{_label(value)}", _with("minimal", **{field: value})
    options: tuple[object, ...] = ("absent", None, 0, 7)
    for runtime in options:
        for architectural in options:
            for legacy in options:
                card: Card = dict(MINIMAL)
                if runtime != "absent":
                    card["runtime_config"] = {"context_length": runtime}
                if architectural != "absent":
                    card["architectural_max_context_length"] = architectural and 8
                if legacy != "absent":
                    card["context_length"] = legacy and 9
                yield f"effective/{runtime}/{architectural}/{legacy}", dump(card)


def _files() -> Named:
    slots: dict[str, tuple[str, ...]] = {
        "model_info": ("hf_config_json", "gguf"),
        "tokenizer": ("hf_tokenizer_json", "tik_token_model", "HfTokenizerJson"),
        "prompt_formatter": ("hf_tokenizer_config_json",),
        "gen_config": ("hf_generation_config_json",),
        "chat_template_file": ("hf_tokenizer_config_json",),
    }
    for slot, arms in slots.items():
        for arm in arms:
            yield f"slot/{slot}/{arm}", _with("minimal", **{slot: {arm: file("/m/f")}})
            yield f"slot/{slot}/{arm}/null", _with("minimal", **{slot: {arm: None}})
        entry = {arms[0]: file("/m/f")}
        yield f"slot/{slot}/two-arms", _with("minimal", **{slot: Pairs((*entry.items(), *entry.items()))})
        yield f"slot/{slot}/array", _with("minimal", **{slot: {arms[0]: ["/m/f", DIGEST, 3]}})
    for slot in ("prompt_formatter", "chat_template_file"):
        for arm in ("hf_chat_template", "hf_chat_template_jinja", "hf_chat_template_json"):
            for custom in (True, False, None, 1, "absent"):
                value: Card = {"is_custom": custom, "file": file("/m/t")}
                if custom == "absent":
                    del value["is_custom"]
                yield f"template/{slot}/{arm}/{custom}", _with("minimal", **{slot: {arm: value}})
            yield f"template/{slot}/{arm}/bare", _with("minimal", **{slot: {arm: file("/m/t")}})
            yield f"template/{slot}/{arm}/array", _with("minimal", **{slot: {arm: [True, file("/m/t")]}})
            both = {arm: {"is_custom": True, "file": file("/m/t"), "z": 1}}
            yield f"template/{slot}/{arm}/extra-key", _with("minimal", **{slot: both})
    for label, checksum in {
        "good": DIGEST,
        "upper-hex": "blake3:" + HEX.upper(),
        "upper-name": "BLAKE3:" + HEX,
        "other-name": "sha256:" + HEX,
        "no-name": HEX,
        "empty-name": ":" + HEX,
        "short": DIGEST[:-1],
        "long": DIGEST + "0",
        "not-hex": DIGEST[:-1] + "g",
        "two-colons": DIGEST + ":x",
        "space": " " + DIGEST,
        "space-after": DIGEST + " ",
        "wide": DIGEST[:-2] + "é",
        "empty": "",
        "null": None,
        "number": 7,
    }.items():
        yield f"checksum/{label}", _with("minimal", extra_files=[{"path": "/a", "checksum": checksum}])
    for size in (None, 0, 2**64 - 1, 2**64, -1, 1.0, "1"):
        yield f"size/{size}", _with("minimal", extra_files=[{**file("/a"), "size": size}])
    yield "file/extra-key", _with("minimal", extra_files=[{**file("/a"), "z": 1}])
    yield "file/no-path", _with("minimal", extra_files=[{"checksum": DIGEST}])
    yield "file/path-null", _with("minimal", extra_files=[{"path": None, "checksum": DIGEST}])
    yield "file/twice-path", _with("minimal", extra_files=[Pairs((*file("/a").items(), ("path", "/b")))])
    for path in BASENAMES:
        yield f"basename/{_label(path)}", _with("minimal", extra_files=[{"path": path, "checksum": DIGEST}])
        yield (
            f"slot-path/{_label(path)}",
            _with("minimal", model_info={"hf_config_json": {"path": path, "checksum": DIGEST}}),
        )
    a, b, same = file("/x/a"), file("/x/b"), file("/y/a", "another")
    for label, files in {
        "ab": [a, b],
        "ba": [b, a],
        "aa": [a, a],
        "same-name": [a, same],
        "same-name-swapped": [same, a],
    }.items():
        yield f"extra_files/{label}", _with("minimal", extra_files=files)
    one = file("/m/one")
    yield "interchange/gen_config", _with("minimal", gen_config={"hf_generation_config_json": one})
    yield "interchange/model_info", _with("minimal", model_info={"hf_config_json": one})


def _roles() -> Named:
    for name in (
        *WORKER_TYPES,
        "",
        "Prefill",
        "prefill|decode",
        "router",
        {"decode": None},
        {"decode": 1},
        {"decode": None, "encode": None},
    ):
        yield f"worker_type/{_label(name)}", _with("minimal", worker_type=name)
        yield f"needs/{_label(name)}", _with("minimal", needs=[[name]])
    role_lists: tuple[object, ...] = (
        *(
            [[]],
            [[], []],
            [["prefill", "decode"]],
            [["decode", "prefill"]],
            [["prefill"], ["decode"]],
            [["decode"], ["prefill"]],
        ),
        *([["prefill"], ["prefill"]], [["aggregated"] * 3], [None], [[None]], ["prefill"], [["prefill"], None]),
    )
    for needs in role_lists:
        yield f"needs/{_label(needs)}", _with("minimal", needs=needs)
    for worker_type in (None, *WORKER_TYPES):
        for model_type in ("Prefill", "Chat | Prefill", "Chat", ""):
            yield f"role/{worker_type}/{model_type}", _with("minimal", worker_type=worker_type, model_type=model_type)
    for model_input in ("Text", "Tokens", "Tensor", "tokens", "", {"Text": None}, {"Text": 1}):
        yield f"model_input/{_label(model_input)}", _with("minimal", model_input=model_input)
    for model_type in (
        *MODEL_TYPES,
        *(name.lower() for name in MODEL_TYPES),
        *(
            "",
            " ",
            "Chat|Completions",
            "Chat | Completions",
            "  Chat|  Completions ",
            "Chat | Chat",
            "|",
            "Chat |",
            "Chat,Completions",
            "Nope",
        ),
        *(
            "0x1",
            "0x3",
            "0x400",
            "0x7ff",
            "0x800",
            "0xffff",
            "0x10000",
            "0x",
            "0X1",
            "0xFF",
            "0x0",
            "1",
            "Chat | 0x2",
            "0x1|0x2",
            "-0x1",
            "0x+1",
        ),
    ):
        yield f"model_type/{model_type}", _with("minimal", model_type=model_type)


def _names() -> Named:
    alias_lists: tuple[object, ...] = (
        *(
            [],
            [""],
            ["a"],
            ["a", "b"],
            ["b", "a"],
            ["a", "a"],
            ["ab"],
            ["é"],
            ["e\u0301"],
            ["x" * 300],
            [None],
            [7],
            ["org/model-a"],
        ),
    )
    for aliases in alias_lists:
        yield f"aliases/{_label(aliases)}", _with("minimal", aliases=aliases)


def _identity() -> Named:
    maps: dict[str, object] = {
        "null": None,
        "empty": {},
        "one": {"k": "v"},
        "order": {"b": "1", "a": "2", "é": "3", "B": "4"},
        "32": {f"k{i}": "v" for i in range(32)},
        "33": {f"k{i}": "v" for i in range(33)},
        "key-empty": {"": "v"},
        "key-128": {"k" * 128: "v"},
        "key-129": {"k" * 129: "v"},
        "key-128-wide": {"é" * 64: "v"},
        "key-129-wide": {"é" * 64 + "k": "v"},
        "value-empty": {"k": ""},
        "value-1024": {"k": "v" * 1024},
        "value-1025": {"k": "v" * 1025},
        "value-wide": {"k": "é" * 512},
        "value-number": {"k": 1},
        "value-null": {"k": None},
        "twice": Pairs((("k", "v"), ("k", "v"))),
        "list": [["k", "v"]],
        "text": "x",
    }
    for label, value in maps.items():
        yield f"identity/semantics/{label}", _with("minimal", indexer_identity={"semantics": value})
        yield f"identity/routing_scope/{label}", _with("minimal", indexer_identity={"routing_scope": value})
    both: Any = {"semantics": {"a": "b"}, "routing_scope": {"a": "b"}}
    yield "identity/both", _with("minimal", indexer_identity=both)
    yield "identity/extra-key", _with("minimal", indexer_identity={**both, "z": 1})
    yield "identity/array", _with("minimal", indexer_identity=[{"a": "b"}, None])
    yield "identity/array-short", _with("minimal", indexer_identity=[])


def _runtime() -> Named:
    for key, values in RUNTIME.items():
        for value in (*values, *ANY):
            yield f"runtime/{key}/{_label(value)}", _with("minimal", runtime_config={key: value})
    for value in TRUTHY:
        for key in ("vllm_enable_tower_connector_lora", "vllm_inference_v1_generate"):
            yield f"truthy/{key}/{_label(value)}", _with("minimal", runtime_config={"runtime_data": {key: value}})
    for index, value in enumerate(CONTRACT):
        data = {"vllm_nemotron_video_processor_contract": value}
        yield f"contract/{index}/{_label(value)}", _with("minimal", runtime_config={"runtime_data": data})
    together = {
        "vllm_nemotron_video_processor_contract": {"b": 1, "a": 2},
        "vllm_inference_v1_generate": "yes",
        "vllm_enable_tower_connector_lora": "on",
    }
    yield "runtime_data/all", _with("minimal", runtime_config={"runtime_data": together})
    for key in ("sglang_generate", "vllm_qwen_video_processor_contract", "zz"):
        yield f"runtime_data/unhashed/{key}", _with("minimal", runtime_config={"runtime_data": {key: True}})
    twice = Raw('{"vllm_inference_v1_generate":true,"vllm_inference_v1_generate":false}')
    yield "runtime_data/twice", _with("minimal", runtime_config={"runtime_data": twice})
    yield "runtime/twice", _with("minimal", runtime_config=Raw('{"context_length":1,"context_length":2}'))


def _arrays() -> Named:
    slots = [FULL.get(field) for field in FIELDS]
    slots[FIELDS.index("runtime_config")] = {"context_length": 5}
    for length in range(13, len(slots) + 2):
        yield f"array/card/{length}", dump([*slots, 1][:length])
    yield "array/runtime_config/1", _with("minimal", runtime_config=[4096])
    yield "array/runtime_config/0", _with("minimal", runtime_config=[])
    for mode in ROUTER_MODES:
        yield f"array/router/{mode}", _with("minimal", router_config=[mode, {}, {}, False, None, "hard"])
    for router in (
        ["k_v", {}, {}],
        ["k_v", {}, {}, True],
        ["k_v", [], []],
        ["k_v", {}, [0.5, 1, 0.25]],
        ["k_v", {}, [0.5]],
    ):
        yield f"array/router/{_label(router)}", _with("minimal", router_config=router)
    for settings in ([], [0.5], [1.0, 0.5, 2, 1, 0.5, 0.5, 0.25, False]):
        yield f"array/kv/{len(settings)}", _with("minimal", router_config={**ROUTER, "kv_router_config": settings})
    yield "array/lora", _with("minimal", lora=["l", 1])
    yield "array/lora-short", _with("minimal", lora=["l"])
