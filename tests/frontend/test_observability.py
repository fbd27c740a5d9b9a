"""Notices as log records (clause S6, API 7)."""

import logging
from typing import Any

import pytest

from workerset import (
    BuildBlocked,
    BuildCommitted,
    BuildRetry,
    BuildToken,
    CohortRejected,
    HopChanged,
    InPlaceChangeRefused,
    MembersChanged,
    ModelNotReady,
    ModelReady,
    Notice,
    RecordRefused,
    Succession,
    WorkerSetKey,
)
from workerset.observability import log_notice

A, B = "a" * 64, "b" * 64
KEY = WorkerSetKey("m", "ns", "backend", "generate", "chat", "aggregated")
SET = str(KEY)
TOKEN = BuildToken("m", KEY, A, 7)
NONE: dict[str, Any] = dict.fromkeys(
    ("model", "worker_set", "incumbent_checksum", "rejected_checksum", "instance", "members", "differs", "generation")
)

CASES: list[tuple[Notice, int, dict[str, Any], list[str]]] = [
    (
        CohortRejected("m", KEY, A, B, "ns/backend/generate/1f", 3, ("aliases", "needs")),
        logging.ERROR,
        {
            "model": "m",
            "worker_set": SET,
            "incumbent_checksum": A,
            "rejected_checksum": B,
            "instance": "ns/backend/generate/1f",
            "members": 3,
            "differs": ("aliases", "needs"),
        },
        ["3 workers", "'m'", SET, A, B, "ns/backend/generate/1f", "aliases, needs"],
    ),
    (
        RecordRefused("ns/backend/generate/1f", "no card"),
        logging.ERROR,
        {"instance": "ns/backend/generate/1f"},
        ["ns/backend/generate/1f", "no card"],
    ),
    (
        InPlaceChangeRefused("m", "ns/backend/generate/1f", KEY, A, B, "another checksum"),
        logging.ERROR,
        {
            "model": "m",
            "worker_set": SET,
            "incumbent_checksum": A,
            "rejected_checksum": B,
            "instance": "ns/backend/generate/1f",
        },
        ["ns/backend/generate/1f", SET, A, B, "another checksum"],
    ),
    (
        BuildCommitted("m", TOKEN),
        logging.INFO,
        {"model": "m", "worker_set": SET, "incumbent_checksum": A, "generation": 7},
        ["generation 7", "'m'", SET, A],
    ),
    (
        BuildRetry("m", TOKEN, 1, 12.5, "no memory"),
        logging.WARNING,
        {"model": "m", "worker_set": SET, "incumbent_checksum": A, "generation": 7},
        ["generation 7", "1 time in a row", "12.500", "no memory", SET],
    ),
    (
        BuildBlocked("m", TOKEN, "owner", "alias", 2, 12.5),
        logging.WARNING,
        {"model": "m", "worker_set": SET, "incumbent_checksum": A, "generation": 7},
        ["generation 7", "'owner'", "'alias'", "12.500", SET],
    ),
    (
        MembersChanged("m", KEY, A, (0x1F, 2**64 - 1), (0x20,)),
        logging.INFO,
        {"model": "m", "worker_set": SET, "incumbent_checksum": A},
        ["joined 1f ffffffffffffffff", "left 20", A, SET],
    ),
    (
        MembersChanged("m", KEY, None, (), tuple(range(100))),
        logging.INFO,
        {"model": "m", "worker_set": SET},
        ["left 100 (0 1 2", "nobody is left", SET],
    ),
    (
        Succession("m", KEY, A, 3, B, 2),
        logging.WARNING,
        {"model": "m", "worker_set": SET, "incumbent_checksum": B, "members": 2, "generation": 3},
        ["'m'", "2 workers", A, B, SET, "retired_generation=3"],
    ),
    (
        HopChanged("m", "ns", "prefill", True, ""),
        logging.INFO,
        {"model": "m"},
        ["prefill", "'m'", "'ns'", "active"],
    ),
    (
        HopChanged("m", "ns", "prefill", False, "no provider"),
        logging.WARNING,
        {"model": "m"},
        ["prefill", "'m'", "'ns'", "absent: no provider"],
    ),
    (ModelReady("m"), logging.INFO, {"model": "m"}, ["'m' is ready"]),
    (ModelNotReady("m"), logging.WARNING, {"model": "m"}, ["'m' is not ready"]),
]


@pytest.mark.parametrize(("notice", "level", "fields", "parts"), CASES, ids=lambda case: type(case).__name__)
def test_a_notice_is_one_record_whose_message_tells_all(
    notice: Notice,
    level: int,
    fields: dict[str, Any],
    parts: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    log_notice(notice)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("workerset.admission", level)
    expected = NONE | fields | {"event": type(notice).__name__}
    assert {name: getattr(record, name) for name in expected} == expected
    message = record.getMessage()
    assert [part for part in parts if part not in message] == []
    assert "\n" not in message
