"""What a source keeps back is named, with its age."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.helpers import run
from tests.discovery.harness import FileBackend, following
from tests.discovery.records import place, worker
from tests.frontend.helpers import until
from workerset import Filtered, Frontend
from workerset.discovery import FileDiscovery, FilterReporting, MemoryDiscovery

if TYPE_CHECKING:
    from pathlib import Path

CARD, ENDPOINT = f"v1/mdc/{place(1)}", f"v1/instances/{place(1)}"


@pytest.fixture
def backend(tmp_path: Path) -> FileBackend:
    backend = FileBackend(tmp_path)
    for path, value in (worker(1) | worker(2)).items():
        backend.put(path, value)
    return backend


def expire(backend: FileBackend, seconds: float) -> None:
    """Let worker 1 have given its last sign of life so long ago; worker 2 goes on."""
    backend.later += seconds
    for path in worker(2):
        backend.touch(path)


async def test_an_expired_record_is_named_with_its_age(backend: FileBackend) -> None:
    source = backend.open(ttl=10.0)
    assert isinstance(source, FilterReporting)
    await source.snapshot()
    assert source.filtered() == ()
    expire(backend, 45.0)
    assert len((await source.snapshot()).entries) == 2
    filtered = source.filtered()
    assert [(one.key, one.reason) for one in filtered] == [
        (place(1), "no sign of life for 45 s, longer than the TTL of 10 s"),
        (ENDPOINT, "no sign of life for 45 s, longer than the TTL of 10 s"),
    ]
    assert [time.monotonic() - one.since for one in filtered] == pytest.approx([35.0, 35.0], abs=5.0)
    backend.touch(CARD)
    backend.delete(ENDPOINT)
    await source.snapshot()
    assert source.filtered() == ()


async def test_one_that_expires_while_it_is_watched_is_named_until_it_is_gone(backend: FileBackend) -> None:
    async with following(backend.open(ttl=60.0)) as follower:
        await follower.until(lambda: len(follower.records) == 4)
        expire(backend, 100.0)
        await follower.until(lambda: len(follower.records) == 2)
        assert isinstance(follower.source, FileDiscovery)
        assert [one.key for one in follower.source.filtered()] == [place(1), ENDPOINT]
        backend.touch(CARD)
        await follower.until(lambda: CARD in follower.records)
        assert [one.key for one in follower.source.filtered()] == [ENDPOINT]
        backend.delete(ENDPOINT)
        backend.put(f"v1/mdc/{place(3)}", worker(3)[f"v1/mdc/{place(3)}"])
        backend.touch(f"v1/mdc/{place(3)}")
        await follower.until(lambda: f"v1/mdc/{place(3)}" in follower.records)
        assert follower.source.filtered() == ()


async def test_another_spelling_of_a_key_is_named(backend: FileBackend) -> None:
    other = backend.file(CARD).with_name(place(1).replace("/", "%2f"))
    other.write_bytes(b"{}")
    source = backend.open()
    await source.snapshot()
    (filtered,) = source.filtered()
    assert (filtered.key, filtered.reason) == (
        place(1),
        "another file stands for the same key, under its proper name",
    )
    await source.snapshot()
    assert source.filtered()[0].since == pytest.approx(filtered.since, abs=0.5)
    backend.delete(CARD)
    await source.snapshot()
    assert source.filtered() == ()


async def test_a_frontend_shows_it_and_the_reason_of_its_model(backend: FileBackend) -> None:
    async with Frontend(backend.open(ttl=60.0)) as frontend:
        await frontend.wait_for("m")
        expire(backend, 100.0)
        await until(frontend, lambda: len(frontend.inventory().filtered) == 2)
        inventory = frontend.inventory().to_dict()
        assert inventory["filtered_count"] == 2
        assert inventory["filtered"][0]["key"] == place(1)
        assert "longer than the TTL of 60 s" in inventory["filtered"][0]["reason"]


async def test_a_thousand_are_listed_and_all_are_counted() -> None:
    class Full(MemoryDiscovery):
        def filtered(self) -> tuple[Filtered, ...]:
            return tuple(Filtered(f"ns/c/e/{number:04x}", "why", 1.0) for number in range(1234))

    async with Frontend(Full()) as frontend:
        inventory = frontend.inventory()
        assert (len(inventory.filtered), inventory.filtered_count) == (1000, 1234)
        assert inventory.filtered[-1].key == "ns/c/e/03e7"
    assert MemoryDiscovery().filtered() == ()


def test_the_command_line_shows_it(backend: FileBackend) -> None:
    expired = 1000.0
    now = time.time()
    for path in worker(1):
        backend.later = -expired
        backend.touch(path)
    url = f"{backend.root.as_uri()}?ttl=500"
    shown = run("status", "--discovery", url).stdout
    assert "filtered records (the source keeps them back)\n" in shown
    assert f"  {place(1)}" in shown and "no sign of life for 17 min, longer than the TTL of 8 min" in shown
    inventory = json.loads(run("status", "--discovery", url, "--output", "json").stdout)
    assert [one["key"] for one in inventory["filtered"]] == [place(1), ENDPOINT]
    passed = time.time() - now
    assert all(-500.0 - passed - 1 < one["since"] < -499.0 for one in inventory["filtered"])
    for number in range(3, 23):
        for path, value in worker(number).items():
            backend.put(path, value)
            backend.touch(path)
    assert "  and 22 more\n" in run("status", "--discovery", url).stdout
