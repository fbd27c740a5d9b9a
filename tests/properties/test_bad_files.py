"""Spoiled files in a store, found at the start and while serving: one reader goes on, and tells what it refuses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.contract.world import base, card, instance
from tests.discovery.harness import FileBackend
from tests.frontend.helpers import until
from tests.properties.mutations import Record, Spoiler, real_records
from workerset.frontend import Frontend

if TYPE_CHECKING:
    from workerset import Apply

FILES = 1_000
CALM = "calm"


class Store(FileBackend):
    """A store, and whatever a hand may put into it."""

    def worker(self, name: str) -> None:
        """Register worker 1 of a model in a namespace of its name."""
        for event in (base(1, card(name), namespace=name), instance(1, namespace=name)):
            self.put_event(event)

    def put_event(self, event: Apply) -> None:
        assert isinstance(event.value, str)
        self.put(event.path, event.value.encode())

    def spoil(self, number: int, record: Record, spoiled: Record) -> None:
        """Write a spoiled record: under its own name, or under a name that no writer makes, or as no file at all."""
        folder = self.root / ("v1/mdc" if record.path.startswith("v1/mdc/") else "v1/instances")
        folder.mkdir(parents=True, exist_ok=True)
        file = self.file(record.path)
        match number % 20:
            case 1:
                file = folder / os.fsdecode(b"\xff\xfe%2F" + str(number).encode())
            case 2:
                file = folder / f"{number}%"
            case 3:
                file = folder / f"{number}%G1%2f%zz"
            case 5:
                file = folder / f"{number}%FF%80"
            case 6:
                file = folder / f"{number}".ljust(255, "x")
            case 7:
                file = folder / f".tmp_{number}"
            case 9:
                file = folder / f"{number}%2F%2F..%2F..%2Fetc%2Fpasswd%00"
            case 10:
                (folder / f"folder{number}").mkdir()
                return
            case 11:
                (folder / f"dangling{number}").symlink_to(folder / "nowhere")
                return
            case 13:
                (folder / f"loop{number}").symlink_to(folder / f"loop{number}")
                return
            case 14:
                os.mkfifo(folder / f"pipe{number}")
                return
            case 15 | 17 | 19:
                file = self.file(f"{record.path}/{number}")
        file.write_bytes(spoiled.value)


@pytest.fixture
def spoiled() -> list[tuple[Record, Record]]:
    spoiler = Spoiler(11, [record for record in real_records() if len(record.path) < 120])
    kinds = [kind for kind in spoiler.kinds if "path" not in kind]
    return [spoiler.spoil(kinds[number % len(kinds)]) for number in range(FILES)]


def entries(frontend: Frontend) -> dict[str, Any]:
    return {entry["namespace"]: entry for entry in frontend.inventory().to_dict()["worker_sets"]}


async def test_a_thousand_spoiled_files_disturb_nobody(tmp_path: Path, spoiled: list[tuple[Record, Record]]) -> None:
    store = Store(tmp_path)
    store.worker(CALM)
    half = FILES // 2
    originals = {record.path: record for record, _ in spoiled[half:]}
    for number, (record, broken) in enumerate(spoiled[:half]):
        store.spoil(number, record, broken)
    for record in originals.values():
        store.put(record.path, record.value)
    async with Frontend(store.open()) as frontend:
        await frontend.wait_for(CALM, timeout=20)
        route = frontend.route(CALM)
        calm = entries(frontend)[CALM]
        members = {member for entry in frontend.inventory().worker_sets for member in entry.incumbent.members}
        at_start = frontend.inventory().refused
        assert len(at_start) > half // 3

        for number, (record, broken) in enumerate(spoiled[half:], half):
            store.spoil(number, record, broken)
        store.worker("last")
        await frontend.wait_for("last", timeout=20, unknown_ok=True)
        await until(frontend, lambda: len(frontend.inventory().refused) > len(at_start) + half // 4)
        assert entries(frontend)[CALM] == calm
        assert route.decode.pick() == 1
        assert not route.decode.retired
        assert frontend.route("last").decode.pick() == 1
        inventory = frontend.inventory()
        assert all(entry.reason for entry in inventory.refused)
        stay = {member for entry in inventory.worker_sets for member in entry.incumbent.members}
        assert members <= stay, "the last valid state stays"
        assert inventory.source.state == "live"
