"""Publishing a worker: what is written, kept, changed and taken back."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import sys
import threading
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
LORA = card("base/Lora_One", slug="base_lora_one", lora={"name": "base/Lora_One"})


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
        written = files(tmp_path)
        name = f"my%2Dns%5F1%2Fback%2Fend%2F{one.instance_id:x}"
        assert written == [tmp_path / "v1/instances" / name, tmp_path / "v1/mdc" / name]
        assert {stat.S_IMODE(file.stat().st_mode) for file in written} == {0o644}
        assert {file.stat().st_nlink for file in written} == {1}


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


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"nats_tcp": "x"}, {"nats_tcp": "x"}),
        (lambda instance_id: {"tcp": f"h:1/{instance_id:x}"}, {"tcp": "h:1/{id:x}"}),
    ],
    ids=["mapping", "function"],
)
async def test_a_transport_is_an_object_or_what_makes_one(url: str, given: Any, expected: dict[str, str]) -> None:
    async with worker(url, transport=given) as one:
        record = json.loads((await listed(url))[f"v1/instances/{one.instance_key}"])
        assert record["transport"] == {name: text.format(id=one.instance_id) for name, text in expected.items()}
        assert "device_type" not in record


@pytest.mark.parametrize(
    "form", [dict, compact, lambda content: compact(content).decode()], ids=["map", "bytes", "str"]
)
async def test_a_card_comes_in_any_form(url: str, form: Callable[[dict[str, Any]], Any]) -> None:
    async with worker(url, card=form(card())) as one:
        assert one.card == ModelCard.from_json(compact(card()))
    async with worker(url, card=ModelCard.from_json(compact(card()), "1.5")) as one:
        assert one.card.profile == "1.5"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("{", "EOF"),
        ({"display_name": "m"}, "missing field"),
        (card(needs=None), "needs"),
        (card(display_name=""), "display_name"),
        (card(worker_type="prefill", model_input="Text"), "prefill"),
        (card(user_data=float("nan")), "not JSON compliant"),
        (card(user_data={1, 2}), "not JSON serializable"),
        (compact(card(x=1)).replace(b'"x":1', b'"x":1e999'), "number out of range"),
        (card(user_data="\ud800"), "invalid utf-8"),
        (LORA, "lora"),
    ],
    ids=str,
)
async def test_a_card_that_no_frontend_takes_is_not_published(tmp_path: Path, wrong: Any, says: str) -> None:
    with pytest.raises(CardError, match=says):
        await worker(tmp_path.as_uri(), card=wrong).__aenter__()
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"namespace": "a/b"}, "namespace"),
        ({"component": ""}, "component"),
        ({"endpoint": "/"}, "endpoint"),
        ({"transport": {"tcp": object()}}, "transport"),
        ({"transport": ""}, "transport"),
        ({"transport": {}}, "transport"),
        ({"transport": {"tcp": ""}}, "transport"),
        ({"transport": lambda _id: {"tcp": None}}, "transport"),
        ({"ttl": 0.0}, "ttl"),
        ({"ttl": float("inf")}, "ttl"),
    ],
)
async def test_wrong_arguments_publish_nothing(tmp_path: Path, options: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        await worker(tmp_path.as_uri(), **options).__aenter__()
    assert refusal.value.field == field
    assert files(tmp_path) == []


async def test_a_function_that_makes_no_transport_of_the_real_id_publishes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match='transport tcp is "", not an address'):
        await worker(tmp_path.as_uri(), transport=lambda number: {"tcp": "h:1" if number == 1 else ""}).__aenter__()
    assert files(tmp_path) == []


async def test_other_backends_are_refused() -> None:
    with pytest.raises(ConfigError, match="available: memory:, file:"):
        await worker("etcd://h:2379").__aenter__()


async def test_a_store_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "v1").write_bytes(b"")
    with pytest.raises(DiscoveryError, match="v1") as failure:
        await worker(tmp_path.as_uri()).__aenter__()
    assert failure.value.url == tmp_path.as_uri()


async def test_a_worker_gives_signs_of_life(tmp_path: Path) -> None:
    async with worker(tmp_path.as_uri(), ttl=0.1) as one:
        await one.add_adapter(LORA)
        written = files(tmp_path)
        assert len(written) == 3
        before = time.time() - 1.0
        for _ in range(2):
            for file in written:
                os.utime(file, (1.0, 1.0))
            await until(lambda: all(file.stat().st_mtime > before for file in written))
        assert files(tmp_path) == written


async def test_a_shorter_ttl_of_the_url_counts(tmp_path: Path) -> None:
    async with worker(f"{tmp_path.as_uri()}?ttl=0.1", ttl=1000.0):
        file = files(tmp_path)[1]
        os.utime(file, (1.0, 1.0))
        await until(lambda: file.stat().st_mtime > 1.0)


@pytest.mark.parametrize("swept", ["v1/mdc/{}", "v1/instances/{}", "v1/mdc/{}/base_lora_one"])
async def test_a_swept_worker_goes_on_under_a_new_id(
    tmp_path: Path, swept: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with worker(tmp_path.as_uri(), ttl=0.1) as one:
        await one.add_adapter(LORA)
        old, old_key = one.instance_id, one.instance_key
        find(tmp_path, swept.format(old_key)).unlink()
        new = await asyncio.wait_for(one.renewed(old), PATIENCE)
        assert new == one.instance_id != old
        key = one.instance_key
        assert set(await listed(tmp_path.as_uri())) == {
            f"v1/instances/{key}",
            f"v1/mdc/{key}",
            f"v1/mdc/{key}/base_lora_one",
        }
        record = json.loads((await listed(tmp_path.as_uri()))[f"v1/instances/{key}"])
        assert record["transport"] == {"tcp": f"127.0.0.1:9000/{new:x}/my-ns_1/back/end"}
        assert f"a record of {old_key} is gone; the worker goes on as {key}" in caplog.text
    assert await listed(tmp_path.as_uri()) == {}


async def test_a_worker_swept_from_memory_goes_on_under_a_new_id() -> None:
    source = MemoryDiscovery()
    async with worker(source, ttl=0.03) as one:
        old = one.instance_id
        source.delete(f"v1/mdc/{one.instance_key}")
        await asyncio.wait_for(one.renewed(old), PATIENCE)
        assert {entry.path for entry in (await source.snapshot()).entries} == {
            f"v1/instances/{one.instance_key}",
            f"v1/mdc/{one.instance_key}",
        }


async def test_a_store_that_is_gone_is_made_anew(tmp_path: Path) -> None:
    async with worker(tmp_path.as_uri(), ttl=0.1) as one:
        old = one.instance_id
        (tmp_path / "v1").rename(tmp_path / "elsewhere")
        await asyncio.wait_for(one.renewed(old), PATIENCE)
        assert len(await listed(tmp_path.as_uri())) == 2


async def test_a_sweep_that_an_update_finds_makes_a_new_id_with_the_new_card(url: str) -> None:
    source = open_source(url)
    async with worker(url, ttl=1000.0) as one:
        old, old_key = one.instance_id, one.instance_key
        if isinstance(source, FileDiscovery):
            find(source.root, f"v1/instances/{old_key}").unlink()
        else:
            assert isinstance(source, MemoryDiscovery)
            source.delete(f"v1/instances/{old_key}")
        await one.update(taints=["draining"])
        assert one.instance_id != old
        records = await listed(url)
        assert set(records) == {f"v1/instances/{one.instance_key}", f"v1/mdc/{one.instance_key}"}
        assert b'"taints":["draining"]' in records[f"v1/mdc/{one.instance_key}"]
    await source.aclose()


async def test_a_file_system_that_fails_for_a_while_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures: list[int] = []

    def failing_utime(*_arguments: Any, **_options: Any) -> None:
        failures.append(1)
        raise OSError(5, "Input/output error")

    async with worker(tmp_path.as_uri(), ttl=0.03) as one:
        old = one.instance_id
        with monkeypatch.context() as patch:
            patch.setattr(os, "utime", failing_utime)
            await until(lambda: len(failures) >= 3)
        file = files(tmp_path)[1]
        os.utime(file, (1.0, 1.0))
        await until(lambda: file.stat().st_mtime > 1.0)
        assert one.instance_id == old
    assert caplog.text.count("no sign of life") == 1


async def test_a_new_id_that_cannot_be_published_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures: list[int] = []

    def failing_link(*_arguments: Any, **_options: Any) -> None:
        failures.append(1)
        raise OSError(28, "No space left on device")

    async with worker(tmp_path.as_uri(), ttl=0.03) as one:
        old = one.instance_id
        with monkeypatch.context() as patch:
            patch.setattr(os, "link", failing_link)
            find(tmp_path, f"v1/mdc/{one.instance_key}").unlink()
            await until(lambda: len(failures) >= 2)
            with pytest.raises(DiscoveryError, match="No space left"):
                await one.update(taints=["x"])
            assert one.instance_id == old
        await asyncio.wait_for(one.renewed(old), PATIENCE)
        assert one.card.raw == compact(card())
        assert len(files(tmp_path)) == 2


async def test_an_update_replaces_the_file_in_one_step(tmp_path: Path) -> None:
    async with worker(tmp_path.as_uri()) as one, following(FileDiscovery(tmp_path)) as follower:
        path = f"v1/mdc/{one.instance_key}"
        await follower.until(lambda: path in follower.records)
        before = find(tmp_path, path).stat().st_ino
        await one.update(card(user_data="new"))
        assert find(tmp_path, path).stat().st_ino != before
        await follower.until(lambda: b'"user_data":"new"' in bytes_of(follower.records[path]))
        assert [event.to_dict()["path"] for event in follower.events[1:]] == [path]
        assert one.card.user_data == "new"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kv_cache_block_size": 32}, "kv_cache_block_size"),
        ({"display_name": "other"}, "display_name"),
        ({"model_type": "Chat"}, "WorkerSet"),
    ],
)
async def test_a_live_instance_keeps_its_checksum_and_set(url: str, change: dict[str, Any], says: str) -> None:
    async with worker(url) as one:
        before = await listed(url)
        for _ in range(2):
            with pytest.raises(ConfigError, match=rf"a live instance may not change .*{says}.*clause I8"):
                await one.update(card(**change))
        assert await listed(url) == before
        with pytest.raises(CardError):
            await one.update("[]")
        with pytest.raises(CardError):
            await one.update(taints=[1])  # type: ignore[list-item]  # on purpose
        assert await listed(url) == before
        await one.update(card(migration_limit=3), taints=["x"])
        assert (one.card.migration_limit, one.card.runtime_config["taints"]) == (3, ["x"])


async def test_taints_need_no_runtime_config_but_no_list_either(url: str) -> None:
    bare = card()
    del bare["runtime_config"]
    async with worker(url, card=bare) as one:
        await one.update(taints=["x"])
        assert one.card.runtime_config["taints"] == ["x"]
    async with worker(url, card=card(runtime_config=[None] * 6)) as one:
        with pytest.raises(CardError, match="object only"):
            await one.update(taints=["x"])


async def test_adapters_stand_beside_their_worker(url: str) -> None:
    async with worker(url) as one:
        base = await listed(url)
        assert await one.add_adapter(LORA) == "base_lora_one"
        path = f"v1/mdc/{one.instance_key}/base_lora_one"
        record = json.loads((await listed(url))[path])
        assert (record["model_suffix"], record["card_json"]) == ("base_lora_one", LORA)
        await one.add_adapter(LORA | {"user_data": 1})
        assert json.loads((await listed(url))[path])["card_json"]["user_data"] == 1
        with pytest.raises(CardError, match="which adapter"):
            await one.add_adapter(card())
        with pytest.raises(CardError, match="empty part"):
            await one.add_adapter(card(lora={"name": "__"}))
        await one.remove_adapter("base_lora_one")
        await one.remove_adapter("base_lora_one")
        assert await listed(url) == base
        await one.add_adapter(LORA)


async def test_the_endpoint_comes_first_and_goes_last() -> None:
    source = MemoryDiscovery()
    async with following(source) as follower:
        await follower.until(lambda: bool(follower.events))
        async with worker(source) as one:
            await one.add_adapter(LORA)
            key = one.instance_key
            await follower.until(lambda: len(follower.records) == 3)
        await follower.until(lambda: not follower.records)
        order = [f"v1/instances/{key}", f"v1/mdc/{key}", f"v1/mdc/{key}/base_lora_one"]
        assert [event.to_dict()["path"] for event in follower.events[1:]] == order + order[::-1]


async def test_it_is_withdrawn_when_its_block_fails(url: str) -> None:
    kept = open_source(url)
    with pytest.raises(ZeroDivisionError):
        async with worker(url):
            raise ZeroDivisionError
    assert await listed(url) == {}
    await kept.aclose()


async def test_a_registration_that_is_cancelled_on_its_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    reached, released = threading.Event(), threading.Event()
    link = os.link

    def slow_link(*arguments: Any) -> None:
        reached.set()
        assert released.wait(PATIENCE)
        link(*arguments)

    monkeypatch.setattr(os, "link", slow_link)
    entering = asyncio.create_task(worker(tmp_path.as_uri()).__aenter__())
    await asyncio.to_thread(reached.wait, PATIENCE)
    entering.cancel()
    released.set()
    await asyncio.wait({entering}, timeout=PATIENCE)
    assert entering.cancelled()
    assert files(tmp_path) == []


async def test_files_of_a_process_that_died_expire(tmp_path: Path) -> None:
    script = f"""
