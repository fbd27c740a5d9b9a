"""One card per row and validity rule of the router configuration (WIRE 3.1 to 3.5)."""

from collections.abc import Iterator

from tests.interop.base_cards import MINIMAL, ROUTER, ROUTER_MODES
from tests.interop.jsontext import Pairs, Raw, dump

Named = Iterator[tuple[str, str]]

FLOATS = (
    "overlap_score_credit",
    "overlap_score_credit_decay",
    "prefill_load_scale",
    "decode_active_request_weight",
    "host_cache_hit_weight",
    "disk_cache_hit_weight",
    "router_temperature",
    "router_ttl_secs",
    "router_queue_threshold",
    "shared_cache_multiplier",
    "router_predicted_ttl_secs",
    "conditional_disagg_eff_isl_ratio_threshold",
    "conditional_disagg_prefill_busy_threshold",
    "conditional_disagg_decode_busy_threshold",
    "overlap_score_weight",
)
SWITCHES = (
    "use_kv_events",
    "durable_kv_events",
    "router_replica_sync",
    "router_track_active_blocks",
    "router_track_output_blocks",
    "router_assume_kv_reuse",
    "router_track_prefill_tokens",
    "router_reset_states",
    "skip_initial_worker_wait",
    "use_remote_indexer",
    "serve_indexer",
    "enable_session_prefix_index",
    "conditional_disagg_enabled",
)
COUNTS = ("router_snapshot_threshold", "router_event_threads", "conditional_disagg_eff_isl_threshold")
CHOICES: dict[str, tuple[str, ...]] = {
    "router_tracking_hash": ("public-xxh3-v1", "keyed-xxh3-v1"),
    "router_prefill_load_model": ("none", "aic", "ais"),
    "router_queue_policy": ("fcfs", "lcfs", "wspt"),
    "shared_cache_type": ("none", "hicache"),
    "conditional_disagg_policy": ("isl_bounding", "prefill_load", "isl_or_load"),
}
TEXTS = ("router_tracking_key_file", "router_tracking_key_id", "router_policy_config")
UNKNOWN = ("router_prefill_policy", "router_decode_policy", "router_approximate_cache_policy", "zz_future", "")
KEYS = (*FLOATS, *SWITCHES, *COUNTS, *CHOICES, *TEXTS)

NUMERALS = (
    *(
        "0",
        "-0",
        "0.0",
        "-0.0",
        "1",
        "1.0",
        "1.5",
        "0.5",
        "0.7",
        "0.25",
        "0.75",
        "-1",
        "-0.5",
        "2",
        "16",
        "120",
        "2048",
    ),
    *(
        "1e15",
        "1e16",
        "9999999999999998",
        "99999999999999990000",
        "1e22",
        "1e23",
        "1e308",
        "1.7976931348623157e308",
        "1e309",
    ),
    *(
        "1e-4",
        "1e-5",
        "0.00001",
        "9.9e-6",
        "1e-7",
        "1.5e-7",
        "5e-324",
        "2.2250738585072014e-308",
        "1e-400",
        "0e999",
        "1e-999999999999",
    ),
    *("123456789012345678901", "122.416294033786585", "0.1000000000000000055511151231257827", "18446744073709551615"),
    *(
        "18446744073709551616",
        "9007199254740993",
        "3.141592653589793238462643383279",
        "6.02214076e23",
        "1.7976931348623159e308",
    ),
    *("0.30000000000000004", "100000000000000000000000000000000000000", "7.0e-10", "4.35", "0.000035", "1E+2", "1E-2"),
)

KEYED: dict[str, object] = {
    "router_tracking_hash": "keyed-xxh3-v1",
    "router_tracking_key_file": "/k",
    "router_tracking_key_id": "id",
}
CONDITIONAL: dict[str, dict[str, object]] = {
    "bare": {},
    "prefill": {"conditional_disagg_prefill_busy_threshold": 1},
    "decode": {"conditional_disagg_decode_busy_threshold": 1},
    "queue": {"router_queue_threshold": 0},
    "queue-null": {"router_queue_threshold": None},
}
RULES: dict[str, dict[str, object]] = {
    "credit-above-1": {"overlap_score_credit": 1.5},
    "threads-0": {"router_event_threads": 0},
    "snapshot-0": {"router_snapshot_threshold": 0},
    "durable": {"durable_kv_events": True},
    "durable-no-events": {"durable_kv_events": True, "use_kv_events": False},
    "keyed": KEYED,
    "keyed-empty-file": {**KEYED, "router_tracking_key_file": ""},
    "keyed-null-file": {**KEYED, "router_tracking_key_file": None},
    "keyed-empty-id": {**KEYED, "router_tracking_key_id": ""},
    "keyed-blank-id": {**KEYED, "router_tracking_key_id": "  "},
    "keyed-padded-id": {**KEYED, "router_tracking_key_id": " id"},
    "keyed-wide-padded-id": {**KEYED, "router_tracking_key_id": "id\u3000"},
    "keyed-no-id": {**KEYED, "router_tracking_key_id": None},
    "file-not-keyed": {"router_tracking_key_file": "/k"},
    "id-not-keyed": {"router_tracking_key_id": "id"},
    "output-without-active": {"router_track_output_blocks": True, "router_track_active_blocks": False},
    "output-with-active": {"router_track_output_blocks": True},
    "load-model-without-prefill": {"router_prefill_load_model": "aic", "router_track_prefill_tokens": False},
    "load-model-with-prefill": {"router_prefill_load_model": "aic"},
    "predicted-without-events": {"router_predicted_ttl_secs": 1, "use_kv_events": False},
    "predicted-with-events": {"router_predicted_ttl_secs": 1},
    "both-indexers": {"use_remote_indexer": True, "serve_indexer": True},
    "serve-credit-0": {"serve_indexer": True, "overlap_score_credit": 0},
    "serve-weight-0": {"serve_indexer": True, "overlap_score_weight": 0},
    "serve": {"serve_indexer": True},
    "remote": {"use_remote_indexer": True},
    "session": {"enable_session_prefix_index": True},
    "session-without-events": {"enable_session_prefix_index": True, "use_kv_events": False},
    "session-remote": {"enable_session_prefix_index": True, "use_remote_indexer": True},
    "policy-file-missing": {"router_policy_config": "/nonexistent/policy.yaml"},
    "policy-null": {"router_policy_config": None},
    **{
        f"conditional-{policy}-{label}": {
            "conditional_disagg_enabled": True,
            "conditional_disagg_policy": policy,
            **extra,
        }
        for policy in CHOICES["conditional_disagg_policy"]
        for label, extra in CONDITIONAL.items()
    },
    "conditional-off-load": {"conditional_disagg_policy": "prefill_load"},
    "weight-0": {"overlap_score_weight": 0},
    "weight-minus-0": {"overlap_score_weight": Raw("-0.0")},
    "weight-2": {"overlap_score_weight": 2},
    "weight-over-both": {"overlap_score_weight": 3, "prefill_load_scale": 1, "overlap_score_credit": 0.5},
    "weight-0-over-both": {"overlap_score_weight": 0, "prefill_load_scale": 1, "overlap_score_credit": 0.5},
    "weight-null": {"overlap_score_weight": None},
    "weight-negative": {"overlap_score_weight": -1},
}


