"""The file store in particular."""

import asyncio
import json
import os
import threading
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from tests.discovery.harness import FileBackend, following
from workerset import Apply, Reset
from workerset.discovery import FileDiscovery
from workerset.discovery._file_store import decode_name, encode_name
from workerset.errors import DiscoveryError

A, B = "v1/mdc/ns/backend/generate/1f", "v1/mdc/ns/backend/generate/2f"
MARK = "v1/instances/ns/backend/generate/ff"


@pytest.fixture
def backend(tmp_path: Path) -> FileBackend:
    return FileBackend(tmp_path)


def test_names_are_those_of_a_captured_store() -> None:
    key = "my-ns_1/back/end/a070dc13d2d7cebb/my-org_lora_one"
    name = "my%2Dns%5F1%2Fback%2Fend%2Fa070dc13d2d7cebb%2Fmy%2Dorg%5Flora%5Fone"
    assert encode_name(key) == name
    assert decode_name(name) == key


@pytest.mark.parametrize("key", ["a", "ns/é/ü", "100%", "a.b~c-d_e", "\U0001f600", " \n"])
def test_names_survive_both_ways(key: str) -> None:
    name = encode_name(key)
    assert decode_name(name) == key
    assert name.replace("%", "").isalnum()
    assert name.isascii()


async def test_a_name_that_is_no_text_blinds_nobody(backend: FileBackend) -> None:
    """The watcher gives up on such a name; the store is then listed every second."""
    backend.put(A, b"1")
    async with following(backend.open(resync=0.0)) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})
        write_raw(backend, b"raw\xff")
        await follower.until(lambda: follower.records == {A: b"1", "v1/mdc/raw\\xff": b"x"})
        backend.put(MARK, b"mark")
        await follower.until(lambda: MARK in follower.records)
        backend.delete(A)
        await follower.until(lambda: A not in follower.records)


@pytest.mark.parametrize("name", ["%", "a%2", "a%2G", "%%41", "%FF", "%C3"])
def test_names_that_do_not_decode_are_told_apart(name: str) -> None:
    assert decode_name(name) is None


def test_other_spellings_of_a_name_are_read() -> None:
    assert decode_name("my-ns%2fbackend%2Fgenerate%2F1f") == "my-ns/backend/generate/1f"


async def test_a_captured_store_is_read_whole(backend: FileBackend) -> None:
    fixture = Path(__file__).parents[1] / "fixtures/discovery/file_store.json"
    captured: dict[str, str] = json.loads(fixture.read_text())
    for place, value in captured.items():
        file = backend.root / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value)
    entries = (await backend.open().snapshot()).entries
    assert len(entries) == len(captured) == 11
    assert sorted(entry.value for entry in entries if entry.value) == sorted(v.encode() for v in captured.values())
    for entry in entries:
        assert entry.value is not None
        record = json.loads(entry.value)
        bucket = {"Model": "v1/mdc", "Endpoint": "v1/instances"}[record["type"]]
        key = f"{record['namespace']}/{record['component']}/{record['endpoint']}/{record['instance_id']:x}"
        suffix = f"/{record['model_suffix']}" if "model_suffix" in record else ""
        assert entry.path == f"{bucket}/{key}{suffix}"


async def test_temporary_files_folders_and_other_buckets_are_ignored(backend: FileBackend) -> None:
    backend.put(A, b"1")
    folder = backend.file(A).parent
    (folder / ".tmp_0123456789abcdef").write_bytes(b"half")
    (folder / "folder").mkdir()
    other = backend.root / "v1/event_channels"
    other.mkdir()
    (other / "namespace%2Fns%2Ftopic%2Ft%2F1f").write_bytes(b"2")
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})
        (folder / ".tmp_1123456789abcdef").write_bytes(b"half")
        backend.put(MARK, b"mark")
        await follower.until(lambda: MARK in follower.records)
        assert follower.records == {A: b"1", MARK: b"mark"}


async def test_touches_are_not_events(backend: FileBackend) -> None:
    backend.put(A, b"1")
    backend.put(MARK, b"before")
    async with following(backend.open(ttl=30.0)) as follower:
        await follower.until(lambda: len(follower.records) == 2)
        for number in range(5):
            os.utime(backend.file(A))
            backend.put(MARK, b"%d" % number)
            await follower.until(lambda number=number: follower.records[MARK] == b"%d" % number)  # type: ignore[misc]
        assert [event.path for event in follower.events[1:] if isinstance(event, Apply)] == [MARK] * 5
        assert len(follower.events) == 6


async def test_a_value_of_the_same_length_written_in_place_is_seen(backend: FileBackend) -> None:
    backend.put(A, b"16")
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {A: b"16"})
        backend.file(A).write_bytes(b"32")
        await follower.until(lambda: follower.records == {A: b"32"})


