"""A record that is too large is refused by its size, unread, and nothing of it is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import workerset
from tests.cli.helpers import run
from tests.contract.world import World, base, instance, of
from tests.discovery.harness import FileBackend, MemoryBackend, following
from tests.discovery.records import card, place, worker
from tests.frontend.helpers import until
from workerset import AdmissionConfig, Apply, Frontend, Reset
from workerset.discovery import FileDiscovery, MemoryDiscovery, register
from workerset.discovery.base import MAX_RECORD_BYTES, too_large
from workerset.errors import CardError, ConfigError

if TYPE_CHECKING:
    from tests.discovery.harness import Backend

KEY = f"v1/mdc/{place(1)}"
LARGE = b" " * (MAX_RECORD_BYTES + 1)
REASON = too_large(len(LARGE), MAX_RECORD_BYTES)


@pytest.fixture(params=[MemoryBackend, FileBackend])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    made: Backend = request.param(tmp_path)
    return made


def test_the_bound_is_one_and_has_one_wording() -> None:
    assert AdmissionConfig().max_record_bytes == MAX_RECORD_BYTES
    world = World(max_record_bytes=1000)
    world.apply(Apply(KEY, b"x" * 1001))
    assert world.refused() == {place(1): too_large(1001, 1000)}
    world.apply(Apply(KEY, b"x" * 1000))
    assert world.refused()[place(1)].startswith("not a JSON record")


def test_r7_the_last_valid_state_stays_and_what_grows_is_told_once() -> None:
    world = World(max_record_bytes=1000)
    world.serving(base(1), instance(1))
    hop = world.controller.route("m").decode
    key = "ns/c/e/1"
    outputs = world.apply(Apply(f"v1/mdc/{key}", b"x" * 1001))
    assert [(refused.key, refused.reason) for refused in of(outputs, workerset.RecordRefused)] == [
        (key, too_large(1001, 1000))
    ]
    assert world.apply(Apply(f"v1/mdc/{key}", b"x" * 1002)) == []
    assert world.apply(Apply(f"v1/mdc/{key}", None, refused=too_large(5000, 1000))) == []
    assert world.refused() == {key: too_large(5000, 1000)}
    assert hop.pick() == 1
    world.apply(Reset([Apply(f"v1/mdc/{key}", None), Apply("v1/instances/ns/c/e/1", None)], 5))
    assert (world.refused(), hop.pick()) == ({key: too_large(5000, 1000)}, 1), "it counts as present"
    world.apply(base(1))
    assert world.refused() == {}


def test_what_is_refused_has_no_value() -> None:
    with pytest.raises(ValueError, match="value has to be None"):
        Apply(KEY, b"{}", refused="why")


async def test_every_adapter_refuses_by_size(backend: Backend) -> None:
    records = worker(1)
    backend.put(KEY, LARGE)
    async with following(backend.open()) as follower:
        await follower.until(lambda: follower.records == {KEY: f"refused: {REASON}"})
        assert (await follower.source.snapshot()).entries[0].refused == REASON
        backend.put(KEY, records[KEY])
        await follower.until(lambda: follower.records == {KEY: records[KEY]})
        backend.put(KEY, LARGE)
        await follower.until(lambda: follower.records == {KEY: f"refused: {REASON}"})


async def test_a_frontend_keeps_serving_and_names_the_record(backend: Backend) -> None:
    for path, value in worker(1).items():
        backend.put(path, value)
    backend.put(f"v1/mdc/{place(2)}", LARGE)
    async with Frontend(backend.open()) as frontend:
        hop = (await frontend.wait_for("m")).decode
        backend.put(KEY, LARGE)
        await until(frontend, lambda: len(frontend.inventory().refused) == 2)
        assert {entry.reason for entry in frontend.inventory().refused} == {REASON}
        assert hop.pick() == 1


def test_the_memory_store_keeps_nothing_of_it() -> None:
    source = MemoryDiscovery(max_record_bytes=10)
    source.put(KEY, b"x" * 11)
    assert [record.value for record in source._store.listing().entries] == [None]


async def test_a_file_that_grows_while_it_is_read_is_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, read = FileBackend(tmp_path), os.read
    backend.put(KEY, b"{}")

    def grow(descriptor: int, count: int) -> bytes:
        with backend.file(KEY).open("ab") as file:
            file.write(b" " * 1000)
        assert count <= 10_001
        return read(descriptor, min(count, 500))

    monkeypatch.setattr("workerset.discovery._file_store.os.read", grow)
    source = FileDiscovery(backend.root, ttl=0, max_record_bytes=10_000)
    (entry,) = (await source.snapshot()).entries
    assert (entry.value, entry.refused) == (None, too_large(10_001, 10_000))


@pytest.mark.parametrize("size", [0, 1, 4094, 4095, 4096, 9_999, 10_000])
async def test_what_is_small_enough_is_read_whole(tmp_path: Path, size: int) -> None:
    backend = FileBackend(tmp_path)
    backend.put(KEY, b"x" * size)
    (entry,) = (await FileDiscovery(backend.root, ttl=0, max_record_bytes=10_000).snapshot()).entries
    assert (entry.value, entry.refused) == (b"x" * size, None)


def test_a_file_of_gigabytes_costs_nothing(tmp_path: Path) -> None:
    backend = FileBackend(tmp_path)
    for path, value in worker(1).items():
        backend.put(path, value)
    large = backend.file(f"v1/mdc/{place(2)}")
    with large.open("wb") as file:
        file.truncate(3 << 30)
    program = """
import resource, sys
from workerset.cli._app import app
try:
    app(["status", "--discovery", sys.argv[1]])
finally:
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    command = [sys.executable, "-c", program, f"{backend.root.as_uri()}?ttl=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert too_large(3 << 30, MAX_RECORD_BYTES) in done.stdout
    assert "1 worker admitted, 1 routable" in done.stdout
    assert int(done.stdout.rpartition("peak ")[2]) < 200, "MiB"


def test_the_command_line_reads_no_more_of_a_card(tmp_path: Path) -> None:
    file = tmp_path / "card"
    file.write_bytes(LARGE)
    for arguments, stdin in (
        (["checksum", str(file)], None),
        (["checksum", "-"], LARGE),
        (["diff", str(file), "-"], b"{}"),
    ):
        result = run(*arguments, stdin=stdin)
        assert result.exit_code == 1
        assert "it has more than 4194304 bytes" in result.stderr


def test_a_record_that_was_refused_can_be_replayed() -> None:
    line = '{"op":"apply","path":"v1/mdc/ns/c/e/1","refused":"too large"}'
    result = run("replay", "-", stdin=line)
    assert "refused the record ns/c/e/1: too large" in result.stdout


async def test_a_worker_that_no_frontend_would_read_is_not_published() -> None:
    with pytest.raises(CardError, match="more than the 4194304 of max_record_bytes"):
        await register(
            "memory:",
            card=card(user_data="x" * MAX_RECORD_BYTES),
            namespace="n",
            component="c",
            endpoint="e",
            transport="h:1",
        ).__aenter__()


@pytest.mark.parametrize("make", [lambda: FileDiscovery("x", max_record_bytes=0), lambda: MemoryDiscovery(None, 0)])
def test_a_bound_lets_something_through(make: Any) -> None:
    with pytest.raises(ConfigError, match="max_record_bytes"):
        make()
