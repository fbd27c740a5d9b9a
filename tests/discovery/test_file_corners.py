"""The file store when files come back, clocks disagree, foreign tools write, and there are very many."""

from __future__ import annotations

import asyncio
import itertools
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.discovery.harness import FileBackend, following
from tests.discovery.records import card, card_record, place, worker
from tests.frontend.helpers import until
from workerset import Apply, Delete, Frontend, Reset
from workerset.discovery._file_store import FileStore
from workerset.discovery._file_view import FileView

if TYPE_CHECKING:
    from pathlib import Path

A, B = "v1/mdc/ns/backend/generate/1f", "v1/mdc/ns/backend/generate/2f"
HOUR = 3600.0


@pytest.fixture
def backend(tmp_path: Path) -> FileBackend:
    return FileBackend(tmp_path)


@pytest.mark.parametrize("second", [b"1", b"2"], ids=["the same", "another value"])
async def test_a_file_removed_and_made_again_at_once_leaves_and_arrives(backend: FileBackend, second: bytes) -> None:
    backend.put(A, b"1")
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})
        backend.delete(A)
        backend.put(A, second)
        await follower.until(lambda: len(follower.events) == 3)
        _, gone, back = follower.events
        assert isinstance(gone, Delete) and gone.path == A
        assert isinstance(back, Apply) and (back.path, back.value) == (A, second)


async def test_a_file_replaced_in_one_step_does_not_leave(backend: FileBackend) -> None:
    backend.put(A, b"1")
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})
        backend.put(A, b"2")
        await follower.until(lambda: follower.records == {A: b"2"})
        assert [type(event) for event in follower.events] == [Reset, Apply]


class TestRemovalsReportedLate:
    """The watcher speaks up to 0.1 s after the fact, and a listing may come in between."""

    @pytest.fixture
    def view(self, backend: FileBackend) -> FileView:
        counter = itertools.count(1)
        backend.put(A, b"1")
        return FileView(FileStore(str(backend.root), 0.0), lambda: next(counter))

    def report(self, view: FileView, backend: FileBackend, *, removed: bool = True) -> list[type]:
        return [type(event) for event in view.changes([("v1/mdc", backend.file(A).name, removed)])]

    def test_of_a_file_that_a_listing_found_made_again(self, view: FileView, backend: FileBackend) -> None:
        view.listing()
        backend.delete(A)
        backend.put(A, b"1")
        (entry,) = view.listing().entries
        assert entry.value is None, "for a listing alone it looks unchanged"
        assert self.report(view, backend) == [Delete, Apply]
        assert self.report(view, backend) == []

    def test_of_a_file_that_no_listing_told_before(self, view: FileView, backend: FileBackend) -> None:
        view.listing()
        assert self.report(view, backend) == []

    def test_of_none_where_a_file_was_replaced(self, view: FileView, backend: FileBackend) -> None:
        view.listing()
        backend.put(A, b"2")
        view.listing()
        assert self.report(view, backend, removed=False) == []
        view.listing()
        assert self.report(view, backend) == []


class TestClocksAhead:
    """A dead owner whose clock ran ahead gains one TTL at most, however far ahead it was."""

    def touch(self, backend: FileBackend, ahead: float) -> None:
        backend.later += ahead
        backend.touch(A)
        backend.later -= ahead

    async def test_a_file_from_the_future_expires_after_one_ttl(self, backend: FileBackend) -> None:
        backend.put(A, b"1")
        self.touch(backend, HOUR)
        source = backend.open(ttl=10.0)
        for later, listed in ((0.0, 1), (9.0, 1), (11.0, 0), (HOUR + 5.0, 0)):
            backend.later = later
            assert len((await source.snapshot()).entries) == listed
        self.touch(backend, HOUR)
        assert len((await source.snapshot()).entries) == 1, "its owner lives"

    async def test_it_expires_under_a_reader_that_follows(self, backend: FileBackend) -> None:
        backend.put(A, b"1")
        backend.put(B, b"2")
        self.touch(backend, HOUR)
        source = backend.open(ttl=60.0, resync=0.05)
        async with following(source) as follower:
            await follower.until(lambda: len(follower.records) == 2)
            backend.later = 70.0
            backend.touch(B)
            await follower.until(lambda: follower.records == {B: b"2"})
            told = len(follower.events)
            await follower.until(lambda: len(follower.events) >= told + 3)
            assert follower.records == {B: b"2"}, "further listings do not bring it back"

    async def test_its_owner_keeps_it_alive(self, backend: FileBackend) -> None:
        backend.put(A, b"1")
        backend.put(B, b"2")
        self.touch(backend, HOUR)
        async with following(backend.open(ttl=60.0)) as follower:
            await follower.until(lambda: len(follower.records) == 2)
            backend.later = 50.0
            self.touch(backend, HOUR)
            backend.later = 100.0
            await follower.until(lambda: follower.records == {A: b"1"})

    async def test_nothing_is_remembered_of_files_that_are_gone(self, backend: FileBackend) -> None:
        store = FileStore(str(backend.root), 10.0)
        for gone_when in ("read", "scanned", "back in time"):
            backend.put(A, b"1")
            self.touch(backend, HOUR)
            assert [file.path for file in store.scan()] == [A]
            assert len(store._ahead) == 1
            if gone_when == "back in time":
                os.utime(backend.file(A))
            else:
                backend.delete(A)
            if gone_when == "read":
                assert store.read("v1/mdc", backend.file(A).name) is None
            else:
                assert len(list(store.scan())) == (gone_when == "back in time")
            assert store._ahead == {}


