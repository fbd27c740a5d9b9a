"""Tells which files below some folders were written, touched or removed."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from workerset._log import Log
from workerset._waiting import wait_set
from workerset.discovery._file_store import is_temporary
from workerset.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from watchfiles import Change

_log = Log("workerset.discovery")


class FolderWatcher:
    """Collects changes until they are taken. Belongs to one event loop.

    Attributes:
        failed: the operating system gave no watches, or took them back; until the next `watch` nothing will be told.

    """

    def __init__(self) -> None:
        self.failed = False
        self._changed = asyncio.Event()
        self._pending: dict[tuple[str, str], bool] = {}  # whether it was removed in between
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._told = ""

    async def watch(self, folders: Mapping[str, str]) -> None:
        """Watch these folders, path to label, instead of those before. When this returns the watches are set.

        Raises:
            ConfigError: watchfiles is not installed.

        """
        try:
            from watchfiles import Change, awatch  # noqa: PLC0415  # an extra
        except ModuleNotFoundError as error:
            raise ConfigError(
                "discovery", "watching a file store needs watchfiles: pip install 'workerset[file]'"
            ) from error
        await self.stop()
        self.failed = False
        self._pending.clear()
        if not folders:
            return
        self._stop = asyncio.Event()
        labels = _as_told(folders)

        def collect(change: Change, path: str) -> bool:
            folder, name = os.path.split(path)
            if folder in labels and not is_temporary(name):
                file = (labels[folder], name)
                self._pending[file] = self._pending.get(file, False) or change == Change.deleted
                self._changed.set()
            # What passes the filter is logged by watchfiles at INFO, a line for every touch of every file.
            return False

        changes = awatch(
            *folders,
            watch_filter=collect,
            debounce=_GROUP_MS,
            step=_STEP_MS,
            recursive=False,
            stop_event=self._stop,
        )
        self._task = asyncio.create_task(_exhaust(changes))
        self._task.add_done_callback(self._ended)
        # watchfiles sets its watches before it first waits, which is in the task's first step.
        await asyncio.sleep(0)

    def take(self) -> list[tuple[str, str, bool]]:
        """The changed files since the last call: label, file name, whether it was removed at some time.

        In the order of their first change.
        """
        taken = [(label, name, removed) for (label, name), removed in self._pending.items()]
        self._pending.clear()
        return taken

    async def changed(self, seconds: float) -> None:
        """Wait for a change, for `wake`, or for so many seconds."""
        await wait_set(self._changed, seconds)
        self._changed.clear()

    def wake(self) -> None:
        """End the wait."""
        self._changed.set()

    async def stop(self) -> None:
        """Give the watches back. Takes a few milliseconds, until the watching thread looks up."""
        if self._task is not None:
            self._stop.set()
            task, self._task = self._task, None
            await asyncio.wait({task})

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Whatever watchfiles raises (it comes in groups): no watches left, a file name that is no text."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        while inner := getattr(error, "exceptions", None):
            error = inner[0]
        self.failed = True
        self._changed.set()
        if self._told != str(error):
            self._told = str(error)
            _log.write(logging.WARNING, "cannot watch the store (%s); it is listed again and again instead", error)


async def _exhaust(changes: AsyncIterator[object]) -> None:
    async for _ in changes:
        pass


def _as_told(folders: Mapping[str, str]) -> dict[str, str]:
    """The labels by the paths that may be told: as given, and resolved, as some platforms do."""
    return {str(Path(folder).resolve()): label for folder, label in folders.items()} | dict(folders)


_STEP_MS = 20  # a quiet time this long ends a group of changes
_GROUP_MS = 100  # and this much time ends it in any case
