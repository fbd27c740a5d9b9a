"""An in-process source, for tests and for programs that feed themselves."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from typing import TYPE_CHECKING

from workerset.discovery._memory_store import Listener, MemoryPublisher, MemoryStore, join
from workerset.discovery.base import MAX_RECORD_BYTES, SourceState, check_limit
from workerset.errors import DiscoveryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from workerset._native import Event, Filtered, Reset


class MemoryDiscovery:
    """A dictionary that is watched. Every change takes the next revision, from 1.

    `created` and `incarnation` are the revision at which a key appeared, as in etcd: a key that was deleted and put
    again is another registration (clause I8). Methods never block, and may be called from any thread.

    Objects of one name are views of one store in this process: what one puts, all see, each over a connection of its
    own. The store lives while a view of it is not closed, or a worker is registered in it; the next one is empty.

    Args:
        name: of the store; None: one of its own.
        max_record_bytes: a larger value is refused by its size when it is put here, and not kept; at least 1.

    Raises:
        ConfigError: `max_record_bytes` is less than 1.

    """

    def __init__(self, name: str | None = None, max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        check_limit(max_record_bytes)
        self._limit = max_record_bytes
        self._store = MemoryStore() if name is None else join(name, self)
        self._source = SourceState("live")
        self._closed = False
        self._readers: set[_Reader] = set()
        self._lock = threading.Lock()

    @property
    def source(self) -> SourceState:
        """`live`, or `lost` between `drop_connection` and `restore`."""
        return self._source

    def put(self, path: str, value: bytes | str) -> None:
        """Write a record, whether or not the connection is there.

        Args:
            path: bucket included, `v1/mdc/ns/component/endpoint/1f`.
            value: the record's JSON.

        Raises:
            ValueError: the path has a lone surrogate.

        """
        # A lone surrogate is for the controller to refuse.
        raw = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        self._store.put(path, raw, self._limit)

    def delete(self, path: str) -> None:
        """Remove a record; of an unknown path nothing is told."""
        self._store.delete(path)

    def publisher(self, ttl: float) -> MemoryPublisher:
        """What `register` writes into this store with; it looks every third of `ttl` whether all is still there."""
        return MemoryPublisher(self._store, ttl, self._limit)

    def drop_connection(self, reason: str = "the connection was dropped") -> None:
        """Cut off the readers of this object, not those of other views.

        They keep what they have (clause D3). Changes from now on reach them with the `Reset` of `restore`.

        Args:
            reason: for people; shows in `source`.

        """
        with self._lock:
            self._source = SourceState("lost", reason)
            for reader in self._readers:
                self._store.deafen(reader.listener)
                reader.cut()

    def restore(self) -> None:
        """Let the readers see again. Each gets a whole listing first (clause D4). Without a loss nothing happens."""
        with self._lock:
            if self._source.state == "lost":
                self._source = SourceState("live")
                for reader in self._readers:
                    self._store.listen(reader.listener)

    def filtered(self) -> tuple[Filtered, ...]:
        """See `FilterReporting`: nothing is kept back."""
        return ()

    async def batches(self) -> AsyncIterator[Sequence[Event]]:
        """See `Discovery.batches`. Ends after `aclose`."""
        reader = _Reader()
        with self._lock:
            if self._closed:
                return
            self._readers.add(reader)
            if self._source.state == "live":
                self._store.listen(reader.listener)
            else:
                reader.cut()
        try:
            while (batch := await reader.pull()) is not None:
                yield batch
        finally:
            with self._lock:
                self._readers.discard(reader)
                self._store.deafen(reader.listener)

    async def snapshot(self) -> Reset:
        """See `Discovery.snapshot`.

        Raises:
            DiscoveryError: between `drop_connection` and `restore`, and after `aclose`.

        """
        if self._closed or self._source.state == "lost":
            raise DiscoveryError(f"memory source: {'closed' if self._closed else self._source.reason}")
        return self._store.listing()

    async def aclose(self) -> None:
        """End every iteration, after what was told before."""
        with self._lock:
            self._closed = True
            self._store.users.discard(self)
            for reader in self._readers:
                self._store.deafen(reader.listener)
                reader.end()


class _Reader:
    """What one iteration has not taken yet: all of it is the next batch. Belongs to one event loop; filled by any."""

    def __init__(self) -> None:
        self.listener = Listener(self._hear)
        self._loop = asyncio.get_running_loop()
        self._pending: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._cut = False
        self._ended = False

    def cut(self) -> None:
        """Let `pull` return even with nothing: the state of the source changed."""
        self._cut = True
        self._rouse()

    def end(self) -> None:
        """Nothing follows."""
        self._ended = True
        self._rouse()

    async def pull(self) -> list[Event] | None:
        """What is pending; waits for it. None at the end."""
        self._wake.clear()
        while not (self._pending or self._cut or self._ended):
            await self._wake.wait()
            self._wake.clear()
        ended, self._cut = self._ended, False
        batch = []
        while self._pending:
            batch.append(self._pending.popleft())
        return batch if batch or not ended else None

    def _hear(self, event: Event) -> None:
        self._pending.append(event)
        if len(self._pending) == 1:
            self._rouse()

    def _rouse(self) -> None:
        # The loop may be over, its iteration never closed: then nobody waits.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._wake.set)
