"""Backends that tests write to, and a reader that follows an adapter as a controller would."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from workerset import Apply, Delete, Reset
from workerset.discovery import Discovery, FileDiscovery, MemoryDiscovery, SourceReporting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from workerset import Event

PATIENCE = 20.0


class Backend(Protocol):
    """One kind of backend: what its writers do."""

    def open(self) -> Discovery: ...
    def put(self, path: str, value: bytes) -> None: ...
    def delete(self, path: str) -> None: ...
    def lose(self) -> None: ...
    def restore(self) -> None: ...


class MemoryBackend:
    """Writers and readers share one object."""

    def __init__(self, _folder: Path) -> None:
        self._source = MemoryDiscovery()

    def open(self) -> MemoryDiscovery:
        return self._source

    def put(self, path: str, value: bytes) -> None:
        self._source.put(path, value)

    def delete(self, path: str) -> None:
        self._source.delete(path)

    def lose(self) -> None:
        self._source.drop_connection()

    def restore(self) -> None:
        self._source.restore()


class FileBackend:
    """Writes as Dynamo does: a hard link to create, a rename to replace."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "store"
        self.later = 0.0  # seconds by which the readers' clock runs ahead

    def open(self, ttl: float = 0.0, resync: float = 0.0) -> FileDiscovery:
        return FileDiscovery(self.root, ttl=ttl, resync=resync, clock=lambda: time.time() + self.later)

    def put(self, path: str, value: bytes) -> None:
        file = self.file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary = file.parent / f".tmp_{secrets.token_hex(8)}"
        temporary.write_bytes(value)
        if file.exists():
            temporary.rename(file)
        else:
            file.hardlink_to(temporary)
            temporary.unlink()

    def delete(self, path: str) -> None:
        self.file(path).unlink()

    def lose(self) -> None:
        self.root.rename(self.root.with_name("elsewhere"))

    def restore(self) -> None:
        self.root.with_name("elsewhere").rename(self.root)

    def file(self, path: str) -> Path:
        """Where a record lies; the names are spelled out here, not taken from the code under test."""
        version, bucket, key = path.split("/", 2)
        name = "".join(c if c.isascii() and c.isalnum() else "".join(f"%{b:02X}" for b in c.encode()) for c in key)
        return self.root / version / bucket / name

    def touch(self, path: str) -> None:
        """Give a record its sign of life, by the readers' clock."""
        now = time.time() + self.later
        os.utime(self.file(path), (now, now))


class Follower:
    """Takes in what an adapter tells, checks that it is told properly, and keeps what results."""

    def __init__(self, source: Discovery) -> None:
        self.source = source
        self.records: dict[str, bytes | str] = {}
        self.events: list[Event] = []
        self.states: list[str] = []
        self.ended = False
        self._revision = 0
        self._changed = asyncio.Event()

    async def follow(self) -> None:
        """Read until the end."""
        async for batch in self.source.batches():
            self._take(batch)
            self._changed.set()
        self.ended = True
        self._changed.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something is so."""
        while not holds():
            self._changed.clear()
            await asyncio.wait_for(self._changed.wait(), PATIENCE)

    def _take(self, batch: Sequence[Event]) -> None:
        if isinstance(self.source, SourceReporting):
            state = self.source.source.state
            assert batch or state != (self.states or [""])[-1], "an empty batch tells a change of state"
            self.states.append(state)
        for event in batch:
            assert self.events or isinstance(event, Reset), "a listing comes first"
            self.events.append(event)
            if isinstance(event, Reset):
                assert event.as_of >= self._revision, "a listing knows what was told before"
                assert all(told(entry) is not None or entry.path in self.records for entry in event.entries)
                self.records = {entry.path: told(entry) or self.records[entry.path] for entry in event.entries}
                self._revision = event.as_of
            else:
                assert event.revision > self._revision, "revisions grow"
                self._revision = event.revision
                if isinstance(event, Apply):
                    value = told(event)
                    assert value is not None
                    self.records[event.path] = value
                elif isinstance(event, Delete):
                    assert event.path in self.records, "what was never told is not taken back"
                    del self.records[event.path]


def told(entry: Apply) -> bytes | str | None:
    """The value, or why it is refused; None: unchanged."""
    return entry.value if entry.refused is None else f"refused: {entry.refused}"


@asynccontextmanager
async def following(source: Discovery) -> AsyncIterator[Follower]:
    """A follower that reads meanwhile. What it finds wrong fails the test."""
    follower = Follower(source)
    reading = asyncio.create_task(follower.follow())
    reading.add_done_callback(lambda _task: follower._changed.set())
    try:
        yield follower
    finally:
        await source.aclose()
        await asyncio.wait_for(reading, PATIENCE)
