"""The file store under a frontend: reports on touches, on records of dead processes and on silent watches (D4)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from tests.discovery.harness import FileBackend, following
from tests.discovery.records import worker
from tests.frontend.helpers import Workshop, until
from workerset import Apply, Reset
from workerset.frontend import Frontend


@pytest.fixture
def backend(tmp_path: Path) -> FileBackend:
    return FileBackend(tmp_path)


def put(backend: FileBackend, *instance_ids: int) -> None:
    for instance_id in instance_ids:
        for path, value in worker(instance_id).items():
            backend.put(path, value)


async def test_a_sign_of_life_is_no_registration(backend: FileBackend, caplog: pytest.LogCaptureFixture) -> None:
    """https://github.com/ai-dynamo/dynamo/pull/4434 (D1, I8): every touch filled the log with a registration."""
    caplog.set_level("INFO")
    put(backend, 1)
    workshop = Workshop()
    async with Frontend(backend.open(ttl=30.0), build=workshop.build) as frontend:
        hop = (await frontend.wait_for("m")).decode
        caplog.clear()
        async with following(backend.open(ttl=30.0)) as follower:
            await follower.until(lambda: len(follower.records) == 2)
            for path in (*worker(1), *worker(1)):
                backend.touch(path)
            put(backend, 2)  # after the touches, so they have been looked at when it is told
            await follower.until(lambda: len(follower.records) == 4)
            listing, *others = follower.events
        assert isinstance(listing, Reset)
        assert {event.path for event in others if isinstance(event, Apply)} == set(worker(2))
        assert len(others) == 2
        await until(frontend, lambda: hop.ids() == (1, 2))
        told = [record.getMessage() for record in caplog.records if record.name.startswith("workerset")]
        assert [message.partition(";")[0] for message in told] == ["workers of model 'm': joined 2"]
        assert ([spec.generation for spec in workshop.specs], hop.generation) == ([1], 1)


@pytest.mark.parametrize("ttl", [60.0, 0.0], ids=["records expire", "records never expire"])
async def test_a_record_that_nobody_keeps_alive(backend: FileBackend, ttl: float) -> None:
    """https://github.com/ai-dynamo/dynamo/pull/3944 (decision 0007, derived): it outlived its worker.

    The report asks that such entries be accepted and flagged. In this store every file has a time of its last touch, so
    none is without: unless expiry is switched off, a reader drops what nobody touches, also when no process is left to
    sweep the folder.
    """
    put(backend, 1, 2)
    async with Frontend(backend.open(ttl=ttl, resync=0.05)) as frontend:
        hop = (await frontend.wait_for("m")).decode
        await until(frontend, lambda: hop.ids() == (1, 2))
        backend.later = 50.0  # nobody has expired yet
        for path in worker(2):
            backend.touch(path)
        backend.later = 100.0
        put(backend, 3)
        for path in worker(3):
            backend.touch(path)
        expected = (2, 3) if ttl else (1, 2, 3)
        await until(frontend, lambda: hop.ids() == expected)
        assert all(backend.file(path).exists() for path in worker(1)), "a reader removes no file"
        assert (hop.retired, hop.generation) == (False, 1)


async def test_a_watch_that_says_nothing_is_made_good_by_a_listing(
    backend: FileBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """https://github.com/grpc/grpc-rust/pull/2746 (D4, derived): no event and no error, and dead addresses for ever.

    The source's half, for the file store: a listing in between finds what came and what went.
    """

    async def silent(*_paths: Any, stop_event: asyncio.Event, **_options: Any) -> AsyncGenerator[set[Any], None]:
        await stop_event.wait()
        yield set()

    monkeypatch.setattr(watchfiles, "awatch", silent)
    put(backend, 1, 2)
    async with Frontend(backend.open(resync=0.05)) as frontend:
        hop = (await frontend.wait_for("m")).decode
        await until(frontend, lambda: hop.ids() == (1, 2))
        for path in worker(1):
            backend.delete(path)
        put(backend, 3)
        await until(frontend, lambda: hop.ids() == (2, 3))
        assert hop.generation == 1
