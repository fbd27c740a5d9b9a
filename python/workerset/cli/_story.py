"""What the demo tells. Each step acts on the file store, waits, checks the controller, then says what happened."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import TYPE_CHECKING

from workerset._native import AdmissionConfig
from workerset.cli._output import short
from workerset.cli._store_writer import StoreWriter
from workerset.discovery import FileDiscovery
from workerset.errors import BindingRetired, NotReady, WorkerSetError
from workerset.frontend import Frontend

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from workerset._native import BuildSpec, Hop, WorkerSetEntry

MODEL = "demo-7b"
_FIRST, _SECOND, _THIRD = 16, 32, 64  # the KV block sizes in which the cohorts differ
_SLOW = 2  # the generation whose build is slow


class StoryError(Exception):
    """A claim of the story does not hold."""


class Story:
    """One run of the demo.

    Args:
        root: an empty folder for the file store.
        tell: told the title and the text of every step, after it was checked.

    """

    def __init__(self, root: Path, tell: Callable[[str, str], None]) -> None:
        self._root = root
        self._store = StoreWriter(root)
        self._tell = tell
        self._may_end = asyncio.Event()  # what the slow build waits for
        self._started: list[int] = []
        self._dropped: list[str] = []

    async def run(self) -> None:
        """Tell everything; a few seconds.

        Raises:
            StoryError: a claim does not hold, or did not come true in time.

        """
        source = FileDiscovery(self._root)
        keep_alive = asyncio.create_task(self._keep_alive())
        try:
            async with Frontend(
                source, build=self._build, close=self._dropped.append, config=AdmissionConfig()
            ) as frontend:
                self._frontend = frontend
                try:
                    await self._first_wins()
                    await self._larger_cohort()
                    await self._same_card_joins()
                    retired = await self._succession_begins()
                    await self._late_build()
                    self._retired_binding(retired)
                    await self._return()
                finally:
                    self._may_end.set()
        except WorkerSetError as error:
            raise StoryError(f"{type(error).__name__}: {error}") from error
        finally:
            keep_alive.cancel()

    async def _first_wins(self) -> None:
        self._register((0x1A, 0x1B), _FIRST)
        route = await self._frontend.wait_for(MODEL, timeout=_PATIENCE, unknown_ok=True)
        await self._until(lambda: len(self._entry().routable) == 2, "both workers are routable")
        entry = self._entry()
        self._check(entry.generation == route.generation == 1, "the first build has generation 1")
        self._check(route.pipeline == "pipeline 1", "the route carries the pipeline that was built")
        served = self._serve(route.decode, 100)
        self._check(set(served) == {0x1A, 0x1B}, "requests go to the two workers")
        self._tell(
            "1. The first card takes the WorkerSet",
            f"Workers 1a and 1b register {MODEL} with kv_cache_block_size {_FIRST}. The first valid card reserves the "
            f"set; the pipeline is built once, as generation 1.\n{_counts(served)}",
        )

    async def _larger_cohort(self) -> None:
        incumbent = self._entry().incumbent.mdc_checksum
        self._register((0x2A, 0x2B, 0x2C), _SECOND)
        await self._until(lambda: [len(c.members) for c in self._entry().rejected] == [3], "three workers are rejected")
        entry = self._entry()
        rejected = entry.rejected[0]
        self._check(rejected.differs == ("kv_cache_block_size",), "the differing field is named")
        self._check(entry.incumbent.mdc_checksum == incumbent, "the incumbent stays")
        self._check(entry.generation == 1, "nothing is rebuilt")
        served = self._serve(self._frontend.route(MODEL).decode, 100)
        self._check(set(served) == {0x1A, 0x1B}, "the incumbent serves alone")
        self._tell(
            "2. A larger cohort that disagrees is rejected",
            f"Three more workers, 2a, 2b and 2c, register the same model with kv_cache_block_size {_SECOND}. Three "
            f"against two does not count: {short(incumbent)} came first, {short(rejected.mdc_checksum)} waits. "
            f"Logged once, with the field that differs: {', '.join(rejected.differs)}.\n{_counts(served)}",
        )

    async def _same_card_joins(self) -> None:
        hop = self._frontend.route(MODEL).decode
        self._register((0x1C,), _FIRST)
        await self._until(lambda: 0x1C in hop, "the new worker appears in the hop that was handed out before")
        self._check(self._started == [1], "nothing was rebuilt")
        served = self._serve(hop, 150)
        self._check(set(served) == {0x1A, 0x1B, 0x1C}, "all three serve")
        self._tell(
            "3. A worker with the same card just joins",
            f"Worker 1c brings the incumbent's card. The hop that a client holds already sees it; no rebuild.\n"
            f"{_counts(served)}",
        )

    async def _succession_begins(self) -> Hop:
        retired = self._frontend.route(MODEL).decode
        self._register((0x3A,), _THIRD)
        await self._until(lambda: len(self._entry().rejected) == 2, "a third cohort waits, too")
        self._remove((0x1A, 0x1B, 0x1C))
        await self._until(lambda: self._entry().building_generation == 2, "the oldest waiting cohort is built for")
        entry = self._entry()
        self._check(entry.incumbent.members[0].endswith("/2a"), "the cohort that waited longest takes over")
        self._check(entry.generation is None and retired.retired, "the old binding is withdrawn")
        self._check(not self._frontend_ready(), "the model is known and not ready")
        self._tell(
            "4. Succession",
            "Workers 1a, 1b and 1c shut down. Only now is it the turn of the cohort that has waited longest, 2a to 2c, "
            f"before 3a with kv_cache_block_size {_THIRD}. It gets a fresh build, generation 2, and this one is slow. "
            "Meanwhile the model is known and not ready, never unknown.",
        )
        return retired

    async def _late_build(self) -> None:
        waiting = asyncio.create_task(self._frontend.wait_for(MODEL, timeout=_PATIENCE))
        self._remove((0x2A, 0x2B, 0x2C))
        route = await waiting
        self._check(route.generation == 3, "the next build has generation 3")
        self._check("pipeline 2" not in self._dropped, "the slow build has not ended yet")
        self._may_end.set()
        await self._until(lambda: "pipeline 2" in self._dropped, "the late pipeline is dropped")
        route = self._frontend.route(MODEL)
        self._check(route.generation == 3 and route.pipeline == "pipeline 3", "the late result changes nothing")
        served = self._serve(route.decode, 50)
        self._check(set(served) == {0x3A}, "only the successor serves")
        self._tell(
            "5. A late build is fenced",
            "Before the slow build ends, 2a, 2b and 2c leave as well. 3a takes over and is built as generation 3; a "
            "client that was waiting gets its route at once. Then generation 2 reports success after all: its checksum "
            f"and generation are not the selected ones any more, so its pipeline is dropped unused.\n{_counts(served)}",
        )

    def _retired_binding(self, retired: Hop) -> None:
        try:
            picked = retired.pick()
        except BindingRetired as error:
            refusal = str(error)
        else:
            raise StoryError(f"a retired binding picked worker {picked:x}")
        self._tell(
            "6. A retired binding refuses to pick",
            f"A client still holds the binding of generation 1. It never hands out a successor's worker:\n  {refusal}",
        )

    async def _return(self) -> None:
        self._register((0x1A,), _FIRST)
        await self._until(lambda: len(self._entry().rejected) == 1, "the returned worker waits")
        entry = self._entry()
        self._check(entry.generation == 3, "the incumbent stays")
        self._check(set(self._serve(self._frontend.route(MODEL).decode, 50)) == {0x3A}, "the incumbent serves alone")
        self._tell(
            "7. Who left and returns joins the end of the line",
            f"Worker 1a comes back with its old card, the one that served first. It waits behind 3a like any newcomer "
            f"({short(entry.rejected[0].mdc_checksum)} differs in {', '.join(entry.rejected[0].differs)}).",
        )

    async def _build(self, spec: BuildSpec) -> str:
        self._started.append(spec.generation)
        while spec.generation == _SLOW and not self._may_end.is_set():
            # As careless as builds can be: it does not listen to its cancellation.
            with contextlib.suppress(asyncio.CancelledError):
                await self._may_end.wait()
        return f"pipeline {spec.generation}"

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.to_thread(self._store.touch)
            await asyncio.sleep(1.0)

    async def _until(self, holds: Callable[[], bool], claim: str) -> None:
        notices = self._frontend.subscribe()
        loop = asyncio.get_running_loop()
        end = loop.time() + _PATIENCE
        while not holds():
            if loop.time() > end:
                raise StoryError(f"did not come true within {_PATIENCE:g} s: {claim}")
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(anext(notices), _LOOK)

    def _register(self, ids: Iterable[int], block_size: int) -> None:
        for instance_id in ids:
            self._store.register(instance_id, MODEL, block_size)

    def _remove(self, ids: Iterable[int]) -> None:
        for instance_id in ids:
            self._store.remove(instance_id)

    def _entry(self) -> WorkerSetEntry:
        entries = self._frontend.inventory().worker_sets
        self._check(len(entries) == 1, "there is one WorkerSet")
        return entries[0]

    def _frontend_ready(self) -> bool:
        try:
            self._frontend.route(MODEL)
        except NotReady:
            return False
        return True

    def _serve(self, hop: Hop, requests: int) -> Counter[int]:
        return Counter(hop.pick() for _ in range(requests))

    def _check(self, holds: bool, claim: str) -> None:
        if not holds:
            raise StoryError(f"does not hold: {claim}")


def _counts(served: Counter[int]) -> str:
    total = sum(served.values())
    shares = ", ".join(f"{instance_id:x}: {share}" for instance_id, share in sorted(served.items()))
    return f"  {total} requests went to  {shares}"


_PATIENCE = 10.0  # seconds for a claim to come true
_LOOK = 0.05  # seconds between two looks while nothing is reported
