"""Runs a driver's builds and closes its pipelines. What the user's code does is never lost and never fatal."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from workerset._log import Log, Repeats
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


@dataclass(frozen=True, slots=True)
class _Running:
    work: asyncio.Task[Any]
    stop: asyncio.Future[None]  # done when the build was told to stop


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
        self._running: dict[BuildToken, _Running] = {}
        self._pipelines: dict[BuildToken, Any] = {}
        self._watching: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._failures = Repeats()

    def start(self, spec: BuildSpec) -> None:
        """Begin a build."""
        stop = asyncio.get_running_loop().create_future()
        running = self._running[spec.token] = _Running(asyncio.create_task(self._call_build(spec)), stop)
        watch = asyncio.create_task(self._watch(spec.token, running))
        self._watching.add(watch)
        watch.add_done_callback(self._watched)

    def cancel(self, token: BuildToken) -> None:
        """Ask a build to stop. It is reported when it has, and after 10 s in any case."""
        running = self._running.get(token)
        if running is not None and not running.stop.done():
            running.stop.set_result(None)

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
        """Stop every build, wait until they are reported, and close every pipeline. Takes no more than 20 s."""
        for token in list(self._running):
            self.cancel(token)
        if self._watching:
            await asyncio.wait(self._watching)
        for token in list(self._pipelines):
            self.withdraw(token)
        clock = asyncio.get_running_loop().time
        end = clock() + _PATIENCE
        while self._closing and clock() < end:
            await asyncio.wait(self._closing, timeout=end - clock())
        if self._closing:
            left = "closing %d pipelines takes longer than %g s; they are left to themselves"
            _log.write(logging.ERROR, left, len(self._closing), _PATIENCE)

    async def _call_build(self, spec: BuildSpec) -> Any:
        made: Any = self._build(spec)
        if not inspect.isawaitable(made):
            self.discard(made)
            raise TypeError(f"build returned {type(made).__name__}, nothing to await: it has to be an async function")
        return await made

    async def _call_close(self, close: Close, pipeline: Any) -> None:
        result = close(pipeline)
        if inspect.isawaitable(result):
            await result

    def _closed(self, task: asyncio.Task[None]) -> None:
        self._closing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.write(logging.ERROR, "closing a pipeline failed: %s", said(error), error=error)

    async def _watch(self, token: BuildToken, running: _Running) -> None:
        work, stop = running.work, running.stop
        await asyncio.wait({work, stop}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
        late = not work.done() and not stop.done()
        if not work.done():
            with suppress(Exception):  # it reaches into what the build awaits, which may raise
                work.cancel()
            await asyncio.wait({work}, timeout=_PATIENCE)
        del self._running[token]
        await self._report(token, self._outcome(token, work, cancelled=stop.done(), late=late))

    def _watched(self, task: asyncio.Task[None]) -> None:
        self._watching.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.write(logging.CRITICAL, "a build could not be reported: %s", said(error), error=error)

    def _outcome(self, token: BuildToken, work: asyncio.Task[Any], *, cancelled: bool, late: bool) -> Outcome:
        if not work.done():
            # It gives its place back all the same: one such build for each place would end all building for ever.
            deaf = "the build of generation %d ignores its cancellation and is left to itself after %g s"
            _log.write(logging.ERROR, deaf, token.generation, _PATIENCE)
            work.add_done_callback(self._abandoned)
        elif not work.cancelled() and (error := work.exception()) is not None:
            return self._failed(token, error, cancelled=cancelled, late=late)
        elif not work.cancelled():
            if not late:
                return Built(work.result())
            self.discard(work.result())
        if cancelled:
            return Cancelled()
        # A build that cancels itself must not count as cancelled: it would be queued again at once, for ever.
        return Failed(self._too_late() if late else "the build cancelled itself")

    def _failed(self, token: BuildToken, error: BaseException, *, cancelled: bool, late: bool) -> Outcome:
        reason = said(error)
        is_new = self._failures.is_new(str(token.worker_set), error)
        level = logging.WARNING if is_new else logging.DEBUG
        _log.write(level, "building generation %d failed: %s", token.generation, reason, error=error)
        if cancelled:
            return Cancelled()
        return Failed(self._too_late() if late else reason)

    def _too_late(self) -> str:
        return f"the build took longer than {self._timeout:g} s"

    def _abandoned(self, work: asyncio.Task[Any]) -> None:
        """A build that was left to itself has ended after all."""
        if work.cancelled():
            return
        if (error := work.exception()) is None:
            self.discard(work.result())
        else:
            _log.write(logging.DEBUG, "a build that was left to itself failed: %s", said(error), error=error)


_PATIENCE = 10.0  # seconds for a build that was told to stop, and for closing pipelines at the end
