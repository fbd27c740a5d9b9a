"""Dynamo's file store as it lies on disk (blocking; `FileDiscovery` calls this from a thread).

`<root>/v1/mdc/` and `<root>/v1/instances/` are flat. A file's name is the key below the bucket with every byte that is
no ASCII letter or digit written as `%XX`; its content is the record; its mtime is the owner's last sign of life.
"""

# Paths are texts here: there may be a hundred thousand of them.
# ruff: noqa: PTH116, PTH118

from __future__ import annotations

import os
import re
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workerset._text import named
from workerset.discovery._birthtime import birth_ns
from workerset.discovery.base import MAX_RECORD_BYTES, too_large
from workerset.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BUCKETS = ("v1/mdc", "v1/instances")
TEMPORARY = ".tmp_"  # how the name of a file begins that is being written

_PERCENT = re.compile(rb"%([0-9A-Fa-f]{2})")
_ALPHANUMERIC = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def check_root(root: str | os.PathLike[str]) -> Path:
    """The folder of a store, absolute.

    Raises:
        ConfigError: no folder can have that name.

    """
    try:
        if b"\0" not in os.fsencode(root):
            return Path(os.fsdecode(root)).absolute()
    except UnicodeEncodeError:
        pass
    raise ConfigError("discovery", f"no folder can be named {named(os.fspath(root))}")


def encode_name(key: str) -> str:
    """The file name of a key: `ns/backend/generate/1f` gives `ns%2Fbackend%2Fgenerate%2F1f`."""
    return "".join(chr(byte) if byte in _ALPHANUMERIC else f"%{byte:02X}" for byte in key.encode())


def decode_name(name: str) -> str | None:
    """The key of a file name, or None if a `%` is not followed by two hex digits or the bytes are not UTF-8.

    Bytes that Dynamo would have escaped may stand for themselves.
    """
    raw = os.fsencode(name)
    if raw.count(b"%") != len(_PERCENT.findall(raw)):
        return None
    try:
        return _PERCENT.sub(lambda match: bytes((int(match[1], 16),)), raw).decode()
    except UnicodeDecodeError:
        return None


def is_temporary(name: str) -> bool:
    """Whether the file is one that a writer has not finished yet."""
    return name.startswith(TEMPORARY)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file that counts: in a bucket, not temporary, not expired.

    Attributes:
        path: the record's path, bucket included. Of a name that does not decode: bucket and raw name, which no valid
            path can equal, so the controller refuses the record and says so (clause R7).
        name: the file name.
        value: the content; None if the file is there and cannot be read, or is refused.
        refused: why it is refused, unread or half read; empty if it is not.
        alive: the owner's last sign of life, seconds since 1970: the mtime, but no later than when that mtime was first
            seen.
        created: birth time, nanoseconds since 1970; None where unknown.
        inode: with `created` it tells a file from another that took over its name.

    """

    path: str
    name: str
    value: bytes | None
    refused: str
    alive: float
    created: int | None
    inode: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that does not count.

    Attributes:
        path: as in `StoredFile`.
        since: since when, seconds since 1970.
        expired: whether the owner gave no sign of life; else the key stands under its proper name as well.

    """

    path: str
    since: float
    expired: bool


