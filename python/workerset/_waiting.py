"""Waiting with a limit."""

from __future__ import annotations

import asyncio


async def wait_set(event: asyncio.Event, seconds: float | None) -> None:
    """Wait until an event is set or the time is over.

    `asyncio.wait_for` would do, but before Python 3.12 it loses a cancellation that arrives together with the event.
    """
    waiter = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiter}, timeout=seconds)
    finally:
        waiter.cancel()