import asyncio, os
from workerset.discovery import register
async def main():
    async with register({tmp_path.as_uri()!r}, card={card()!r}, transport="h:1", **{PLACE!r}):
        os._exit(7)
asyncio.run(main())
"""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", script)
    assert await asyncio.wait_for(process.wait(), PATIENCE) == 7
    assert len(files(tmp_path)) == 2
    assert len((await FileDiscovery(tmp_path, ttl=60.0).snapshot()).entries) == 2
    later = FileDiscovery(tmp_path, ttl=60.0, clock=lambda: time.time() + 61.0)
    assert (await later.snapshot()).entries == ()


async def test_a_withdrawn_worker_says_so(url: str) -> None:
    async with worker(url) as one:
        waiting = asyncio.create_task(one.renewed(one.instance_id))
        await asyncio.sleep(0)
    with pytest.raises(ConfigError, match="withdrawn"):
        await asyncio.wait_for(waiting, PATIENCE)
    for call in (one.update(taints=[]), one.add_adapter(LORA), one.remove_adapter("x"), one.renewed(one.instance_id)):
        with pytest.raises(ConfigError, match="withdrawn"):
            await call


async def test_what_cannot_be_withdrawn_is_left_to_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing_unlink(*_arguments: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(worker(tmp_path.as_uri()))
            patch.setattr(os, "unlink", failing_unlink)
    assert "left to expire" in caplog.text


async def test_a_frontend_follows_a_worker_from_id_to_id(url: str) -> None:
    async with worker(url, ttl=0.3) as one, Frontend(open_source(url)) as frontend:
        first = one.instance_id
        route = await frontend.wait_for("m", unknown_ok=True)
        assert route.decode.pick() == first
        known = route.decode.worker(first)
        assert known is not None
        assert known.transport == {"tcp": f"127.0.0.1:9000/{first:x}/my-ns_1/back/end"}
        remover = open_source(url)
        if isinstance(remover, MemoryDiscovery):
            remover.delete(f"v1/instances/{one.instance_key}")
        elif isinstance(remover, FileDiscovery):
            find(remover.root, f"v1/instances/{one.instance_key}").unlink()
        second = await asyncio.wait_for(one.renewed(first), PATIENCE)

        def serves_second() -> bool:
            try:
                return frontend.route("m").decode.ids() == (second,)
            except NotReady:
                return False

        await until(serves_second)
        await remover.aclose()


def files(root: Path) -> list[Path]:
    """All files below a folder, sorted."""
    return sorted(path for path in root.rglob("*") if path.is_file())


def find(root: Path, path: str) -> Path:
    """The file of a record."""
    version, bucket, key = path.split("/", 2)
    (file,) = (file for file in (root / version / bucket).iterdir() if decode_name(file.name) == key)
    return file


def bytes_of(value: bytes | str) -> bytes:
    """A value as bytes."""
    return value.encode() if isinstance(value, str) else value