class FileStore:
    """Reads a store. Never writes.

    A sign of life from the future comes from a clock that runs ahead, and would count until ours has caught up. It
    counts as given when it is first seen, so the skew of a dead owner buys it one TTL at most.

    Args:
        root: the folder that holds `v1`.
        ttl: seconds after its last sign of life at which a file counts as removed; 0: never. Dynamo itself applies it
            only in the sweeps of its own processes, so with all of them dead the files stay; here it is applied on
            every read.
        clock: seconds since 1970, comparable with the mtimes.
        limit: bytes of a record; a larger one is refused.

    """

    def __init__(
        self, root: str, ttl: float, clock: Callable[[], float] = time.time, limit: int = MAX_RECORD_BYTES
    ) -> None:
        self.root = root
        self.ttl = ttl
        self._limit = limit
        self._clock = clock
        # Of files whose mtime was ahead of the clock when first seen: that mtime, and when it was.
        self._ahead: dict[str, tuple[float, float]] = {}
        self._skipped: dict[str, Skipped] = {}  # by place

    def folders(self) -> dict[str, tuple[int, int]]:
        """Device and inode of the bucket folders that exist.

        Raises:
            OSError: the store cannot be looked at.

        """
        found = {}
        for bucket in BUCKETS:
            try:
                status = os.stat(self.folder(bucket))
            except FileNotFoundError:
                continue
            found[bucket] = (status.st_dev, status.st_ino)
        return found

    def folder(self, bucket: str) -> str:
        """Where a bucket lies."""
        return os.path.join(self.root, *bucket.split("/"))

    def scan(self) -> Iterator[StoredFile]:
        """Read every file. A name as Dynamo writes it wins over another spelling of the same key.

        Raises:
            OSError: a folder cannot be listed. A folder that does not exist is empty.

        """
        for bucket in BUCKETS:
            try:
                with os.scandir(self.folder(bucket)) as listing:
                    names = [entry.name for entry in listing if not is_temporary(entry.name)]
            except FileNotFoundError:
                continue
            present = set(names)
            self._forget_absent(bucket, present)
            for name in names:
                key = decode_name(name)
                if key is not None and name != encode_name(key) and encode_name(key) in present:
                    other = Skipped(record_path(bucket, name), self._clock(), expired=False)
                    self._skipped.setdefault(self._place(bucket, name), other)
                    continue
                file = self.read(bucket, name)
                if file is not None:
                    yield file

    def read(self, bucket: str, name: str) -> StoredFile | None:
        """Read one file; None if it is gone, expired, or not a file."""
        place = self._place(bucket, name)
        try:
            descriptor = os.open(place, _OPEN)
        except FileNotFoundError:
            self._ahead.pop(place, None)
            self._skipped.pop(place, None)
            return None
        except OSError:
            return self._unreadable(bucket, name, place)
        # The status is that of the opened file: the name may be taken over by a newer one in between.
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            alive = self._sign_of_life(place, status.st_mtime)
            if self._skips(place, bucket, name, alive):
                return None
            born = birth_ns(descriptor)
            value, refused = self._content(descriptor, status.st_size)
        finally:
            os.close(descriptor)
        return StoredFile(record_path(bucket, name), name, value, refused, alive, born, status.st_ino)

    def skipped(self) -> list[Skipped]:
        """The files that do not count, as they were when last looked at. From any thread."""
        return list(self._skipped.values())

    def age(self, since: float) -> float:
        """Seconds since then."""
        return self._clock() - since

    def expired(self, alive: float) -> bool:
        """Whether a file with that last sign of life counts as removed."""
        return self.ttl > 0 and self.age(alive) > self.ttl

    def remaining(self, alive: float) -> float:
        """Seconds until a file with that last sign of life expires; infinite without a TTL."""
        return alive + self.ttl - self._clock() if self.ttl > 0 else float("inf")

    def _content(self, descriptor: int, size: int) -> tuple[bytes | None, str]:
        """The value, and why it is refused. The size is a hint: the file may be growing."""
        chunks, total = [], 0
        if size <= self._limit:
            try:
                while chunk := os.read(descriptor, min(max(size, 4095), self._limit - total) + 1):
                    chunks.append(chunk)
                    total += len(chunk)
                    if total > self._limit or len(chunk) == size:
                        break
            except OSError:
                return None, ""
        if max(size, total) > self._limit:
            return None, too_large(max(size, total), self._limit)
        return b"".join(chunks), ""

    def _sign_of_life(self, place: str, modified: float) -> float:
        ahead = self._ahead.get(place)
        if ahead is not None and ahead[0] == modified:
            return ahead[1]
        now = self._clock()
        if modified > now:
            self._ahead[place] = (modified, now)
            return now
        self._ahead.pop(place, None)
        return modified

    def _forget_absent(self, bucket: str, present: set[str]) -> None:
        start = self._place(bucket, "")
        for places in (self._ahead, self._skipped):
            for place in list(places):
                if place.startswith(start) and place[len(start) :] not in present:
                    places.pop(place, None)

    def _skips(self, place: str, bucket: str, name: str, alive: float) -> bool:
        if self.expired(alive):
            self._skipped[place] = Skipped(record_path(bucket, name), alive + self.ttl, expired=True)
            return True
        self._skipped.pop(place, None)
        return False

    def _place(self, bucket: str, name: str) -> str:
        return os.path.join(self.folder(bucket), name)

    def _unreadable(self, bucket: str, name: str, place: str) -> StoredFile | None:
        try:
            status = os.lstat(place)
        except OSError:
            return None
        alive = self._sign_of_life(place, status.st_mtime)
        if stat.S_ISDIR(status.st_mode) or self._skips(place, bucket, name, alive):
            return None
        return StoredFile(record_path(bucket, name), name, None, "", alive, None, status.st_ino)


def record_path(bucket: str, name: str) -> str:
    """The path of the record in that file, see `StoredFile.path`."""
    key = decode_name(name)
    return f"{bucket}/{os.fsencode(name).decode(errors='backslashreplace') if key is None else key}"


# Without O_NONBLOCK a named pipe among the files would hang the listing; O_BINARY is Windows' own.
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
