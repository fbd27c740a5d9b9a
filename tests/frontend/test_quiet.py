"""Nothing is logged above DEBUG but what went wrong, and that once."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.discovery.harness import FileBackend
from tests.discovery.records import card, worker
from tests.frontend.helpers import Workshop, put, until
from workerset import BuildSpec, Frontend
from workerset.discovery import MemoryDiscovery

if TYPE_CHECKING:
    from pathlib import Path


def busy_source() -> MemoryDiscovery:
    """Two models, one with a rejected cohort."""
    source = MemoryDiscovery()
    put(source, 1)
    put(source, 2, card=card(block_size=32))
    put(source, 1, card=card("other"), component="other")
    return source


def above_debug(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.levelno > logging.DEBUG]


async def test_closing_logs_nothing_above_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    source, workshop = busy_source(), Workshop()
    workshop.hold(3)
    async with Frontend(source, workshop.build) as frontend:
        await frontend.wait_for("other")
        put(source, 1, card=card("late"), component="late")
        await until(frontend, lambda: len(workshop.specs) == 3)
        notices = frontend.subscribe()
        caplog.clear()
    assert above_debug(caplog) == []
    assert "model 'm' is not ready" in caplog.text
    told = [type(notice).__name__ async for notice in notices]
    assert told.count("ModelNotReady") == 2, "subscribers get them all the same"


def test_closing_a_thread_logs_nothing_above_debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    source, workshop = busy_source(), Workshop()
    workshop.hold(3)
    with Frontend.run_in_thread(source, workshop.build) as running:
        running.wait_for("other")
        put(source, 1, card=card("late"), component="late")
        while len(workshop.specs) < 3:
            time.sleep(0.001)
        caplog.clear()
    assert above_debug(caplog) == []


async def test_dependencies_log_nothing_at_info(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    backend = FileBackend(tmp_path)
    for path, value in worker(1).items():
        backend.put(path, value)
    with caplog.at_level(logging.INFO):
        async with Frontend(backend.open(ttl=10)) as frontend:
            hop = (await frontend.wait_for("m")).decode
            for number in range(2, 5):
                for path, value in worker(number).items():
                    backend.put(path, value)
                    backend.touch(path)
                await until(frontend, partial(hop.__contains__, number))
    assert {record.name.partition(".")[0] for record in caplog.records} == {"workerset"}


async def test_a_failure_is_told_with_its_traceback_once(caplog: pytest.LogCaptureFixture) -> None:
    """After that a line for each try; the traceback again only for another failure."""
    source = MemoryDiscovery()
    put(source, 1)
    tries = 0

    async def build(_spec: BuildSpec) -> str:
        nonlocal tries
        tries += 1
        if tries <= 2:
            raise ValueError(f"no memory at 0x{tries:x}")
        if tries == 3:
            raise ValueError("no disk")
        return "pipeline"

    def has_tried(times: int) -> bool:
        return tries == times

    async with Frontend(source, build) as frontend:
        await until(frontend, partial(has_tried, 1))
        for wanted in (2, 3, 4):
            await asyncio.sleep(0)
            # A member that joins brings the retry forward to one second after the failure (clause S7).
            await until(frontend, lambda: frontend.inventory().worker_sets[0].phase == "retrying")
            put(source, 10 + wanted)
            await until(frontend, partial(has_tried, wanted))
        await frontend.wait_for("m")
    assert caplog.text.count("Traceback (most recent call last)") == 2
    retries = [record for record in caplog.records if getattr(record, "event", "") == "BuildRetry"]
    assert [record.levelname for record in retries] == ["WARNING"] * 3
    assert sum("building generation" in record.message for record in caplog.records) == 2
