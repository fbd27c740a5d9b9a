"""Runs a driver's builds and closes its pipelines. What the user's code raises is never lost and never fatal."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from workerset._log import Log
from workerset._native import BuildSpec, BuildToken
from workerset._text import said

Build: TypeAlias = Callable[[BuildSpec], Awaitable[Any]]
Close: TypeAlias = Callable[[Any], Any]

_log = Log("workerset.frontend")


@dataclass(frozen=True, slots=True)
class Built:
    """The build returned."""

    pipeline: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The build raised, or took too long."""

    reason: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The build ended because it was told to."""


Outcome: TypeAlias = Built | Failed | Cancelled


class Builds:
    """The builds that run and the pipelines that serve.

    Args:
        build: makes a pipeline.
        close: drops one; a plain or an async callable. None: nothing to do.
        timeout: seconds a build may take.
        report: told the outcome of every build that was started, exactly once.

    """

    def __init__(
        self,
        build: Build,
        close: Close | None,
        timeout: float,
        report: Callable[[BuildToken, Outcome], Awaitable[None]],
    ) -> None:
        self._build = build
        self._close = close
        self._timeout = timeout
        self._report = report
        self._running: dict[BuildToken, asyncio.Task[Any]] = {}
        self._cancelled: set[BuildToken] = set()
        self._pipelines: dict[BuildToken, Any] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()

    def start(self, spec: BuildSpec) -> None:
        """Begin a build."""
        work = self._running[spec.token] = asyncio.create_task(self._call_build(spec))
        watch = asyncio.create_task(self._watch(spec.token, work))
        self._watching.add(watch)
        watch.add_done_callback(self._watching.discard)

    def cancel(self, token: BuildToken) -> None:
        """Ask a build to stop. It is reported when it has."""
        if token in self._running:
            self._cancelled.add(token)
            self._running[token].cancel()

    def keep(self, token: BuildToken, pipeline: Any) -> None:
        """Hold a committed pipeline until it is withdrawn."""
        self._pipelines[token] = pipeline

    def withdraw(self, token: BuildToken) -> None:
        """Close a committed pipeline."""
        self.discard(self._pipelines.pop(token, None))

    def discard(self, pipeline: Any) -> None:
        """Close a pipeline; None is none."""
        if pipeline is not None and self._close is not None:
            task = asyncio.create_task(self._call_close(self._close, pipeline))
            self._closing.add(task)
            task.add_done_callback(self._closed)

    async def aclose(self) -> None:
        """Stop every build, wait until they are reported, and close every pipeline."""
        for token in list(self._running):
            self.cancel(token)
        if self._watching:
            _, stubborn = await asyncio.wait(self._watching, timeout=_PATIENCE)
            if stubborn:
                left = "%d builds ignore their cancellation and are left to themselves"
                _log.write(logging.ERROR, left, len(stubborn))
        for token in list(self._pipelines):
            self.withdraw(token)
        while self._closing:
            await asyncio.wait(self._closing)

    async def _call_build(self, spec: BuildSpec) -> Any:
        return await self._build(spec)

    async def _call_close(self, close: Close, pipeline: Any) -> None:
        result = close(pipeline)
        if inspect.isawaitable(result):
            await result

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.write(logging.ERROR, "closing a pipeline failed: %s", said(error), error=error)

    async def _watch(self, token: BuildToken, work: asyncio.Task[Any]) -> None:
        await asyncio.wait({work}, timeout=self._timeout)
        late = not work.done()
        if late:
            work.cancel()
            await asyncio.wait({work})
        del self._running[token]
        cancelled = token in self._cancelled
        self._cancelled.discard(token)
        await self._report(token, self._outcome(token, work, cancelled, late))

    def _outcome(self, token: BuildToken, work: asyncio.Task[Any], cancelled: bool, late: bool) -> Outcome:
        error = None if work.cancelled() else work.exception()
        if error is not None:
            failed = "building generation %d failed: %s"
            _log.write(logging.WARNING, failed, token.generation, said(error), error=error)
        if not work.cancelled() and error is None:
            if not late:
                return Built(work.result())
            self.discard(work.result())
        if cancelled:
            return Cancelled()
        if late:
            return Failed(f"the build took longer than {self._timeout:g} s")
        # A build that cancels itself must not count as cancelled: it would be queued again at once, for ever.
        return Failed("the build cancelled itself" if error is None else said(error))


_PATIENCE = 10.0  # seconds that closing waits for builds that were told to stop
