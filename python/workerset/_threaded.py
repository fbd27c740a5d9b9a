"""A frontend on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, final

from workerset._log import Log
from workerset._text import said
from workerset._waiters import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from workerset._native import Inventory, Route
    from workerset.frontend import Frontend

_log = Log("workerset.frontend")


@final
class ThreadedFrontend:
    """What `Frontend.run_in_thread` returns: the same answers, without `await`.

    A context manager; safe from any thread.

    Args:
        make: makes the frontend, called on the new thread.

    """

    def __init__(self, make: Callable[[], Frontend]) -> None:
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, Frontend]] = Future()
        self._thread = threading.Thread(target=_run, args=(make, started), name="workerset-frontend", daemon=True)
        self._thread.start()
        if (error := started.exception()) is not None:
            self._thread.join()
            raise error
        self._loop, self._stop, self._frontend = started.result()

    def __enter__(self) -> ThreadedFrontend:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def route(self, model: str, model_type: str | None = None, namespace: str | None = None) -> Route:
        """See `Frontend.route`. Does not touch the other thread."""
        return self._frontend.route(model, model_type, namespace)

    def wait_for(
        self,
        model: str,
        timeout: float | None = 30.0,
        unknown_ok: bool = False,
        *,
        model_type: str | None = None,
        namespace: str | None = None,
    ) -> Route:
        """See `Frontend.wait_for`. Blocks the calling thread, and costs the other one nothing until it is woken."""
        wanted = Wanted(model, model_type, namespace, unknown_ok)
        return self._frontend._waiters.wait_in_thread(wanted, timeout)  # noqa: SLF001  # its other half

    def inventory(self) -> Inventory:
        """See `Frontend.inventory`."""
        return self._frontend.inventory()

    def close(self) -> None:
        """Close the frontend and end the thread. Repeating it is harmless."""
        if self._thread.is_alive():
            with suppress(RuntimeError):  # the loop has ended by itself, and the thread is about to
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()


def _run(
    make: Callable[[], Frontend],
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, Frontend]],
) -> None:
    try:
        asyncio.run(_serve(make, started))
    except BaseException as error:  # noqa: BLE001  # what a callback ended the loop with ends this thread, no more
        if started.done():
            _log.write(logging.CRITICAL, "the frontend is closed, for its loop has ended: %s", said(error), error=error)
        else:
            started.set_exception(error)


async def _serve(
    make: Callable[[], Frontend],
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, Frontend]],
) -> None:
    stop = asyncio.Event()
    entering = asyncio.ensure_future(_enter(make))
    await asyncio.wait({entering})
    if (error := entering.exception()) is not None:
        started.set_exception(error)
        return
    frontend = entering.result()
    started.set_result((asyncio.get_running_loop(), stop, frontend))
    try:
        await stop.wait()
    finally:  # also when the loop ends otherwise, so that nobody is served what is not kept up to date
        await frontend.aclose()


async def _enter(make: Callable[[], Frontend]) -> Frontend:
    return await make().__aenter__()
