"""Publishing a worker: what is written, kept, changed and taken back."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.discovery.harness import PATIENCE, following
from tests.discovery.records import card, compact
from workerset import CardError, ConfigError, DiscoveryError, Frontend, ModelCard, NotReady
from workerset.discovery import FileDiscovery, MemoryDiscovery, RegisteredWorker, register
from workerset.discovery import open as open_source
from workerset.discovery._file_store import decode_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

PLACE = {"namespace": "my-ns_1", "component": "back", "endpoint": "end"}
LORA = card("base/Lora_One", lora={"name": "base/Lora_One"})


def worker(url: str | MemoryDiscovery, **options: Any) -> AbstractAsyncContextManager[RegisteredWorker]:
    return register(url, **({"card": card(), "transport": "127.0.0.1:9000"} | PLACE | options))


@pytest.fixture(params=["file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return tmp_path.as_uri() if request.param == "file" else f"memory:{request.node.name}"


async def listed(url: str) -> dict[str, bytes]:
    """What stands in a store."""
    source = open_source(url)
    entries = (await source.snapshot()).entries
    await source.aclose()
    return {entry.path: entry.value for entry in entries if isinstance(entry.value, bytes)}


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something in the file system is so."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come true"
        await asyncio.sleep(0.005)


async def test_it_writes_what_dynamo_writes_and_takes_it_back(url: str) -> None:
    async with worker(url, device_type="cuda", request_plane_codec="msgpack") as one:
        key = f"my-ns_1/back/end/{one.instance_id:x}"
        assert one.instance_key == key
        assert await listed(url) == {
            f"v1/instances/{key}": (
                '{"type":"Endpoint","component":"back","endpoint":"end","namespace":"my-ns_1",'
                f'"instance_id":{one.instance_id},"transport":{{"tcp":"127.0.0.1:9000/{one.instance_id:x}/my-ns_1/back/end"}},'
                '"device_type":"cuda","request_plane_codec":"msgpack"}'
            ).encode(),
            f"v1/mdc/{key}": (
                '{"type":"Model","namespace":"my-ns_1","component":"back","endpoint":"end",'
                f'"instance_id":{one.instance_id},"card_json":'
            ).encode()
            + compact(card())
            + b"}",
        }
        kept = open_source(url)
    assert await listed(url) == {}
    await kept.aclose()


async def test_files_lie_as_dynamo_lays_them(tmp_path: Path) -> None:
    async with worker(tmp_path.as_uri()) as one:
        files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
        name = f"my%2Dns%5F1%2Fback%2Fend%2F{one.instance_id:x}"
        assert files == [tmp_path / "v1/instances" / name, tmp_path / "v1/mdc" / name]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o644}
        assert {file.stat().st_nlink for file in files} == {1}


async def test_card_text_is_published_digit_by_digit(url: str) -> None:
    text = json.dumps(card(user_data=0.0)).replace("0.0", "122.416294033786585") + "\n"
    async with worker(url, card=text) as one:
        assert text.encode() in (await listed(url))[f"v1/mdc/{one.instance_key}"]
        await one.update(taints=["é", "b"])
        assert one.card.runtime_config["taints"] == ["b", "é"]
        record = (await listed(url))[f"v1/mdc/{one.instance_key}"]
        assert b'"user_data":122.416294033786585' in record
        assert b'"context_length":4096' in record
        assert '"taints":["é","b"]'.encode() in record
