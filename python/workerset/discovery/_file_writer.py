"""Writes records into Dynamo's file store, as a Dynamo worker does."""

# Paths are texts here, as in `_file_store`.
# ruff: noqa: PTH103, PTH105, PTH108, PTH118, PTH120

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import threading
from typing import TYPE_CHECKING, TypeVar

from workerset.discovery._file_store import TEMPORARY, check_root, encode_name
from workerset.errors import DiscoveryError

if TYPE_CHECKING:
    from collections.abc import Callable

_Result = TypeVar("_Result")


class FilePublisher:
    """A `Publisher` for the file store below a folder.

    A record appears whole: it is written under a temporary name and then linked (a new one) or renamed (a change) to
    its own. Its mtime is its sign of life. Files of other owners are left alone, expired ones too.

    Args:
        root: the folder that holds `v1`; it and the folders below are made when they are missing.
        ttl: seconds after its last sign of life at which readers take a file for removed.

    """

    def __init__(self, root: str | os.PathLike[str], ttl: float) -> None:
        self.interval = ttl / 3
        self._root = check_root(root)
        self._held: dict[str, None] = {}  # paths of records, in the order of their creation
        self._ended = False
        # Steps run in threads, and one whose caller was cancelled runs on; the next step waits for its end.
        self._lock = threading.Lock()

    async def identity(self) -> int:
        """See `Publisher.identity`: random, as Dynamo draws it for this backend."""
        return secrets.randbits(64)

    async def create(self, path: str, value: bytes) -> None:
        """See `Publisher.create`."""
        await self._step(lambda: self._create(path, value))

    async def replace(self, path: str, value: bytes) -> None:
        """See `Publisher.replace`."""
        await self._step(lambda: self._replace(path, value))

    async def remove(self, path: str) -> None:
        """See `Publisher.remove`."""
        await self._step(lambda: self._remove([path]))

    async def keep(self) -> bool:
        """See `Publisher.keep`: touches every file."""
        return await self._step(self._touch)

    async def withdraw(self, *, last: bool = False) -> None:
        """See `Publisher.withdraw`."""
        await self._step(lambda: self._withdraw(last))

    async def _step(self, work: Callable[[], _Result]) -> _Result:
        """Run a step in a thread, to its end even when the caller is cancelled.

        Raises:
            DiscoveryError: the file system refuses.

        """

        def locked() -> _Result:
            with self._lock:
                return work()

        try:
            return await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, locked))
        except OSError as error:
            raise DiscoveryError(str(error), url=self._root.as_uri()) from error

    def _create(self, path: str, value: bytes) -> None:
        if self._ended:  # the step of a cancelled caller that came to run after the end
            return
        place = self._place(path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        temporary = _write_beside(place, value)
        try:
            os.link(temporary, place)
        finally:
            os.unlink(temporary)
        self._held[path] = None

    def _replace(self, path: str, value: bytes) -> None:
        place = self._place(path)
        if path not in self._held:
            return
        temporary = _write_beside(place, value)
        try:
            os.replace(temporary, place)
        except OSError:
            os.unlink(temporary)
            raise

    def _touch(self) -> bool:
        try:
            for path in self._held:
                os.utime(self._place(path))  # by the clock of the file system, not ours
        except FileNotFoundError:
            return False
        return True

    def _withdraw(self, last: bool) -> None:
        self._ended = self._ended or last
        self._remove(list(reversed(self._held)))

    def _remove(self, paths: list[str]) -> None:
        failure: OSError | None = None
        for path in paths:
            self._held.pop(path, None)
            try:
                with contextlib.suppress(FileNotFoundError):  # somebody else removed it first
                    os.unlink(self._place(path))
            except OSError as error:
                failure = error
        if failure is not None:
            raise failure

    def _place(self, path: str) -> str:
        version, bucket, key = path.split("/", 2)
        return os.path.join(self._root, version, bucket, encode_name(key))


def _write_beside(place: str, value: bytes) -> str:
    """Write a file that readers overlook, in the same folder. Readable by all, as far as the umask allows."""
    temporary = os.path.join(os.path.dirname(place), TEMPORARY + secrets.token_hex(8))
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor
            file.write(value)
    except OSError:
        os.unlink(temporary)
        raise
    return temporary
