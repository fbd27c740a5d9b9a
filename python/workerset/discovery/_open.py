"""From a URL or from Dynamo's environment variables to an adapter."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from workerset._text import named
from workerset.discovery._file_writer import FilePublisher
from workerset.discovery.base import MAX_RECORD_BYTES
from workerset.discovery.file import FileDiscovery
from workerset.discovery.memory import MemoryDiscovery
from workerset.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from urllib.parse import SplitResult

    from workerset.discovery.base import Discovery, Publisher

_FORMS = "memory:, file:///dir?ttl=10&resync=30"


def open(url: str) -> Discovery:  # noqa: A001  # always used as discovery.open
    """Make the adapter that a URL names. Touches nothing yet: a source that is not there shows in its state.

    * `memory:` or `memory:name`: the store of that name in this process, a `MemoryDiscovery`. The same URL means the
      same store, as with every backend; `MemoryDiscovery()` makes one apart.
    * `file:///dir`: Dynamo's file store below that folder. `ttl` (seconds, default 10, 0 = files never expire),
      `resync` (seconds, default 30, 0 = off) and `max_record_bytes` (default 4 MiB) may follow as a query. A relative
      path is taken from the working folder.

    Raises:
        ConfigError: the scheme is not one of these, or the URL is malformed.

    """
    parts = _split(url)
    if parts.scheme == "memory":
        return MemoryDiscovery(_memory_name(url, parts))
    if parts.scheme == "file":
        options = _file_options(url, parts)
        return FileDiscovery(options.root, options.ttl, options.resync, max_record_bytes=options.max_record_bytes)
    raise _refuse(url, f"no backend for scheme {named(parts.scheme)}; available: {_FORMS}")


def publisher(url: str, ttl: float) -> Publisher:
    """Make what writes into the backend that a URL for `open` names. Touches nothing yet.

    Args:
        url: as for `open`.
        ttl: seconds; a shorter `ttl` of the URL wins (10 unless it says another).

    Raises:
        ConfigError: as `open`.

    """
    parts = _split(url)
    if parts.scheme == "memory":
        return MemoryDiscovery(_memory_name(url, parts)).publisher(ttl)
    if parts.scheme == "file":
        options = _file_options(url, parts)
        return FilePublisher(options.root, min(ttl, options.ttl or ttl))
    raise _refuse(url, f"no backend for scheme {named(parts.scheme)}; available: {_FORMS}")


def from_environment(environ: Mapping[str, str] | None = None) -> Discovery:
    """Make the adapter that Dynamo's own variables name.

    `DYN_DISCOVERY_BACKEND` is `file` or `mem` (Dynamo's default, `etcd`, and `kubernetes` are not available here);
    `DYN_FILE_KV` is the folder of the file store, by default `dynamo_store_kv` in `TMPDIR` (or `/tmp`).

    Args:
        environ: the variables; default `os.environ`.

    Raises:
        ConfigError: the backend is unknown or not available.

    """
    env = os.environ if environ is None else environ
    backend = env.get("DYN_DISCOVERY_BACKEND") or "etcd"
    if backend == "mem":
        return MemoryDiscovery("")
    if backend == "file":
        return FileDiscovery(env.get("DYN_FILE_KV") or Path(env.get("TMPDIR") or "/tmp", "dynamo_store_kv"))  # noqa: S108  # Dynamo's default
    if backend in ("etcd", "kubernetes"):
        given = f"{backend!r}" if env.get("DYN_DISCOVERY_BACKEND") else "not set, which means 'etcd'"
        raise ConfigError("DYN_DISCOVERY_BACKEND", f"{given}; that backend is not available; available: file, mem")
    raise ConfigError("DYN_DISCOVERY_BACKEND", f"{named(backend)} is not a known backend; available: file, mem")


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise _refuse(url, f"is not a URL: {error}") from error


def _memory_name(url: str, parts: SplitResult) -> str:
    if parts.netloc or parts.query or "/" in parts.path:
        raise _refuse(url, "memory: takes a name behind the colon, or nothing")
    return unquote(parts.path)


class _FileOptions(NamedTuple):
    root: str
    ttl: float
    resync: float
    max_record_bytes: int


def _file_options(url: str, parts: SplitResult) -> _FileOptions:
    if parts.netloc not in ("", "localhost"):
        raise _refuse(url, f"names a host, {named(parts.netloc)}; a folder has three slashes, file:///dir")
    if not parts.path:
        raise _refuse(url, "names no folder; write file:///dir")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    unknown = sorted(set(options) - {"ttl", "resync", "max_record_bytes"})
    if unknown:
        raise _refuse(url, f"unknown option {named(unknown[0])}; there are ttl, resync and max_record_bytes")
    ttl, resync = _seconds(url, options, "ttl", 10.0), _seconds(url, options, "resync", 30.0)
    limit = options.get("max_record_bytes", str(MAX_RECORD_BYTES))
    if not (limit.isascii() and limit.isdecimal() and len(limit) < 20 and int(limit) > 0):
        raise _refuse(url, f"max_record_bytes is {named(limit)}, expected a number of bytes, 1 or more")
    return _FileOptions(unquote(parts.path, errors="surrogateescape"), ttl, resync, int(limit))


def _seconds(url: str, options: Mapping[str, str], name: str, default: float) -> float:
    text = options.get(name)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds < float("inf"):
        raise _refuse(url, f"{name} is {named(text)}, expected seconds, 0 or more")
    return seconds


def _refuse(url: str, reason: str) -> ConfigError:
    joined = " " if reason.startswith(("names", "is ")) else ": "
    return ConfigError("discovery", f"{named(url)}{joined}{reason}")
