"""Tells which files below some folders were written, touched or removed."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from workerset._waiting import wait_set
from workerset.discovery._file_store import is_temporary
from workerset.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_log = logging.getLogger("workerset.discovery")


class FolderWatcher:
    """Collects changes until they are taken. Belongs to one event loop.

    Attributes:
        failed: the operating system gave no watches, or took them back; until the next `watch` nothing will be told.

    """

    def __init__(self) -> None:
        self.failed = False
        self._changed = asyncio.Event()
        self._pending: dict[tuple[str, str], None] = {}
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def watch(self, folders: Mapping[str, str]) -> None:
        """Watch these folders, path to label, instead of those before. When this returns the watches are set.

        Raises:
            ConfigError: watchfiles is not installed.

        """
        await self.stop()
        self.failed = False
        self._pending.clear()
        if folders:
            self._stop = asyncio.Event()
            self._task = asyncio.create_task(self._run(folders, self._stop))
            # watchfiles sets its watches before it first waits, which is in the task's first step.
            await asyncio.sleep(0)
            if self._task.done():
                self._task.result()

    def take(self) -> list[tuple[str, str]]:
        """The changed files since the last call, as (label, file name), in the order of their first change."""
        taken = list(self._pending)
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

    async def _run(self, folders: Mapping[str, str], stop: asyncio.Event) -> None:
        try:
            from watchfiles import awatch  # noqa: PLC0415  # an extra
        except ModuleNotFoundError as error:
            raise ConfigError(
                "discovery", "watching a file store needs watchfiles: pip install 'workerset[file]'"
            ) from error
        labels = _as_told(folders)
        watch = awatch(
            *folders,
            watch_filter=lambda _change, path: not is_temporary(path.rpartition(os.sep)[2]),
            debounce=_GROUP_MS,
            step=_STEP_MS,
            recursive=False,
            stop_event=stop,
        )
        try:
            async for changes in watch:
                for _change, path in changes:
                    folder, name = os.path.split(path)
                    if folder in labels:
                        self._pending[labels[folder], name] = None
                self._changed.set()
        except (OSError, RuntimeError) as error:
            self.failed = True
            self._changed.set()
            _log.warning("cannot watch %s (%s); it is listed again and again instead", ", ".join(folders), error)


def _as_told(folders: Mapping[str, str]) -> dict[str, str]:
    """The labels by the paths that may be told: as given, and resolved, as some platforms do."""
    return {str(Path(folder).resolve()): label for folder, label in folders.items()} | dict(folders)


_STEP_MS = 20  # a quiet time this long ends a group of changes
_GROUP_MS = 100  # and this much time ends it in any case
