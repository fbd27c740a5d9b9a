"""Sources and builds for frontend tests."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.discovery.records import worker
from workerset import BuildSpec, Reset

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from workerset import Event
    from workerset.discovery import MemoryDiscovery
    from workerset.frontend import Frontend

PATIENCE = 20.0


def put(source: MemoryDiscovery, *instance_ids: int, card: dict[str, Any] | None = None, **where: Any) -> None:
    """Register workers."""
    for instance_id in instance_ids:
        for path, value in worker(instance_id, card, **where).items():
            source.put(path, value)


def remove(source: MemoryDiscovery, *instance_ids: int, **where: Any) -> None:
    """Take workers away."""
    for instance_id in instance_ids:
        for path in worker(instance_id, **where):
            source.delete(path)


async def until(frontend: Frontend, holds: Callable[[], bool]) -> None:
    """Wait until something is so, looking after every notice and otherwise every few milliseconds."""
    notices = frontend.subscribe()
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE
    while not holds():
        assert loop.time() < end, "it did not come true"
        waiting = asyncio.ensure_future(anext(notices))
        await asyncio.wait({waiting}, timeout=0.01)
        waiting.cancel()


class Workshop:
    """Builds that tests steer."""

    def __init__(self) -> None:
        self.specs: list[BuildSpec] = []
        self.dropped: list[object] = []
        self.cancelled: list[int] = []
        self.gates: dict[int, asyncio.Event] = {}
        self.failures: dict[int, BaseException] = {}
        self.deaf = False

    def hold(self, generation: int) -> asyncio.Event:
        """The build of that generation waits until the event is set."""
        return self.gates.setdefault(generation, asyncio.Event())

    async def build(self, spec: BuildSpec) -> str:
        self.specs.append(spec)
        gate = self.gates.get(spec.generation)
        if gate is not None:
            await self._listen(asyncio.ensure_future(gate.wait()), spec.generation)
        failure = self.failures.get(spec.generation)
        if failure is not None:
            raise failure
        return f"pipeline {spec.generation}"

    async def _listen(self, waiting: asyncio.Future[Any], generation: int) -> None:
        try:
            await asyncio.shield(waiting)
        except asyncio.CancelledError:
            self.cancelled.append(generation)
            if not self.deaf:
                waiting.cancel()
                raise
            await self._listen(waiting, generation)

    def close(self, pipeline: object) -> None:
        self.dropped.append(pipeline)


class Scripted:
    """A source that does not tell its state: every iteration runs the next of some scripts."""

    def __init__(self, *scripts: Callable[[], AsyncIterator[Sequence[Event]]]) -> None:
        self._scripts = list(scripts)
        self.begun = 0
        self.closed = False

    def batches(self) -> AsyncIterator[Sequence[Event]]:
        script = self._scripts[min(self.begun, len(self._scripts) - 1)]
        self.begun += 1
        return script()

    async def snapshot(self) -> Reset:
        return Reset([], 0)

    async def aclose(self) -> None:
        self.closed = True
