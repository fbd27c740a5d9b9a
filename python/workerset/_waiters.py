"""Who waits for a route, in tasks and in threads."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from workerset._native import AdmissionController


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

    def __len__(self) -> int:
        """How many wait."""
        with self._lock:
            return sum(len(entry.sleepers) for entry in self._entries.values())

    @contextmanager
    def joined(self, wanted: Wanted, wake: Callable[[], None]) -> Iterator[None]:
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


class _Entry(NamedTuple):
    ticket: int
    sleepers: dict[object, Callable[[], None]]
