"""What every adapter does. A new adapter joins by adding its backend to the list."""

import asyncio
from pathlib import Path

import pytest

from tests.discovery.harness import PATIENCE, Backend, FileBackend, MemoryBackend, following
from workerset import Reset
from workerset.discovery import Discovery, SourceReporting
from workerset.errors import DiscoveryError

A, B, C = "v1/mdc/ns/backend/generate/1f", "v1/instances/ns/backend/generate/1f", "v1/mdc/ns/backend/generate/1f/l-1_x"


@pytest.fixture(params=[FileBackend, MemoryBackend])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    made: Backend = request.param(tmp_path)
    return made


async def test_the_first_batch_lists_what_is_there(backend: Backend) -> None:
    backend.put(A, b"1")
    backend.put(B, b"2")
    async with following(backend.open()) as follower:
        await follower.until(lambda: bool(follower.events))
        assert isinstance(follower.events[0], Reset)
        assert follower.records == {A: b"1", B: b"2"}


async def test_an_empty_source_gives_an_empty_listing(backend: Backend) -> None:
    async with following(backend.open()) as follower:
        await follower.until(lambda: bool(follower.events))
        assert follower.records == {}


async def test_changes_are_told_after_the_listing(backend: Backend) -> None:
    backend.put(A, b"1")
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})
        backend.put(B, b"2")
        await follower.until(lambda: follower.records == {A: b"1", B: b"2"})
        backend.put(A, b"3")
        await follower.until(lambda: follower.records == {A: b"3", B: b"2"})
        backend.delete(B)
        await follower.until(lambda: follower.records == {A: b"3"})
        backend.put(C, b"4")
        backend.put(B, b"5")
        await follower.until(lambda: follower.records == {A: b"3", B: b"5", C: b"4"})


async def test_values_are_handed_on_byte_by_byte(backend: Backend) -> None:
    value = b'{"instance_id":18446744073709551615, "x" : 1.10,"y":"\\u00e9\xc3\xa9"}\xff\x00\n'
    async with following(backend.open()) as follower:
        backend.put(A, value)
        await follower.until(lambda: follower.records == {A: value})
        assert [(entry.path, entry.value) for entry in (await follower.source.snapshot()).entries] == [(A, value)]


async def test_a_lost_source_removes_nothing(backend: Backend) -> None:
    backend.put(A, b"1")
    backend.put(B, b"2")
    async with following(backend.open()) as follower:
        await follower.until(lambda: len(follower.records) == 2)
        told = len(follower.events)
        backend.lose()
        await follower.until(lambda: follower.states[-1] == "lost")
        assert follower.records == {A: b"1", B: b"2"}
        assert len(follower.events) == told
        with pytest.raises(DiscoveryError):
            await follower.source.snapshot()


async def test_a_restored_source_lists_everything_again(backend: Backend) -> None:
    backend.put(A, b"1")
    backend.put(B, b"2")
    async with following(backend.open()) as follower:
        await follower.until(lambda: len(follower.records) == 2)
        backend.lose()
        await follower.until(lambda: follower.states[-1] == "lost")
        told = len(follower.events)
        backend.restore()
        await follower.until(lambda: follower.states[-1] == "live")
        backend.delete(B)
        backend.put(C, b"3")
        await follower.until(lambda: follower.records == {A: b"1", C: b"3"})
        assert isinstance(follower.events[told], Reset)


async def test_a_snapshot_is_complete_and_knows_what_was_told(backend: Backend) -> None:
    backend.put(A, b"1")
    async with following(backend.open()) as follower:
        await follower.until(lambda: len(follower.records) == 1)
        backend.put(B, b"2")
        await follower.until(lambda: len(follower.records) == 2)
        newest = max(event.as_of if isinstance(event, Reset) else event.revision for event in follower.events)
        snapshot = await follower.source.snapshot()
        assert {entry.path: entry.value for entry in snapshot.entries} == {A: b"1", B: b"2"}
        assert snapshot.as_of >= newest
        assert snapshot.prefix == ""


async def test_two_readers_get_the_whole_story_each(backend: Backend) -> None:
    backend.put(A, b"1")
    source = backend.open()
    async with following(source) as first, following(source) as second:
        await first.until(lambda: first.records == {A: b"1"})
        await second.until(lambda: second.records == {A: b"1"})
        backend.put(B, b"2")
        await first.until(lambda: first.records == {A: b"1", B: b"2"})
        await second.until(lambda: second.records == {A: b"1", B: b"2"})


async def test_a_reader_that_stops_in_between_can_begin_again(backend: Backend) -> None:
    backend.put(A, b"1")
    source = backend.open()
    batches = source.batches()
    assert isinstance((await asyncio.wait_for(anext(batches), PATIENCE))[0], Reset)
    async with following(source) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})


async def test_closing_ends_the_iterations_and_may_be_repeated(backend: Backend) -> None:
    async with following(backend.open()) as follower:
        await follower.until(lambda: bool(follower.events))
        await follower.source.aclose()
        await follower.source.aclose()
        await follower.until(lambda: follower.ended)


async def test_the_protocols_are_met(backend: Backend) -> None:
    source: Discovery = backend.open()
    assert isinstance(source, SourceReporting)
    await source.aclose()