async def test_a_file_that_is_written_slowly_ends_up_whole(backend: FileBackend) -> None:
    backend.put(MARK, b"mark")
    async with following(backend.open()) as follower:
        await follower.until(lambda: MARK in follower.records)
        backend.file(A).parent.mkdir(parents=True)
        with backend.file(A).open("wb", buffering=0) as file:
            file.write(b'{"half":')
            await follower.until(lambda: follower.records.get(A) == b'{"half":')
            file.write(b"1}")
        await follower.until(lambda: follower.records[A] == b'{"half":1}')


async def test_an_expired_file_is_not_listed(backend: FileBackend) -> None:
    backend.put(A, b"1")
    backend.put(B, b"2")
    backend.later = 11.0
    backend.touch(B)
    assert [entry.path for entry in (await backend.open(ttl=10.0).snapshot()).entries] == [B]
    assert len((await backend.open(ttl=0.0).snapshot()).entries) == 2
    async with following(backend.open(ttl=10.0)) as follower:
        await follower.until(lambda: follower.records == {B: b"2"})


async def test_a_file_that_nobody_touches_expires_and_a_touched_one_stays(backend: FileBackend) -> None:
    backend.put(A, b"1")
    backend.put(B, b"2")
    async with following(backend.open(ttl=60.0)) as follower:
        await follower.until(lambda: len(follower.records) == 2)
        backend.later = 50.0
        backend.touch(B)
        backend.later = 100.0
        await follower.until(lambda: follower.records == {B: b"2"})


async def test_an_expiry_needs_no_change_to_be_seen(backend: FileBackend) -> None:
    backend.put(A, b"1")
    async with following(backend.open(ttl=0.2)) as follower:
        await follower.until(lambda: bool(follower.events))
        await follower.until(lambda: follower.records == {})


async def test_an_expired_file_that_is_touched_again_returns(backend: FileBackend) -> None:
    backend.put(A, b"1")
    async with following(backend.open(ttl=60.0)) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})
        backend.later = 100.0
        await follower.until(lambda: follower.records == {})
        backend.touch(A)
        await follower.until(lambda: follower.records == {A: b"1"})


async def test_a_store_that_appears_later_is_found(backend: FileBackend) -> None:
    async with following(backend.open()) as follower:
        await follower.until(lambda: bool(follower.events))
        assert follower.records == {}
        assert follower.states == ["live"]
        backend.put(A, b"1")
        await follower.until(lambda: follower.records == {A: b"1"})
        backend.put(MARK, b"2")
        await follower.until(lambda: follower.records == {A: b"1", MARK: b"2"})


async def test_a_replaced_folder_is_listed_anew(backend: FileBackend) -> None:
    backend.put(A, b"1")
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})
        backend.lose()
        backend.put(B, b"2")
        await follower.until(lambda: follower.records == {B: b"2"})


async def test_a_bucket_that_vanishes_alone_is_a_loss(backend: FileBackend) -> None:
    backend.put(A, b"1")
    backend.put(MARK, b"2")
    async with following(backend.open()) as follower:
        await follower.until(lambda: len(follower.records) == 2)
        bucket = backend.file(A).parent
        bucket.rename(bucket.with_name("away"))
        await follower.until(lambda: follower.states[-1] == "lost")
        assert len(follower.records) == 2
        bucket.with_name("away").rename(bucket)
        await follower.until(lambda: follower.states[-1] == "live")
        assert follower.records == {A: b"1", MARK: b"2"}


async def test_a_root_that_is_no_folder_is_lost_from_the_start(backend: FileBackend) -> None:
    backend.root.write_bytes(b"")
    source = backend.open()
    async with following(source) as follower:
        await follower.until(lambda: follower.states == ["lost"])
        assert source.source.reason
        with pytest.raises(DiscoveryError, match="Not a directory"):
            await source.snapshot()
        backend.root.unlink()
        await follower.until(lambda: follower.states[-1] == "live")


def test_names_that_do_not_decode_are_handed_on_raw(backend: FileBackend) -> None:
    backend.put(A, b"1")
    for name in (b"ns%2", b"%FF%FE", b"raw\xff"):
        write_raw(backend, name)
    paths = {entry.path for entry in asyncio.run(backend.open().snapshot()).entries}
    assert paths == {A, "v1/mdc/ns%2", "v1/mdc/%FF%FE", "v1/mdc/raw\\xff"}


