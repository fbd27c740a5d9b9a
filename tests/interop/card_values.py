"""Values that card fields may or may not have, shared by the systematic set and the generator."""

from tests.interop.base_cards import digest
from tests.interop.jsontext import Raw

# One value of every JSON type: for each field most of them are wrong.
ANY: tuple[object, ...] = (None, True, "x", 7, 1.5, [], ["x"], {}, {"x": 1})
INTEGERS: tuple[object, ...] = (0, 1, 2**16, 2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, -1)
NUMERALS = ("-0", "1.0", "1e1", "1E0", "16.", "016", "+1", "0x10", "1_0", "NaN", "1e999", "-1e-999")
TEXTS = (
    "",
    " ",
    "é",
    "e\u0301",
    "模型",
    "🦙",
    "\u0000",
    "\u001f\u007f\u0080",
    '"\\/',
    "\b\t\n\f\r",
    "\u2028\ufeff",
    "x" * 300,
)
DIGEST = digest("one")
HEX = DIGEST.removeprefix("blake3:")

# Every key the wheels' runtime_config may have, with values that some release takes.
RUNTIME: dict[str, tuple[object, ...]] = {
    "context_length": (0, 4096),
    "total_kv_blocks": (1, 2**63),
    "max_num_seqs": (1,),
    "max_num_batched_tokens": (1,),
    "max_gpu_lora_count": (4,),
    "tool_call_parser": ("hermes",),
    "reasoning_parser": ("",),
    "exclude_tools_when_tool_choice_none": (False,),
    "data_parallel_start_rank": (1,),
    "data_parallel_size": (2,),
    "enable_local_indexer": (False,),
    "enable_eagle": (True,),
    "runtime_data": ({"a": {"b": [1, 2.5, None]}},),
    "disaggregated_endpoint": ({"bootstrap_host": "h", "bootstrap_port": 65535}, {"bootstrap_port": 65536}, ["h", 1]),
    "taints": (["a", "b"],),
    "stable_routing_id": ("r",),
    "topology_domains": ({"zone": "z"}, {"zone": 1}),
    "kv_transfer_domain": ("zone",),
    "kv_transfer_enforcement": ("required", "preferred", {"required": None}),
    "kv_transfer_preferred_weight": (0.5, Raw("1e39"), Raw("-1e400")),
    "structural_tag_mode": ("off", "on"),
    "structural_tag_scope": ("auto", "always"),
    "structural_tag_schema": ("auto", "strict"),
    "tokenizer_backend": ("default", "fastokens", "basetenkenizer"),
    "kv_event_publishing_enabled": (True,),
    "kv_state_endpoint": ({"namespace": "n", "component": "c", "name": "e"}, {"namespace": "n"}, ["n", "c", "e"]),
    "tool_call_arguments_format": ("json_string", "json_object"),
    "tokenizer_fallback_enabled": (False,),
    "kv_event_source_mode": ("x",),
    "structural_tag": ({}, {"mode": "on"}, {"mode": "off", "scope": "auto", "schema": "strict"}),
}

TRUTHY: tuple[object, ...] = (
    *(True, False, None, 1, 1.0, [], {}, ["true"]),
    *(
        "1",
        "true",
        "yes",
        "on",
        "TRUE",
        "Yes",
        "oN",
        " true ",
        "\u00a0on\u3000",
        "\ttrue\n",
        "\u200btrue",
        "y",
        "0",
        "",
        "\uff2f\uff2e",
    ),
)
CONTRACT: tuple[object, ...] = (
    *(None, True, 0, 7, -1, 2.5, "", "x", 'é\n\u0001\u007f"\\', [], [3, 1, 2], {}, {"b": 1, "a": {"d": [], "c": None}}),
    {"é": 1, "z": 2, "Z": 3, "": 4, "\U0001f999": 5, "\uffff": 6},
    *(Raw(text) for text in ("1e16", "1e15", "0.00001", "0.000001", "-0", "-0.0", "1.50", "18446744073709551615")),
    *(
        Raw(text)
        for text in ("18446744073709551616", "123456789012345678901", "-9223372036854775808", "1e308", "1e-400")
    ),
    Raw('{"a":1,"a":2}'),
    Raw('"\\u00e9\\/\\ud83e\\udd99"'),
)

BASENAMES = (
    *(
        "/a/b.json",
        "b.json",
        "/a/b/",
        "/a/./",
        "a/..",
        "..",
        ".",
        "",
        "/",
        "//",
        "a//b",
        "a/./b/.",
        "a/../b",
        "é/ü.txt",
        "a b",
    ),
    *(
        "https://h/a/b.json",
        "http://h/a/b.json/?q#f",
        "http://h/",
        "http://h",
        "http://h/é b",
        "http://h/%41%2f",
        "http://h/a/..",
    ),
    *(
        "http://h/a/./b/../c",
        "http://h/a//",
        "HTTP://H/A",
        "file:///a/b",
        "file://h/a",
        "file:a/b",
        "file:/C|/x",
        "hf://org/model/f.bin",
    ),
    *(
        "a:b/c",
        "a:b/c/",
        "a:",
        "a:?q",
        "C:\\x\\y",
        "http:\\\\h\\a\\b",
        'http://h/"#<>?`{}^|[]',
        "s3://bucket/key with space?v=1",
    ),
    *(
        "http://[::1]/a",
        "http://[bad/a",
        "http://h:99999/a",
        " http://h/a ",
        "ht\ttp://h/a\nb",
        "mailto:x@y",
        "data:text/plain,a/b",
    ),
    *(
        "https://h/a;b,c=@!$&'()*+~",
        "blob:https://h/a",
        "1a:b",
        "a+b-c.1:/d/e",
        "http://é.h/x",
        "http://h/\u0001\u007f",
        "a:b c/d e ",
    ),
)
