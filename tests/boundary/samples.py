"""One sample of every record: how it is made, and what its `to_dict()` shows."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import workerset
from tests.contract.world import card

SUM = "ab" * 32
OTHER = "0123456789abcdef" * 4
MAX = 2**64 - 1

KEY = workerset.WorkerSetKey("m", "ns", "c", "e", "chat", "aggregated")
TOKEN = workerset.BuildToken("m", KEY, SUM, 7, controller_id=MAX)
CARD = workerset.ModelCard.from_json(json.dumps(card()))
SPEC = workerset.BuildSpec(TOKEN, "m", KEY, SUM, 7, CARD, "ns/c/e/1f")
APPLY = workerset.Apply("v1/mdc/ns/c/e/1f", b"{}", revision=3, created=-1, incarnation="i")

KEY_TEXT = '["m","[\\"ns\\",\\"c\\",\\"e\\",\\"chat\\",\\"aggregated\\"]"]'
TOKEN_DICT = {"model": "m", "worker_set": KEY_TEXT, "mdc_checksum": SUM, "generation": 7}
SPEC_DICT = {
    "token": TOKEN_DICT,
    "model": "m",
    "worker_set": KEY_TEXT,
    "mdc_checksum": SUM,
    "generation": 7,
    "card": CARD.to_dict(),
    "representative": "ns/c/e/1f",
}
APPLY_DICT = {
    "path": "v1/mdc/ns/c/e/1f",
    "value": "{}",
    "revision": 3,
    "created": -1,
    "incarnation": "i",
    "refused": None,
}


class Sample(NamedTuple):
    """A record class, what its constructor takes, and the plain data that must come out."""

    kind: type
    arguments: tuple[Any, ...]
    plain: dict[str, Any]

    def make(self) -> Any:
        return self.kind(*self.arguments)


COHORT = workerset.CohortEntry(SUM, ("ns/c/e/1f",), 12.5)
COHORT_DICT = {"mdc_checksum": SUM, "members": ["ns/c/e/1f"], "since": 12.5}
REJECTED = workerset.RejectedEntry(OTHER, ("ns/c/e/2",), 14.0, ("kv_cache_block_size",))
REJECTED_DICT = {
    "mdc_checksum": OTHER,
    "members": ["ns/c/e/2"],
    "since": 14.0,
    "differs": ["kv_cache_block_size"],
}
REFUSED = workerset.RefusedEntry("k", "why")
RETRY = workerset.RetryEntry(2, 17.0, "broken")
HOP = workerset.HopEntry("absent", "no provider")
SOURCE = workerset.SourceEntry("live", 3.1, 812)
SET_ARGUMENTS: tuple[Any, ...] = (
    *("m", "ns", "c", "e", "chat", "aggregated", "ready", 3, None, COHORT, [REJECTED]),
    *([31], [31], [], False, ["tcp"], ["ns/c/e/1f/slug"], [REFUSED], RETRY, None, {"prefill": HOP}),
)
SET = workerset.WorkerSetEntry(*SET_ARGUMENTS)
SET_DICT = {
    "model": "m",
    "namespace": "ns",
    "component": "c",
    "endpoint": "e",
    "model_types": "chat",
    "worker_type": "aggregated",
    "phase": "ready",
    "generation": 3,
    "building_generation": None,
    "incumbent": COHORT_DICT,
    "rejected": [REJECTED_DICT],
    "admitted": [31],
    "routable": [31],
    "inhibited": [],
    "unreachable": False,
    "transports": ["tcp"],
    "adapters": ["ns/c/e/1f/slug"],
    "unprojected": [{"key": "k", "reason": "why"}],
    "retry": {"attempt": 2, "deadline": 17.0, "reason": "broken"},
    "blocked_by": None,
    "hops": {"prefill": {"state": "absent", "reason": "no provider"}},
}
REJECTION_DICT = {
    "kind": "CohortRejected",
    "model": "m",
    "worker_set": KEY_TEXT,
    "incumbent_checksum": SUM,
    "rejected_checksum": OTHER,
    "instance": "ns/c/e/2",
    "members": 1,
    "differs": ["context_length"],
}

SAMPLES = [
    Sample(workerset.Apply, ("v1/mdc/ns/c/e/1f", b"{}", 3, -1, "i", None), APPLY_DICT),
    Sample(workerset.Delete, ("v1/mdc/ns/c/e/1f", MAX), {"path": "v1/mdc/ns/c/e/1f", "revision": MAX}),
    Sample(workerset.Reset, ([APPLY], 5, "v1/mdc/"), {"entries": [APPLY_DICT], "as_of": 5, "prefix": "v1/mdc/"}),
    Sample(
        workerset.WorkerSetKey,
        ("m", "ns", "c", "e", "chat", "aggregated"),
        {
            "model": "m",
            "namespace": "ns",
            "component": "c",
            "endpoint": "e",
            "model_types": "chat",
            "worker_type": "aggregated",
        },
    ),
    Sample(workerset.NamespaceFilter, ("prefix", "a", True), {"rule": "prefix", "text": "a", "strict": True}),
    Sample(workerset.BuildToken, ("m", KEY, SUM, 7), TOKEN_DICT),
    Sample(workerset.BuildSpec, (TOKEN, "m", KEY, SUM, 7, CARD, "ns/c/e/1f"), SPEC_DICT),
    Sample(workerset.StartBuild, (SPEC,), {"kind": "StartBuild", "spec": SPEC_DICT}),
    Sample(workerset.CancelBuild, (TOKEN,), {"kind": "CancelBuild", "token": TOKEN_DICT}),
    Sample(workerset.Withdraw, (TOKEN,), {"kind": "Withdraw", "token": TOKEN_DICT}),
    Sample(workerset.Committed, (7,), {"kind": "Committed", "generation": 7}),
    Sample(workerset.Fenced, ("late",), {"kind": "Fenced", "reason": "late"}),
    Sample(workerset.Blocked, ("taken",), {"kind": "Blocked", "reason": "taken"}),
    Sample(workerset.Retry, (2, 17.0), {"kind": "Retry", "attempt": 2, "deadline": 17.0}),
    Sample(workerset.Requeued, (), {"kind": "Requeued"}),
    Sample(workerset.CohortRejected, ("m", KEY, SUM, OTHER, "ns/c/e/2", 1, ["context_length"]), REJECTION_DICT),
    Sample(workerset.RecordRefused, ("k", "why"), {"kind": "RecordRefused", "key": "k", "reason": "why"}),
    Sample(
        workerset.InPlaceChangeRefused,
        ("m", "ns/c/e/1f", KEY, SUM, OTHER, "why"),
        {
            "kind": "InPlaceChangeRefused",
            "model": "m",
            "key": "ns/c/e/1f",
            "worker_set": KEY_TEXT,
            "stored_checksum": SUM,
            "refused_checksum": OTHER,
            "reason": "why",
        },
    ),
    Sample(workerset.BuildCommitted, ("m", TOKEN), {"kind": "BuildCommitted", "model": "m", "token": TOKEN_DICT}),
    Sample(
        workerset.BuildRetry,
        ("m", TOKEN, 2, 17.0, "broken"),
        {
            "kind": "BuildRetry",
            "model": "m",
            "token": TOKEN_DICT,
            "attempt": 2,
            "deadline": 17.0,
            "reason": "broken",
        },
    ),
    Sample(
        workerset.BuildBlocked,
        ("m", TOKEN, "owner", "name", 2, 17.0),
        {
            "kind": "BuildBlocked",
            "model": "m",
            "token": TOKEN_DICT,
            "owner": "owner",
            "name": "name",
            "attempt": 2,
            "deadline": 17.0,
        },
    ),
    Sample(
        workerset.MembersChanged,
        ("m", KEY, None, [31], [1, MAX]),
        {
            "kind": "MembersChanged",
            "model": "m",
            "worker_set": KEY_TEXT,
            "mdc_checksum": None,
            "joined": [31],
            "left": [1, MAX],
        },
    ),
    Sample(
        workerset.Succession,
        ("m", KEY, SUM, None, OTHER, 3),
        {
            "kind": "Succession",
            "model": "m",
            "worker_set": KEY_TEXT,
            "retired_checksum": SUM,
            "retired_generation": None,
            "incumbent_checksum": OTHER,
            "members": 3,
        },
    ),
    Sample(
        workerset.HopChanged,
        ("m", "ns", "prefill", True, ""),
        {"kind": "HopChanged", "model": "m", "namespace": "ns", "hop": "prefill", "active": True, "reason": ""},
    ),
    Sample(workerset.ModelReady, ("m",), {"kind": "ModelReady", "model": "m"}),
    Sample(workerset.ModelNotReady, ("m",), {"kind": "ModelNotReady", "model": "m"}),
    Sample(workerset.SourceEntry, ("live", 3.1, 812), {"state": "live", "snapshot_age": 3.1, "revision": 812}),
    Sample(workerset.RefusedEntry, ("k", "why"), {"key": "k", "reason": "why"}),
    Sample(workerset.CohortEntry, (SUM, ["ns/c/e/1f"], 12.5), COHORT_DICT),
    Sample(workerset.RejectedEntry, (OTHER, ["ns/c/e/2"], 14.0, ["kv_cache_block_size"]), REJECTED_DICT),
    Sample(workerset.RetryEntry, (2, 17.0, "broken"), {"attempt": 2, "deadline": 17.0, "reason": "broken"}),
    Sample(workerset.HopEntry, ("absent", "no provider"), {"state": "absent", "reason": "no provider"}),
    Sample(workerset.WorkerSetEntry, SET_ARGUMENTS, SET_DICT),
    Sample(
        workerset.Inventory,
        ("1.6", SOURCE, [SET], [REFUSED], [workerset.Filtered("f", "old", 3.0)], workerset.BuildsEntry(8, 1, 8), 1),
        {
            "profile": "1.6",
            "source": {"state": "live", "snapshot_age": 3.1, "revision": 812},
            "worker_sets": [SET_DICT],
            "refused": [{"key": "k", "reason": "why"}],
            "filtered": [{"key": "f", "reason": "old", "since": 3.0}],
            "builds": {"running": 8, "waiting": 1, "places": 8},
            "filtered_count": 1,
        },
    ),
    Sample(workerset.Filtered, ("f", "old", 3.0), {"key": "f", "reason": "old", "since": 3.0}),
    Sample(workerset.BuildsEntry, (8, 1, 8), {"running": 8, "waiting": 1, "places": 8}),
    Sample(
        workerset.CardDifference,
        ("needs", None, [["decode"], [1, -1, 0.5, True, "é", {}]]),
        {"field": "needs", "left": None, "right": [["decode"], [1, -1, 0.5, True, "é", {}]]},
    ),
    Sample(
        workerset.WorkerInfo,
        (31, {"tcp": "127.0.0.1:9000"}, CARD),
        {"instance_id": 31, "transport": {"tcp": "127.0.0.1:9000"}, "card": CARD.to_dict()},
    ),
    Sample(
        workerset.ReadinessUnit,
        (None, 2, [["prefill", "decode"]]),
        {"worker_type": None, "live": 2, "needs": [["prefill", "decode"]]},
    ),
    Sample(
        workerset.Readiness,
        (True, False, False, ["decode"], [], ["prefill"]),
        {
            "ready": True,
            "has_legacy": False,
            "legacy_live": False,
            "present": ["decode"],
            "missing": [],
            "ambiguous": ["prefill"],
        },
    ),
]
