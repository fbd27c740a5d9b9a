"""The asyncio driver: feeds a controller from a source, carries out what it asks for, and answers requests."""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Literal, final

from workerset._builds import Builds, Built, Cancelled, Failed
from workerset._fork import REASON, end_in_children
from workerset._log import Log
from workerset._native import (
    AdmissionConfig,
    AdmissionController,
    CancelBuild,
    Committed,
    Reset,
    StartBuild,
    Withdraw,
)
from workerset._threaded import ThreadedFrontend
from workerset._waiters import Waiters, Wanted
from workerset._waiting import wait_set
from workerset.discovery.base import FilterReporting, SourceReporting
from workerset.errors import (
    ConfigError,
    ControllerClosed,
    DiscoveryError,
    DiscoveryTimeout,
    InternalError,
)
from workerset.observability import Subscription, log_notice

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from workerset._builds import Build, Close, Outcome
    from workerset._native import BuildSpec, BuildToken, BuildVerdict, Event, Inventory, Route
    from workerset.discovery.base import Discovery

_log = Log("workerset.frontend")


@final
class Frontend:
    """Runs one controller on one event loop. An async context manager, entered once.

    It is entered when the first snapshot is applied. From then on `route` answers, builds run as the controller asks
    for them, due times are kept to within half a second, and every notice is logged (`log_notice`). Batches of more
    than 500 records are applied in a thread; `route` and picks go on meanwhile.

    Args:
        discovery: the source. The frontend closes it.
        build: `async def build(spec) -> pipeline`, run once for every `StartBuild`; what it returns is the route's
            `pipeline`. Cancelled on `CancelBuild` and at `build_timeout`, and then expected to end soon: it holds a
            build place until it does, for 10 s at most. Whatever it raises is a failed build, tried again (clause S7),
            but `SystemExit` and `KeyboardInterrupt`, which end the loop. Default: no pipeline, success at once.
        close: told to drop a pipeline: one that was withdrawn, and one whose build was fenced, blocked or late. A plain
            function (run on the loop) or an async one. What it raises is logged. A pipeline that is None is not closed.
        config: of the controller; default `AdmissionConfig()`.
        start_timeout: seconds to wait for the first snapshot.
        build_timeout: seconds that one build may take.

    Raises:
        ConfigError: a timeout is not positive, or `build` or `close` cannot be called.

    """

    def __init__(
        self,
        discovery: Discovery,
        build: Build | None = None,
        close: Close | None = None,
        config: AdmissionConfig | None = None,
        *,
        start_timeout: float = 30.0,
        build_timeout: float = 600.0,
    ) -> None:
        for name, value in (("start_timeout", start_timeout), ("build_timeout", build_timeout)):
            if not value > 0:
                raise ConfigError(name, f"{value!r} is not a positive number of seconds")
        for name, function in (("build", build), ("close", close)):
            if function is not None and not callable(function):
                raise ConfigError(name, f"{type(function).__name__} cannot be called")
        self._discovery = discovery
        self._controller = AdmissionController(config, build_timeout=build_timeout)
        self._builds = Builds(build or _no_pipeline, close, build_timeout, self._report)
        self._start_timeout = start_timeout
        self._lock = asyncio.Lock()  # one change at a time, in order, with a clock that does not go back
        self._deadline: float | None = None
        self._rescheduled = asyncio.Event()
        self._waiters = Waiters(self._controller)
        self._first: asyncio.Future[None] | None = None
        self._told = ""
        self._tasks: list[asyncio.Task[None]] = []
        self._subscriptions: weakref.WeakSet[Subscription] = weakref.WeakSet()
        self._closed = False
        self._forked = False

    async def __aenter__(self) -> Frontend:
        """Start, and wait for the first snapshot.

        Raises:
            ControllerClosed: it was entered in the process that this one was forked from.
            DiscoveryTimeout: there was none within `start_timeout`.
            DiscoveryError: the source ended before its first snapshot.
            ConfigError: the source cannot work as it is configured.

        """
        if self._forked:
            raise ControllerClosed(REASON)
        if self._first is not None:
            raise ConfigError("frontend", "was entered before; make a new one")
        self._first = asyncio.get_running_loop().create_future()
        end_in_children(self)
        self._tasks = [asyncio.create_task(self._follow(self._first)), asyncio.create_task(self._keep_time())]
        for task in self._tasks:
            task.add_done_callback(self._stopped)
        entered = False
        try:
            await asyncio.wait({self._first}, timeout=self._start_timeout)
            if not self._first.done():
                reason = self._discovery.source.reason if isinstance(self._discovery, SourceReporting) else ""
                waited = f"no snapshot within {self._start_timeout:g} s"
                raise DiscoveryTimeout(f"{waited}: {reason}" if reason else waited)
            self._first.result()
            entered = True
        finally:
            if not entered:
                await self.aclose()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def route(self, model: str, model_type: str | None = None, namespace: str | None = None) -> Route:
        """Find the committed target for a request. Never waits; cheap enough per request; from any thread.

        Args:
            model: display name, alias or adapter.
            model_type: e.g. `chat`: only sets that offer it.
            namespace: only sets of that namespace.

        Raises:
            ModelNotFound: nobody ever offered the name.
            NotReady: known, and nothing can serve it now.
            ControllerClosed: after `aclose`.

        """
        return self._controller.route(model, model_type=model_type, namespace=namespace)

    async def wait_for(
        self,
        model: str,
        timeout: float | None = 30.0,  # part of the public shape
        unknown_ok: bool = False,
        *,
        model_type: str | None = None,
        namespace: str | None = None,
    ) -> Route:
        """Like `route`, but wait while the model is not ready: through its first build, a retry, a succession.

        Returns at the change that makes it ready, without polling. What does not concern the name, the model type and
        the namespace wakes nobody.

        Args:
            model: display name, alias or adapter.
            timeout: seconds to wait at most; None: without end.
            unknown_ok: wait for a name that nobody offered yet, too.
            model_type: as in `route`.
            namespace: as in `route`.

        Raises:
            ConfigError: the timeout is not a number.
            ModelNotFound: at once if unknown and not `unknown_ok`; else when still unknown at the end.
            NotReady: when still not ready at the end, with the reasons as they are then.
            ControllerClosed: after `aclose`, also when that happens while waiting.

        """
        return await self._waiters.wait(Wanted(model, model_type, namespace, unknown_ok), timeout)

    def inventory(self) -> Inventory:
        """A picture of everything, and of what the source kept back.

        Takes the controller's lock: while a large batch is applied it waits for it.
        """
        filtered = self._discovery.filtered() if isinstance(self._discovery, FilterReporting) else ()
        return self._controller.inventory(now=time.monotonic(), filtered=filtered)

    def subscribe(self, limit: int = 1000) -> Subscription:
        """Notices from now on, for one reader: an async iterator of notices and `Lagged`.

        Args:
            limit: how many wait for the reader at most, at least 1; what is older then is dropped and counted.

        """
        if limit < 1:
            raise ConfigError("limit", f"{limit} is less than 1")
        if self._forked:
            raise ControllerClosed(REASON)
        subscription = Subscription(limit)
        if self._closed:
            subscription.end()
        self._subscriptions.add(subscription)
        return subscription

    async def aclose(self) -> None:
        """Stop: retire every hop, cancel the builds, close the pipelines and the source. Repeating it is harmless.

        Builds that ignore their cancellation, and a `close` that does not end, are left to themselves after 10 s each,
        with an error in the log.
        """
        if self._closed:  # in a forked child, too: its tasks are the parent's
            return
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._controller.close()
        self._waiters.wake_all()
        self._carry_out()
        await self._builds.aclose()
        for subscription in self._subscriptions:
            subscription.end()
        await self._discovery.aclose()

    def _abandon(self) -> None:
        """End it in a forked child: every call but `aclose` raises, every hop is retired. Waits for no lock.

        Whoever held one in the parent does not exist here.
        """
        self._controller._abandon(REASON)  # noqa: SLF001  # the driver's own
        self._closed = self._forked = True
        for subscription in self._subscriptions:
            subscription.abandon()

    @staticmethod
    def run_in_thread(
        discovery: Discovery,
        build: Build | None = None,
        close: Close | None = None,
        config: AdmissionConfig | None = None,
        *,
        start_timeout: float = 30.0,
        build_timeout: float = 600.0,
    ) -> ThreadedFrontend:
        """Run a frontend on an event loop in a thread of its own, for synchronous servers. Returns when it is entered.

        A server that forks calls this after the fork: in the child, every call of a frontend that was started before
        raises `ControllerClosed`, and its hops are retired; `close` does nothing. Arguments and errors as of
        `Frontend`; `build` and `close` run on that thread's loop.
        """
        return ThreadedFrontend(
            lambda: Frontend(discovery, build, close, config, start_timeout=start_timeout, build_timeout=build_timeout)
        )

    async def _follow(self, first: asyncio.Future[None]) -> None:
        """Follow the source for ever. An iterator that raises breaks the protocol; it is begun again, ever later."""
        pause = _PAUSE_MIN
        while True:
            reading = asyncio.create_task(self._read(first))
            try:
                await asyncio.wait({reading})
            finally:
                reading.cancel()
                await asyncio.wait({reading})
            error = DiscoveryError("the iterator cancelled itself") if reading.cancelled() else reading.exception()
            if isinstance(error, InternalError | ControllerClosed) or (
                isinstance(error, ConfigError) and not first.done()
            ):
                raise error
            if error is None:
                await self._tell_source("ended")
                if not first.done():
                    raise DiscoveryError("the source ended before its first snapshot")
                return
            await self._tell_source("lost")
            _log.write(logging.ERROR, "the source failed and is read again in %g s: %r", pause, error, error=error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, _PAUSE_MAX)

    async def _read(self, first: asyncio.Future[None]) -> None:
        batches = self._discovery.batches()
        try:
            async for batch in batches:
                await self._apply(batch)
                if not first.done() and any(isinstance(event, Reset) for event in batch):
                    first.set_result(None)
                del batch  # a listing is large, and the next item may be long in coming
        finally:
            if isinstance(batches, AsyncGenerator):
                await batches.aclose()

    def _stopped(self, task: asyncio.Task[None]) -> None:
        """A part of the driver ended. With an error it is over: nobody waits in vain."""
        if task.cancelled() or (error := task.exception()) is None:
            return
        if self._first is not None and not self._first.done():
            self._first.set_exception(error)
        else:
            _log.write(logging.CRITICAL, "the driver stopped: %r", error, error=error)
        self._waiters.wake_all()

    async def _apply(self, batch: Sequence[Event]) -> None:
        state = self._discovery.source.state if isinstance(self._discovery, SourceReporting) else "live"
        records = sum(len(event.entries) if isinstance(event, Reset) else 1 for event in batch)
        async with self._lock:
            if records > _LARGE:
                await asyncio.to_thread(self._apply_now, batch)
            elif batch:
                self._apply_now(batch)
            if state != self._told:
                self._told = state
                self._controller.source_changed(state, now=time.monotonic())
            self._carry_out()

    def _apply_now(self, batch: Sequence[Event]) -> None:
        self._controller.apply(batch, now=time.monotonic())

    async def _tell_source(self, state: Literal["lost", "ended"]) -> None:
        async with self._lock:
            self._told = state
            self._controller.source_changed(state, now=time.monotonic())
            self._carry_out()

    async def _keep_time(self) -> None:
        """Let what is due fall due: at the controller's deadline, and every half second in any case."""
        last = time.monotonic()
        while True:
            due = last + _TICK if self._deadline is None else min(last + _TICK, max(self._deadline, last + _STEP))
            wait = due - time.monotonic()
            if wait > 0:
                self._rescheduled.clear()
                await wait_set(self._rescheduled, wait)
                continue
            async with self._lock:
                last = time.monotonic()
                self._controller.advance(now=last)
                self._carry_out()

    async def _report(self, token: BuildToken, outcome: Outcome) -> None:
        pipeline = outcome.pipeline if isinstance(outcome, Built) else None
        async with self._lock:
            verdict = self._judge(token, outcome)
            if isinstance(verdict, Committed):
                self._builds.keep(token, pipeline)
            else:
                self._builds.discard(pipeline)
            self._carry_out()

    def _judge(self, token: BuildToken, outcome: Outcome) -> BuildVerdict:
        now = time.monotonic()
        match outcome:
            case Built():
                return self._controller.build_succeeded(token, outcome.pipeline, now=now)
            case Cancelled():
                return self._controller.build_cancelled(token, now=now)
            case Failed():
                return self._controller.build_failed(token, outcome.reason, now=now)

    def _carry_out(self) -> None:
        while (output := self._controller.poll()) is not None:
            if isinstance(output, StartBuild):
                self._builds.start(output.spec)
            elif isinstance(output, CancelBuild):
                self._builds.cancel(output.token)
            elif isinstance(output, Withdraw):
                self._builds.withdraw(output.token)
            else:
                log_notice(output, logging.DEBUG if self._closed else logging.ERROR)
                for subscription in self._subscriptions:
                    subscription.push(output)
        self._deadline = self._controller.next_deadline
        self._rescheduled.set()
        self._waiters.wake()


async def _no_pipeline(_spec: BuildSpec) -> Any:
    return None


_LARGE = 500  # records; a batch of more is applied in a thread
_TICK = 0.5  # seconds between two looks at what the caller's threads may have changed (report_down, inventory)
_STEP = 0.001  # seconds between two deadlines at least
_PAUSE_MIN = 0.5  # seconds before a source that raised is read again; doubles
_PAUSE_MAX = 30.0