async def test_a_folder_that_comes_back_tells_what_changed_meanwhile(backend: FileBackend) -> None:
    backend.put(A, b"1")
    backend.put(B, b"2")
    async with following(backend.open(ttl=60.0)) as follower:
        await follower.until(lambda: len(follower.records) == 2)
        backend.lose()
        await follower.until(lambda: follower.states[-1] == "lost")
        backend.later = 100.0
        told = len(follower.events)
        assert len(follower.records) == 2, "nothing expires while nothing can be seen"
        backend.root, there = backend.root.with_name("elsewhere"), backend.root
        backend.put(B, b"3")
        backend.touch(B)
        backend.root = there
        backend.restore()
        await follower.until(lambda: follower.records == {B: b"3"})
        assert isinstance(follower.events[told], Reset)


async def test_half_a_record_changes_nothing_until_it_is_whole(backend: FileBackend) -> None:
    """A foreign tool writes in place; the controller keeps the last valid state meanwhile (clause R7)."""
    for path, value in worker(0x1F).items():
        backend.put(path, value)
    whole = card_record(place(0x1F), card(user_data="whole"))
    async with Frontend(backend.open()) as frontend:
        hop = (await frontend.wait_for("m")).decode
        with backend.file(A).open("wb", buffering=0) as file:
            await until(frontend, lambda: len(frontend.inventory().refused) == 1)
            assert hop.ids() == (0x1F,)
            file.write(whole[:100])
            await until(frontend, lambda: "column 100" in frontend.inventory().refused[0].reason)
            file.write(whole[100:])

        def updated() -> bool:
            known = hop.worker(0x1F)
            return known is not None and known.card.user_data == "whole"

        await until(frontend, updated)
        assert frontend.inventory().refused == ()
        assert not hop.retired


async def test_names_that_mean_nothing_are_refused_and_harm_nobody(
    backend: FileBackend, caplog: pytest.LogCaptureFixture
) -> None:
    for path, value in worker(0x1F).items():
        backend.put(path, value)
    folder = backend.file(A).parent
    for name in ("ns%2", "%FF", "a%0AERROR%20all%20is%20lost", "ns%2Fbackend%2Fgenerate%2F01f", "README"):
        (folder / name).write_bytes(b"{}")
    async with Frontend(backend.open()) as frontend:
        assert (await frontend.wait_for("m")).decode.ids() == (0x1F,)
        assert [entry.key for entry in frontend.inventory().refused] == [
            "%FF",
            "README",
            "a\nERROR all is lost",
            "ns%2",
            "ns/backend/generate/01f",
        ]
    assert "refused the record a\\nERROR all is lost: " in caplog.text


async def test_twenty_thousand_files_never_hold_the_loop(backend: FileBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: between two turns of the loop only a small part of the files is read."""
    total = 20_000
    folder = backend.file(A).parent
    folder.mkdir(parents=True)
    paths = [f"v1/mdc/{place(number)}" for number in range(1, total + 1)]
    for path in paths:
        backend.file(path).write_bytes(b"x")
    read = 0
    os_open = os.open

    def counting_open(*arguments: Any, **options: Any) -> int:
        nonlocal read
        read += 1
        return os_open(*arguments, **options)

    monkeypatch.setattr(os, "open", counting_open)
    steps: list[int] = []

    async def turn() -> None:
        while True:
            before = read
            await asyncio.sleep(0)
            steps.append(read - before)

    turning = asyncio.create_task(turn())
    source = backend.open(ttl=HOUR)
    batches = source.batches()
    (listing,) = await anext(batches)
    assert isinstance(listing, Reset)
    assert len(listing.entries) == read == total
    for path in paths:
        os.utime(backend.file(path))
    backend.put(B.replace("2f", "ffffff"), b"new")
    (event,) = await anext(batches)
    assert isinstance(event, Apply) and event.value == b"new", "touches are looked at and not told"
    turning.cancel()
    await source.aclose()
    assert not [batch async for batch in batches]
    assert max(steps) < total // 2
