"""Notices as log records (clause S6, API 7)."""

import json
import logging
import subprocess
import sys
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
        ["generation 7", "1 time in a row", "tried again in 1.0 s", "no memory", SET],
    ),
    (
        BuildBlocked("m", TOKEN, "owner", "alias", 2, 12.5),
        logging.WARNING,
        {"model": "m", "worker_set": SET, "incumbent_checksum": A, "generation": 7},
        ["generation 7", "'owner'", "'alias'", "tried again in 2.0 s", SET],
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
    values = [value for value in fields.values() if not isinstance(value, tuple)] + list(fields.get("differs", ()))
    assert [value for value in values if str(value) not in message] == [], "the extra fields tell nothing more"


@pytest.mark.parametrize(
    "notice",
    [
        RecordRefused("a\nb\r\x1b[2J\u2028\u202e", "why\nnot"),
        BuildRetry("m", TOKEN, 1, 12.5, "Traceback:\n  line"),
    ],
)
def test_what_others_wrote_stays_on_its_line(notice: Notice, caplog: pytest.LogCaptureFixture) -> None:
    log_notice(notice)
    (record,) = caplog.records
    assert record.getMessage().isprintable()
    assert "\\n" in record.getMessage()


def test_a_notice_that_nobody_wants_to_see_costs_no_record(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "workerset.admission")
    log_notice(ModelNotReady("m"))
    assert caplog.records == []


def test_an_import_leaves_the_process_as_it_was() -> None:
    """No handler, no level, no global state (API 7)."""
    script = """
import asyncio, json, logging, signal, sys, threading, warnings
def state():
    root = logging.getLogger()
    return {
        "handlers": repr(root.handlers), "level": root.level, "raise": logging.raiseExceptions,
        "off": root.manager.disable,
        "class": repr(logging.getLoggerClass()), "factory": repr(logging.getLogRecordFactory()),
        "last": repr(logging.lastResort), "names": [logging.getLevelName(n) for n in range(60)],
        "filters": repr(warnings.filters), "show": repr(warnings.showwarning), "threads": threading.active_count(),
        "signals": [repr(signal.getsignal(n)) for n in signal.valid_signals()],
        "hooks": [repr(sys.excepthook), repr(threading.excepthook), repr(sys.unraisablehook)],
    }
import ctypes, dataclasses, heapq, random, urllib.parse, weakref  # what has effects of its own
before = state()
import workerset
after = state()
logs = [log for log in logging.root.manager.loggerDict.values() if isinstance(log, logging.Logger)]
own = {log.name: [len(log.handlers), log.level, log.propagate, log.disabled, len(log.filters)]
       for log in logs if "workerset" in log.name}
print(json.dumps([before, after, own]))
"""
    ran = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    before, after, own = json.loads(ran.stdout)
    assert after == before
    assert own["workerset.admission"] == [0, logging.NOTSET, True, False, 0]
    assert set(map(tuple, own.values())) == {(0, logging.NOTSET, True, False, 0)}
    assert ran.stderr == ""
