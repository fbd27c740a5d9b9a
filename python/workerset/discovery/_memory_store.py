"""Records in this process, shared by all that name the same store."""

from __future__ import annotations

import secrets
import threading
from typing import TYPE_CHECKING
from weakref import WeakSet

from workerset._native import Apply, Delete, Reset
from workerset.discovery.base import too_large

if TYPE_CHECKING:
    from collections.abc import Callable

    from workerset._native import Event


class MemoryStore:
    """A dictionary that tells what changes. Every change takes the next revision, from 1. For any number of threads.

    Attributes:
        users: views and publishers that are not closed.

    """

    def __init__(self) -> None:
        self._records: dict[str, Apply] = {}
        self._revision = 0
        self._lock = threading.RLock()
        self._listeners: WeakSet[Listener] = WeakSet()
        self.users: WeakSet[object] = WeakSet()

    def put(self, path: str, value: bytes, limit: int) -> None:
        """Write a record; see `MemoryDiscovery.put`. Of one that is larger than the limit only that is kept."""
        refused = too_large(len(value), limit) if len(value) > limit else None
        with self._lock:
            revision = self._revision + 1
            known = self._records.get(path)
            created = known.created if known is not None else revision
            kept = value if refused is None else None
            record = Apply(path, kept, revision, created, str(created), refused)
            self._records[path], self._revision = record, revision
            self._tell(record)

    def delete(self, path: str) -> None:
        """Remove a record, if it is there."""
        with self._lock:
            if self._records.pop(path, None) is not None:
                self._revision += 1
                self._tell(Delete(path, revision=self._revision))

    def holds(self, path: str) -> bool:
        """Whether there is such a record."""
        return path in self._records

    def listing(self) -> Reset:
        """All records."""
        with self._lock:
            return Reset(list(self._records.values()), self._revision)

    def listen(self, listener: Listener) -> None:
        """Tell a listener everything: first a listing, then every change, in order, from whatever thread makes it."""
        with self._lock:
            self._listeners.add(listener)
            listener.hear(self.listing())

    def deafen(self, listener: Listener) -> None:
        """Tell it nothing more."""
        with self._lock:
            self._listeners.discard(listener)

    def _tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener.hear(event)


class Listener:
    """Somebody who is told.

    Args:
        hear: takes an event; never blocks.

    """

    def __init__(self, hear: Callable[[Event], None]) -> None:
        self.hear = hear


class MemoryPublisher:
    """A `Publisher` for a store. Records do not expire here; they go with their owner or by somebody's hand."""

    def __init__(self, store: MemoryStore, ttl: float, limit: int) -> None:
        self.interval = ttl / 3
        self._limit = limit
        self._store = store
        self._held: dict[str, None] = {}
        store.users.add(self)

    async def identity(self) -> int:
        """See `Publisher.identity`: random."""
        return secrets.randbits(64)

    async def create(self, path: str, value: bytes) -> None:
        """See `Publisher.create`."""
        self._store.put(path, value, self._limit)
        self._held[path] = None

    async def replace(self, path: str, value: bytes) -> None:
        """See `Publisher.replace`."""
        self._store.put(path, value, self._limit)

    async def remove(self, path: str) -> None:
        """See `Publisher.remove`."""
        self._held.pop(path, None)
        self._store.delete(path)

    async def keep(self) -> bool:
        """See `Publisher.keep`."""
        return all(self._store.holds(path) for path in self._held)

    async def withdraw(self, *, last: bool = False) -> None:
        """See `Publisher.withdraw`."""
        for path in reversed(self._held):
            self._store.delete(path)
        self._held.clear()
        if last:
            self._store.users.discard(self)


def join(name: str, user: object) -> MemoryStore:
    """The store of that name in this process. It lives while it has users; after the last one, the next is empty."""
    with _naming:
        for other in [other for other, store in _named.items() if not store.users]:
            del _named[other]
        store = _named.setdefault(name, MemoryStore())
        store.users.add(user)
        return store


_naming = threading.Lock()
_named: dict[str, MemoryStore] = {}