def router_cards() -> Named:
    """Every router card of the set."""
    for mode in (*ROUTER_MODES, "kv", "KV", "", None, {"k_v": None}, {"k_v": 1}):
        yield f"router/mode/{mode}", _top(router_mode=mode)
    for key in ROUTER:
        yield f"router/absent/{key}", _card({name: value for name, value in ROUTER.items() if name != key})
        yield f"router/null/{key}", _top(**{key: None})
    yield "router/twice", _card(Pairs((*ROUTER.items(), ("router_mode", "k_v"))))
    for value in (True, False, None, 0, "true"):
        yield f"router/enforce_disagg/{value}", _top(enforce_disagg=value)
    for seconds in (None, 0, 30, 2**64 - 1, 2**64, -1, 1.0, "1"):
        yield f"router/session_affinity_ttl_secs/{seconds}", _top(session_affinity_ttl_secs=seconds)
    for affinity in ("hard", "soft", "Hard", None, 7, {"soft": None}):
        yield f"router/session_affinity_mode/{affinity}", _top(session_affinity_mode=affinity)
    yield "router/unknown-key", _top(zz_future=1)
    for key in (
        "active_decode_blocks_threshold",
        "active_prefill_tokens_threshold",
        "active_prefill_tokens_threshold_frac",
        "zz",
    ):
        for text in (
            "null",
            "0",
            "-0",
            "-1",
            "0.5",
            "7",
            "1e16",
            "18446744073709551616",
            "122.416294033786585",
            "true",
            '"1"',
        ):
            yield f"router/load/{key}/{text}", _top(load_threshold_config={key: Raw(text)})
    yield from _rows()
    for name, settings in RULES.items():
        yield f"router/rule/{name}", _kv(settings)
    for text in NUMERALS:
        yield f"number/queue/{text}", _kv({"router_queue_threshold": Raw(text)})
        yield f"number/load/{text}", _top(load_threshold_config={"active_decode_blocks_threshold": Raw(text)})


def _rows() -> Named:
    for key in FLOATS:
        for text in (
            "null",
            "0",
            "-0.0",
            "1",
            "0.5",
            "0.7",
            "0.75",
            "0.25",
            "120",
            "1.5",
            "-0.5",
            "-1e-9",
            "1e300",
            "1e999",
            "true",
            '"1"',
        ):
            yield f"kv/{key}/{text}", _kv({key: Raw(text)})
    for key in SWITCHES:
        for text in ("null", "true", "false", "0", '"true"'):
            yield f"kv/{key}/{text}", _kv({key: Raw(text)})
    for key in COUNTS:
        for text in (
            "null",
            "0",
            "1",
            "4",
            "2048",
            "1000000",
            "4294967295",
            "4294967296",
            "18446744073709551616",
            "-1",
            "1.0",
            '"1"',
        ):
            yield f"kv/{key}/{text}", _kv({key: Raw(text)})
    for key, names in CHOICES.items():
        for name in (*names, names[0].upper(), "", None, {names[0]: None}):
            yield f"kv/{key}/{name}", _kv({key: name})
    for key in TEXTS[:2]:
        for text in ("null", '""', '"x"', "1"):
            yield f"kv/{key}/{text}", _kv({key: Raw(text)})
    for key in UNKNOWN:
        yield f"kv/unknown/{key}", _kv({key: None})
    for key in KEYS:
        yield f"kv/twice/{key}", _kv(Pairs(((key, None), (key, None))))


def _card(router: object) -> str:
    return dump({**MINIMAL, "router_config": router})


def _top(**fields: object) -> str:
    return _card({**ROUTER, **fields})


def _kv(settings: object) -> str:
    return _top(kv_router_config=settings)
