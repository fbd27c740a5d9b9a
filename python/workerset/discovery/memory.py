"""An in-process source, for tests and for programs that feed themselves."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from workerset._native import Apply, Delete, Reset
from workerset.discovery.base import Event, SourceState
from workerset.errors import DiscoveryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence


class MemoryDiscovery:
    """A dictionary that is watched. Every change takes the next revision, from 1.

    `created` and `incarnation` are the revision at which a key appeared, as in etcd: a key that was deleted and put
    again is another registration (clause I8). Methods belong to the thread of the event loop and never block.
    """

    def __init__(self) -> None:
        self._records: dict[str, Apply] = {}
        self._revision = 0
        self._source = SourceState("live")
        self._closed = False
        self._readers: set[_Reader] = set()

    @property
    def source(self) -> SourceState:
        """`live`, or `lost` between `lose` and `restore`."""
        return self._source

    def put(self, path: str, value: bytes | str) -> None:
        """Write a record.

        Args:
            path: bucket included, `v1/mdc/ns/component/endpoint/1f`.
            value: the record's JSON.

        """
        self._revision += 1
        raw = value.encode() if isinstance(value, str) else value
        known = self._records.get(path)
        created = known.created if known is not None else self._revision
        record = Apply(path, raw, revision=self._revision, created=created, incarnation=str(created))
        self._records[path] = record
        self._tell(record)

    def delete(self, path: str) -> None:
        """Remove a record; of an unknown path nothing is told."""
        if self._records.pop(path, None) is not None:
            self._revision += 1
            self._tell(Delete(path, revision=self._revision))

    def lose(self, reason: str = "lost on purpose") -> None:
        """Cut the readers off: changes from now on reach them with the `Reset` of `restore`."""
        self._source = SourceState("lost", reason)
        for reader in self._readers:
            reader.cut()

    def restore(self) -> None:
        """Let the readers see again. Each gets a whole listing first (clause D4)."""
        if self._source.state == "lost":
            self._source = SourceState("live")
            for reader in self._readers:
                reader.push(self._listing())

    async def batches(self) -> AsyncIterator[Sequence[Event]]:
        """See `Discovery.batches`. Ends after `aclose`."""
        reader = _Reader()
        self._readers.add(reader)
        if self._closed:
            reader.end()
        elif self._source.state == "live":
            reader.push(self._listing())
        else:
            reader.cut()
        try:
            while (batch := await reader.pull()) is not None:
                yield batch
        finally:
            self._readers.discard(reader)

    async def snapshot(self) -> Reset:
        """See `Discovery.snapshot`.

        Raises:
            DiscoveryError: between `lose` and `restore`, and after `aclose`.

        """
        if self._closed or self._source.state == "lost":
            raise DiscoveryError(f"memory source: {'closed' if self._closed else self._source.reason}")
        return self._listing()

    async def aclose(self) -> None:
        """End every iteration, after what was told before."""
        self._closed = True
        for reader in self._readers:
            reader.end()

    def _listing(self) -> Reset:
        return Reset(list(self._records.values()), self._revision)

    def _tell(self, event: Event) -> None:
        if self._source.state == "live":
            for reader in self._readers:
                reader.push(event)


class _Reader:
    """What one iteration has not taken yet: all of it is the next batch."""

    def __init__(self) -> None:
        self._pending: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._ended = False

    def push(self, event: Event) -> None:
        self._pending.append(event)
        self._wake.set()

    def cut(self) -> None:
        self._wake.set()

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    async def pull(self) -> list[Event] | None:
        if self._ended and not self._pending:
            return None
        await self._wake.wait()
        batch = list(self._pending)
        self._pending.clear()
        if not self._ended:
            self._wake.clear()
        elif not batch:
            return None
        return batch