async def test_the_proper_name_wins_over_another_spelling(backend: FileBackend) -> None:
    backend.put(A, b"proper")
    other = backend.file(A).with_name(backend.file(A).name.replace("%2F", "%2f"))
    other.write_bytes(b"other")
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {A: b"proper"})
        other.write_bytes(b"changed")
        backend.put(MARK, b"mark")
        await follower.until(lambda: MARK in follower.records)
        assert follower.records[A] == b"proper"


async def test_a_file_that_cannot_be_read_keeps_what_it_held(
    backend: FileBackend, caplog: pytest.LogCaptureFixture
) -> None:
    backend.put(A, b"1")
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})
        make_unreadable(backend.file(A))
        backend.put(MARK, b"mark")
        await follower.until(lambda: MARK in follower.records)
        assert follower.records[A] == b"1"
        backend.file(A).unlink()
        backend.put(A, b"2")
        await follower.until(lambda: follower.records[A] == b"2")
    assert "cannot be read" not in caplog.text


async def test_a_file_that_never_could_be_read_is_logged_once(
    backend: FileBackend, caplog: pytest.LogCaptureFixture
) -> None:
    backend.put(MARK, b"mark")
    make_unreadable(backend.file(A))
    source = backend.open(resync=0.05)
    listings = 0
    async for batch in source.batches():
        for event in batch:
            assert isinstance(event, Reset)
            assert {entry.path for entry in event.entries if entry.value is None} >= {A}
            listings += 1
        if listings == 3:
            await source.aclose()
    assert caplog.text.count("cannot be read") == 1


async def test_the_resync_leaves_out_the_values_that_are_known(backend: FileBackend) -> None:
    backend.put(A, b"1")
    async with following(backend.open(resync=0.05)) as follower:
        await follower.until(lambda: len(follower.events) >= 3)
        first, *others = follower.events
        assert isinstance(first, Reset)
        assert [entry.value for entry in first.entries] == [b"1"]
        for event in others:
            assert isinstance(event, Reset)
            assert [entry.value for entry in event.entries] == [None]


async def test_without_watches_the_store_is_listed_again_and_again(
    backend: FileBackend, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def no_watches(*_paths: Any, **_options: Any) -> AsyncGenerator[set[Any], None]:
        if _paths:
            raise OSError(28, "no space left for watches")
        yield set()

    monkeypatch.setattr(watchfiles, "awatch", no_watches)
    backend.put(A, b"1")
    async with following(backend.open(resync=0.0)) as follower:
        await follower.until(lambda: follower.records == {A: b"1"})
        backend.put(B, b"2")
        await follower.until(lambda: len(follower.records) == 2)
    assert "no space left for watches" in caplog.text


async def test_the_birth_time_of_a_file_is_its_age(backend: FileBackend) -> None:
    before = time.time_ns()
    backend.put(A, b"1")
    backend.put(B, b"2")
    os.utime(backend.file(A), (1.0, 1.0))
    ages = {entry.path: entry.created for entry in (await backend.open(ttl=0.0).snapshot()).entries}
    slack = 1_000_000_000  # file systems stamp with a coarser clock
    older, younger = ages[A] or 0, ages[B] or 0
    assert before - slack <= older <= younger <= time.time_ns() + slack


async def test_a_big_store_is_listed_off_the_loop(backend: FileBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    backend.put(A, b"1")
    folder = backend.file(A).parent
    for number in range(3_000):
        (folder / f"ns%2Fbackend%2Fgenerate%2Ff{number:x}").write_bytes(b"x")
    readers: set[int] = set()
    os_open = os.open

    def spying_open(*arguments: Any, **options: Any) -> int:
        readers.add(threading.get_ident())
        return os_open(*arguments, **options)

    monkeypatch.setattr(os, "open", spying_open)
    async with following(backend.open()) as follower:
        await follower.until(lambda: bool(follower.events))
        assert len(follower.records) == 3_001
        assert threading.get_ident() not in readers


async def test_what_changes_while_a_listing_runs_is_not_lost(backend: FileBackend) -> None:
    paths = [f"v1/mdc/ns/backend/generate/{number:x}" for number in range(1, 200)]

    def write() -> None:
        for path in paths:
            backend.put(path, path.encode())

    writing = asyncio.create_task(asyncio.to_thread(write))
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {path: path.encode() for path in paths})
        await writing


def test_a_relative_root_is_taken_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert FileDiscovery("kv").root == tmp_path / "kv"


def write_raw(backend: FileBackend, name: bytes) -> None:
    """Write a card record under a file name of any bytes."""
    Path(os.fsdecode(os.fsencode(backend.file(A).parent) + b"/" + name)).write_bytes(b"x")


def make_unreadable(file: Path) -> None:
    """A link to itself: it is there, and nobody can open it, not even root."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(".tmp_loop")
    temporary.symlink_to(file.name)
    temporary.rename(file)
