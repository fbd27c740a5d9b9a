"""Who waits for a route, in tasks and in threads."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from workerset.errors import ConfigError, ModelNotFound, NotReady, RoutingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workerset._native import AdmissionController, Route


class Wanted(NamedTuple):
    """A route that somebody waits for; see `Frontend.wait_for`."""

    model: str
    model_type: str | None
    namespace: str | None
    unknown_ok: bool


class Waiters:
    """Wakes whoever waits for a route once the controller says that it may be there.

    All who want the same share one entry, and one wait of the controller. For any number of threads.

    Args:
        controller: tells which waits have ended.

    """

    def __init__(self, controller: AdmissionController) -> None:
        self._controller = controller
        self._lock = threading.Lock()
        self._entries: dict[Wanted, _Entry] = {}
        self._tickets: dict[int, Wanted] = {}

    async def wait(self, wanted: Wanted, timeout: float | None) -> Route:
        """Wait in a task; see `Frontend.wait_for`."""
        _check_timeout(timeout)
        if not isinstance(found := self._try(wanted), RoutingError):
            return found
        loop = asyncio.get_running_loop()
        end = None if timeout is None else loop.time() + timeout
        while True:
            woken = loop.create_future()
            with self._joined(wanted, partial(_resolve, woken)):
                if not isinstance(found := self._try(wanted), RoutingError):
                    return found
                if end is not None and loop.time() >= end:
                    raise found
                timer = None if end is None else loop.call_at(end, _resolve, woken)
                try:
                    await woken
                finally:
                    if timer is not None:
                        timer.cancel()

    def wait_in_thread(self, wanted: Wanted, timeout: float | None) -> Route:
        """Wait in the calling thread, which is blocked meanwhile; see `ThreadedFrontend.wait_for`."""
        _check_timeout(timeout)
        if not isinstance(found := self._try(wanted), RoutingError):
            return found
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            woken = threading.Event()
            with self._joined(wanted, woken.set):
                if not isinstance(found := self._try(wanted), RoutingError):
                    return found
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    raise found
                woken.wait(None if left is None else min(left, threading.TIMEOUT_MAX))

    def __len__(self) -> int:
        """How many wait."""
        with self._lock:
            return sum(len(entry.sleepers) for entry in self._entries.values())

    @contextmanager
    def _joined(self, wanted: Wanted, wake: Callable[[], None]) -> Iterator[None]:
        """Wait within the block: ask for the route first, so that nothing falls in between, then sleep.

        Args:
            wanted: what for.
            wake: called once at most, from the thread that changes the controller; never blocks.

        """
        sleeper = object()
        with self._lock:
            entry = self._entries.get(wanted)
            if entry is None:
                ticket = self._controller._begin_wait(*wanted)  # noqa: SLF001  # the driver's own
                entry = self._entries[wanted] = _Entry(ticket, {})
                self._tickets[ticket] = wanted
            entry.sleepers[sleeper] = wake
        try:
            yield
        finally:
            with self._lock:
                entry.sleepers.pop(sleeper, None)
                if not entry.sleepers and self._tickets.pop(entry.ticket, None) is not None:
                    del self._entries[wanted]
                    self._controller._give_up_wait(entry.ticket)  # noqa: SLF001

    def wake(self) -> None:
        """Wake those whose wait has ended."""
        for ticket in self._controller._ended_waits():  # noqa: SLF001
            self._end(ticket)

    def wake_all(self) -> None:
        """Wake everybody: nothing is waited for any more."""
        with self._lock:
            tickets = list(self._tickets)
        for ticket in tickets:
            self._end(ticket)

    def _end(self, ticket: int) -> None:
        with self._lock:
            wanted = self._tickets.pop(ticket, None)
            if wanted is None:  # the last sleeper has left
                return
            wakes = list(self._entries.pop(wanted).sleepers.values())
        for wake in wakes:
            wake()

    def _try(self, wanted: Wanted) -> Route | RoutingError:
        """The route, or why a wait for it goes on."""
        try:
            return self._controller.route(wanted.model, wanted.model_type, wanted.namespace)
        except NotReady as error:
            return error
        except ModelNotFound as error:
            if not wanted.unknown_ok:
                raise
            return error


class _Entry(NamedTuple):
    ticket: int
    sleepers: dict[object, Callable[[], None]]


def _resolve(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


def _check_timeout(timeout: float | None) -> None:
    if timeout is not None and math.isnan(timeout):
        raise ConfigError("timeout", "nan is not a number of seconds")
