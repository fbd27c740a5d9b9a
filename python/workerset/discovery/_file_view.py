"""What one iteration of `FileDiscovery.batches` has told, and what is next (blocking; called from a thread)."""

from __future__ import annotations

import heapq
import itertools
import logging
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from workerset._log import Log
from workerset._native import Apply, Delete, Reset
from workerset.discovery._file_store import FileStore, StoredFile, encode_name, record_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_log = Log("workerset.discovery")


@dataclass(slots=True)
class _Told:
    """A record as it was told last, and the file that it came from (inode, birth time).

    `taken_over`: a listing found another file than the one told before. An update does that, and so does a removal
    that the watcher has yet to report.
    """

    name: str
    digest: bytes | None
    alive: float
    file: tuple[int, int | None]
    taken_over: bool = False


class FileView:
    """Compares the store with what was told before. A touch is not an event: content decides.

    Args:
        store: the store.
        revision: draws the next revision. Drawn before a listing starts and after a single file was looked at, so that
            of two observations of one file the one with the higher revision never saw less (clause D2).

    """

    def __init__(self, store: FileStore, revision: Callable[[], int]) -> None:
        self._store = store
        self._revision = revision
        self._told: dict[str, _Told] = {}
        # A heap of (sign of life, tie-breaker, path, record). One live entry a told record; it may be outdated, so an
        # entry comes up early and is then put back. Entries of records that are gone are dropped when they come up.
        self._expiries: list[tuple[float, int, str, _Told]] = []
        self._ties = itertools.count()

    def listing(self) -> Reset:
        """List the whole store. Of what was told before and is unchanged the value is left out.

        Raises:
            OSError: the store cannot be listed; then nothing is forgotten.

        """
        as_of = self._revision()
        now: dict[str, _Told] = {}
        entries = []
        for file in self._store.scan():
            known = self._told.get(file.path)
            digest = self._digest(file, known)
            unchanged = known is not None and digest == known.digest
            identity = (file.inode, file.created)
            taken_over = known is not None and known.file != identity
            now[file.path] = _Told(file.name, digest, file.alive, identity, taken_over)
            if unchanged:
                entries.append(Apply(file.path, None, revision=as_of, created=file.created))
            else:
                entries.append(_apply(file, as_of))
        self._told = now
        self._expiries = [(told.alive, next(self._ties), path, told) for path, told in now.items()]
        heapq.heapify(self._expiries)
        return Reset(entries, as_of)

    def changes(self, files: Iterable[tuple[str, str, bool]]) -> list[Apply | Delete]:
        """Look at files that may have changed, and at those that may have expired.

        Args:
            files: bucket, name, and whether the file was seen to be removed at some time since the last look. Then
                one that is there now is another registration: it leaves and arrives. Replacing a file in one step, as
                updates do, is no removal.

        """
        events: list[Apply | Delete] = []
        for bucket, name, removed in files:
            self._look(bucket, name, events, removed=removed)
        while self._expiries and self._store.expired(self._expiries[0][0]):
            _, _, path, told = heapq.heappop(self._expiries)
            if self._told.get(path) is not told:
                continue
            if self._store.expired(told.alive):
                # Perhaps it was touched and the watcher has not said so yet.
                self._look(path[: path.index("/", len("v1/"))], told.name, events)
            if self._told.get(path) is told:
                self._expect(path, told)
        return events

    def next_expiry(self) -> float:
        """Seconds until a file may expire; infinite if none can. May be early, never late."""
        return self._store.remaining(self._expiries[0][0]) if self._expiries else float("inf")

    def _look(self, bucket: str, name: str, events: list[Apply | Delete], *, removed: bool = False) -> None:
        path = record_path(bucket, name)
        told = self._told.get(path)
        if told is not None and told.name != name and told.name == encode_name(path[len(bucket) + 1 :]):
            return  # another spelling of a key that stands under its proper name
        file = self._store.read(bucket, name)
        identity = (0, None) if file is None else (file.inode, file.created)
        # A removal that is reported late may be older than all that was told: then it is the very same file.
        if told is not None and (file is None or (removed and (told.taken_over or told.file != identity))):
            del self._told[path]
            events.append(Delete(path, revision=self._revision()))
            told = None
        if file is None:
            return
        digest = self._digest(file, told)
        changed = told is None or digest != told.digest
        if told is None:
            told = self._told[path] = _Told(name, digest, file.alive, identity)
            self._expect(path, told)
        else:
            told.name, told.digest, told.alive, told.file = name, digest, file.alive, identity
        if changed and digest is not None:
            events.append(_apply(file, self._revision()))

    def _expect(self, path: str, told: _Told) -> None:
        heapq.heappush(self._expiries, (told.alive, next(self._ties), path, told))

    def _digest(self, file: StoredFile, told: _Told | None) -> bytes | None:
        if file.refused:
            return _REFUSED
        if file.value is not None:
            return blake2b(file.value, digest_size=16).digest()
        if told is None:
            _log.write(
                logging.WARNING, "%s cannot be read and is left out until it can", self._store.root + "/" + file.path
            )
            return None
        return told.digest


def _apply(file: StoredFile, revision: int) -> Apply:
    return Apply(file.path, file.value, revision, file.created, refused=file.refused or None)


_REFUSED = b"refused"  # stands for the digest of what was not read
