"""A frontend does not survive a fork: in the child it says so, and waits for no lock of the parent."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
import traceback
import warnings
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.discovery.records import card, worker
from tests.frontend.helpers import put
from workerset import Apply, BindingRetired, Frontend, NotReady, Reset, ThreadedFrontend
from workerset.discovery import MemoryDiscovery
from workerset.errors import ControllerClosed, NoRoutableWorkers

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = 20  # that a child may take


def in_child(work: Callable[[], None]) -> None:
    """Run something in a forked process; it fails the test if it raises, or does not end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons advise against what is tested here
        child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            work()
        except BaseException:  # noqa: BLE001  # whatever it is: nothing else may run here
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, "see the child's traceback; -14: it hung"


def source_of(*numbers: int) -> MemoryDiscovery:
    source = MemoryDiscovery()
    put(source, *numbers)
    return source


def refused(frontend: ThreadedFrontend) -> None:
    with pytest.raises(ControllerClosed):
        frontend.route("m")


def test_in_the_child_every_call_raises_and_the_parent_goes_on() -> None:
    with Frontend.run_in_thread(source_of(1, 2)) as frontend:
        route = frontend.wait_for("m")
        hop = route.decode
        with pytest.raises(NotReady) as unread:
            frontend.route("m", "embedding")

        def child() -> None:
            for call in (
                lambda: frontend.route("m"),
                lambda: frontend.route("nobody"),
                lambda: frontend.wait_for("m"),
                lambda: frontend.wait_for("nobody", unknown_ok=True),
                frontend.inventory,
                frontend._frontend.subscribe,
                lambda: asyncio.run(frontend._frontend.wait_for("m")),
                lambda: asyncio.run(frontend._frontend.__aenter__()),
                lambda: unread.value.reasons,
                lambda: unread.value.worker_sets,
            ):
                with pytest.raises(ControllerClosed, match="create it after the fork"):
                    call()
            for pick in (hop.pick, lambda: hop.pick_except([1]), lambda: hop.pick_direct(1), lambda: hop.pick_many(2)):
                with pytest.raises(BindingRetired):
                    pick()
            assert (hop.retired, hop.ids(), len(hop), hop.worker(1), 1 in hop) == (True, (), 0, None, False)
            asyncio.run(frontend._frontend.aclose())
            frontend.close()

        in_child(child)
        assert frontend.route("m").decode.ids() == (1, 2)
        assert {hop.pick() for _ in range(10)} == {1, 2}


def test_one_that_is_created_after_the_fork_serves() -> None:
    with Frontend.run_in_thread(source_of(1)) as parents:
        parents.wait_for("m")

        def child() -> None:
            with Frontend.run_in_thread(source_of(7)) as frontend:
                assert frontend.wait_for("m").decode.pick() == 7
                in_child(partial(refused, frontend))
                assert frontend.route("m").decode.pick() == 7

        in_child(child)


def test_one_that_was_made_before_and_is_entered_after_the_fork_serves() -> None:
    frontend = Frontend(source_of(1))

    async def serve() -> None:
        async with frontend:
            assert (await frontend.wait_for("m")).decode.pick() == 1

    in_child(lambda: asyncio.run(serve()))


async def test_a_subscription_of_the_parent_ends_in_the_child() -> None:
    async with Frontend(source_of(1)) as frontend:
        notices = frontend.subscribe()
        await frontend.wait_for("m")

        async def read() -> None:
            assert [notice async for notice in notices] == []

        def child() -> None:
            asyncio.set_event_loop(None)
            reading = read()
            with pytest.raises(StopIteration):
                reading.send(None)

        in_child(child)


def test_no_lock_of_the_parent_is_waited_for() -> None:
    """Forks at many moments of an `apply` in another thread, and while others read and wait."""
    with Frontend.run_in_thread(source_of(1)) as frontend:
        hop = frontend.wait_for("m").decode
        controller = frontend._frontend._controller
        entries = [
            Apply(path, value)
            for number in range(1, 2001)
            for path, value in worker(number, card(block_size=16 + number % 3)).items()
        ]
        stop = threading.Event()

        def apply() -> None:
            as_of = 10**6
            while not stop.is_set():
                as_of += 1
                controller.apply([Reset(entries[: 2 if as_of % 2 else None], as_of)], now=time.monotonic())

        def read() -> None:
            while not stop.is_set():
                hop.ids()
                frontend.inventory()
                with contextlib.suppress(NotReady, NoRoutableWorkers, BindingRetired):
                    frontend.wait_for("m", timeout=0.001, model_type="embedding")

        def child() -> None:
            for call in (
                lambda: frontend.route("m"),
                lambda: frontend.wait_for("x", unknown_ok=True),
                frontend.inventory,
            ):
                with pytest.raises(ControllerClosed):
                    call()
            with pytest.raises(BindingRetired):
                hop.pick()
            assert (hop.ids(), hop.worker(1), len(hop)) == ((), None, 0)
            frontend.close()

        threads = [threading.Thread(target=work) for work in (apply, read, read)]
        for thread in threads:
            thread.start()
        try:
            for step in range(40):
                time.sleep(0.001 * (step % 7))
                in_child(child)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
