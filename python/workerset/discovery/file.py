"""Dynamo's file store as a source.

Two folders are watched and listed again every so often. Three things a watcher cannot see are looked for besides:
files that expire because nobody touches them, folders that come, go or are replaced, and what the watcher itself
missed.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

from workerset._log import Log
from workerset._native import Filtered
from workerset._text import duration
from workerset.discovery._file_store import BUCKETS, FileStore, check_root
from workerset.discovery._file_view import FileView
from workerset.discovery._file_watch import FolderWatcher
from workerset.discovery.base import MAX_RECORD_BYTES, SourceState, check_limit
from workerset.errors import DiscoveryError

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Sequence

    from workerset._native import Event, Reset

_log = Log("workerset.discovery")


class FileDiscovery:
    """Reads `<root>/v1/mdc/` and `<root>/v1/instances/`, flat folders of files with percent-encoded names.

    A folder that does not exist yet is empty, since writers make it when they need it. One that was there and is gone
    is a lost source: nothing is removed (clause D3) until it can be listed again. Revisions are this object's own
    count of observations, from 1. `created` is the file's birth time where the platform tells, so that of the
    registrations that are found together the oldest comes first (clause R6); replacing a file (a taint update) renews
    it.

    Names that do not decode are handed on under their raw name, for the controller to refuse with a reason. A file that
    cannot be read keeps what it last held; one that never could be read is logged, and stands as refused until it can.

    Needs the extra `file` (watchfiles) for `batches`, nothing for `snapshot`. Listing 20,000 workers takes a second or
    so of a thread, never of the event loop.

    Args:
        root: the folder that holds `v1` (`DYN_FILE_KV`).
        ttl: seconds after its last touch at which a file counts as removed, compared with this machine's clock; 0:
            never.
        resync: seconds between two listings of everything (clause D4), drawn anew each time within 10 % around it; 0:
            none.
        clock: seconds since 1970, comparable with the files' mtimes.
        max_record_bytes: a larger file is refused by its size, unread; at least 1.

    Raises:
        ConfigError: `max_record_bytes` is less than 1, or no folder can be named like that.

    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        ttl: float = 10.0,
        resync: float = 30.0,
        clock: Callable[[], float] = time.time,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        check_limit(max_record_bytes)
        self._store = FileStore(str(check_root(root)), ttl, clock, max_record_bytes)
        self._resync = resync
        self._count = itertools.count(1)
        self._seen: set[str] = set()  # buckets that existed at some time
        self._source = SourceState("lost", "not listed yet")
        self._closed = False
        self._watchers: set[FolderWatcher] = set()

    @property
    def root(self) -> Path:
        """The folder that holds `v1`, absolute."""
        return Path(self._store.root)

    @property
    def source(self) -> SourceState:
        """See `SourceReporting`."""
        return self._source

    def filtered(self) -> tuple[Filtered, ...]:
        """See `FilterReporting`: files that are older than the TTL, and other spellings of a key that is there."""
        now, store = time.monotonic(), self._store
        found = []
        for skipped in store.skipped():
            key = skipped.path.removeprefix(f"{BUCKETS[0]}/")
            age = max(0.0, store.age(skipped.since))
            if skipped.expired:
                silent = duration(age + store.ttl)
                reason = f"no sign of life for {silent}, longer than the TTL of {duration(store.ttl)}"
            else:
                reason = "another file stands for the same key, under its proper name"
            found.append(Filtered(key, reason, now - age))
        return tuple(sorted(found, key=lambda one: one.key))

    async def snapshot(self) -> Reset:
        """See `Discovery.snapshot`. Expired files are left out.

        Raises:
            DiscoveryError: a folder cannot be listed, or one that was there before is gone.

        """
        try:
            self._present(await asyncio.to_thread(self._store.folders))
            return await asyncio.to_thread(FileView(self._store, self._revision).listing)
        except OSError as error:
            raise DiscoveryError(str(error), url=self.root.as_uri()) from error

    async def batches(self) -> AsyncIterator[Sequence[Event]]:
        """See `Discovery.batches`. Ends after `aclose`.

        Raises:
            ConfigError: the extra `file` is not installed.

        """
        view = FileView(self._store, self._revision)
        watcher = FolderWatcher()
        self._watchers.add(watcher)
        watched: dict[str, tuple[int, int]] | None = None  # None: everything has to be listed
        listed = due = -math.inf
        lost = ""
        try:
            while not self._closed:
                try:
                    folders = self._present(await asyncio.to_thread(self._store.folders))
                    events: Sequence[Event]
                    if watched != folders or time.monotonic() >= (
                        min(due, listed + _RELIST) if watcher.failed else due
                    ):
                        if watched != folders or watcher.failed:
                            # The watches are there before the listing starts, so nothing falls in between.
                            await watcher.watch({self._store.folder(bucket): bucket for bucket in folders})
                        events = [await asyncio.to_thread(view.listing)]
                        watched, listed = folders, time.monotonic()
                        due = listed + self._pause()
                    else:
                        events = await asyncio.to_thread(view.changes, watcher.take())
                except OSError as error:
                    watched = None
                    if lost != str(error):
                        lost = str(error)
                        _log.write(
                            logging.WARNING, "%s: %s; nothing is removed until it can be listed again", self.root, lost
                        )
                        self._source = SourceState("lost", lost)
                        yield []
                    await watcher.changed(_LOOK)
                    continue
                lost = ""
                self._source = SourceState("live")
                if events:
                    yield events
                events = []  # a listing is large, and the wait long
                await watcher.changed(max(_TICK, min(_LOOK, view.next_expiry() + _TICK, due - time.monotonic())))
        finally:
            self._watchers.discard(watcher)
            await watcher.stop()

    async def aclose(self) -> None:
        """See `Discovery.aclose`."""
        self._closed = True
        for watcher in self._watchers:
            watcher.wake()

    def _pause(self) -> float:
        if self._resync <= 0:
            return math.inf
        return self._resync * random.uniform(0.9, 1.1)  # noqa: S311  # spreads the listings of many readers

    def _revision(self) -> int:
        return next(self._count)

    def _present(self, folders: dict[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
        missing = self._seen - folders.keys()
        if missing:
            raise FileNotFoundError(f"{self._store.folder(min(missing))} was there and is gone")
        self._seen.update(folders)
        return folders


_LOOK = 0.5  # seconds between two looks at the folders themselves
_RELIST = 1.0  # seconds between two listings while the operating system gives no watches
_TICK = 0.001  # seconds; a file expires only when it is older than the TTL
