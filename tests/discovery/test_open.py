"""URLs and environment variables."""

from pathlib import Path

import pytest

from tests.discovery.harness import FileBackend
from workerset import discovery
from workerset.discovery import FileDiscovery, MemoryDiscovery
from workerset.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("file:///a/b", "/a/b"),
        ("file://localhost/a", "/a"),
        ("file:/a/b", "/a/b"),
        ("file:///a%20b?ttl=5&resync=0", "/a b"),
    ],
)
def test_a_file_url_names_a_folder(url: str, root: str) -> None:
    source = discovery.open(url)
    assert isinstance(source, FileDiscovery)
    assert source.root == Path(root)


@pytest.mark.parametrize("url", ["memory:", "memory:lab"])
async def test_a_memory_url_names_a_store_that_lives_while_it_is_open(url: str) -> None:
    one, other, elsewhere = discovery.open(url), discovery.open(url), discovery.open("memory:elsewhere")
    assert isinstance(one, MemoryDiscovery)
    one.put("v1/mdc/a", b"1")
    assert [entry.value for entry in (await other.snapshot()).entries] == [b"1"]
    assert (await elsewhere.snapshot()).entries == ()
    assert (await MemoryDiscovery().snapshot()).entries == ()
    await one.aclose()
    assert len((await other.snapshot()).entries) == 1
    await other.aclose()
    assert (await discovery.open(url).snapshot()).entries == ()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("etcd://h:2379", "available: memory:, file:"),
        ("kubernetes://ns", "available: memory:, file:"),
        ("/a/b", "no backend for scheme ''"),
        ("file://a/b", "three slashes"),
        ("file:", "names no folder"),
        ("file:///a?ttl=soon", "ttl is 'soon'"),
        ("file:///a?ttl=-1", "ttl is '-1'"),
        ("file:///a?ttl=nan", "ttl is 'nan'"),
        ("file:///a?reload=1", "unknown option 'reload'"),
        ("file:///a?max_record_bytes=0", "max_record_bytes is '0'"),
        ("file:///a?max_record_bytes=1e3", "max_record_bytes is '1e3'"),
        ("memory://x", "takes a name behind the colon"),
    ],
)
def test_other_urls_are_refused_with_what_would_do(url: str, says: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        discovery.open(url)
    assert says in str(refusal.value)
    assert repr(url) in str(refusal.value)


def test_the_environment_names_a_file_store() -> None:
    source = discovery.from_environment({"DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": "/kv"})
    assert isinstance(source, FileDiscovery)
    assert source.root == Path("/kv")


@pytest.mark.parametrize(("tmpdir", "root"), [({"TMPDIR": "/var/tmp"}, "/var/tmp"), ({}, "/tmp")])
def test_the_default_file_store_is_dynamos(tmpdir: dict[str, str], root: str) -> None:
    source = discovery.from_environment({"DYN_DISCOVERY_BACKEND": "file"} | tmpdir)
    assert isinstance(source, FileDiscovery)
    assert source.root == Path(root, "dynamo_store_kv")


def test_the_environment_names_memory() -> None:
    source = discovery.from_environment({"DYN_DISCOVERY_BACKEND": "mem"})
    assert isinstance(source, MemoryDiscovery)


def test_the_process_environment_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYN_DISCOVERY_BACKEND", "file")
    monkeypatch.setenv("DYN_FILE_KV", "/kv")
    source = discovery.from_environment()
    assert isinstance(source, FileDiscovery)
    assert source.root == Path("/kv")


@pytest.mark.parametrize("environ", [{}, {"DYN_DISCOVERY_BACKEND": "etcd"}, {"DYN_DISCOVERY_BACKEND": "nope"}])
def test_other_backends_are_refused_with_what_would_do(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="available: file, mem"):
        discovery.from_environment(environ)


async def test_a_url_bounds_the_records(tmp_path: Path) -> None:
    backend = FileBackend(tmp_path)
    backend.put("v1/mdc/a/b/c/1", b"x" * 11)
    (entry,) = (await discovery.open(f"{backend.root.as_uri()}?ttl=0&max_record_bytes=10").snapshot()).entries
    assert entry.refused == "it has 11 bytes, more than the 10 of max_record_bytes"
