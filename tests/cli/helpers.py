"""A store with something to tell, and the command line on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from tests.discovery.records import card, card_record, endpoint_record, place, worker
from workerset.cli._app import app

if TYPE_CHECKING:
    from click.testing import Result

    from tests.discovery.harness import FileBackend


def run(*arguments: str, stdin: bytes | str | None = None, **environment: str) -> Result:
    """Run a command; stdout and stderr apart."""
    clean: dict[str, str | None] = {"DYN_DISCOVERY_BACKEND": None, "DYN_FILE_KV": None, "FORCE_COLOR": None}
    return CliRunner(env=clean | environment).invoke(app, list(arguments), input=stdin)


def url(backend: FileBackend) -> str:
    """Files never expire, so what is written once stays."""
    return f"{backend.root.as_uri()}?ttl=0"


def fill(backend: FileBackend) -> None:
    """An incumbent of three (one without an endpoint), two cohorts that disagree, and what is of no use."""
    records = worker(0x1F) | worker(0x20)
    records[f"v1/mdc/{place(0x21)}"] = card_record(place(0x21), card())
    records |= worker(0x2A, card(block_size=32)) | worker(0x2B, card(block_size=32))
    records |= worker(0x3A, card(block_size=32, aliases=["x"]))
    records[f"v1/mdc/{place(0x77)}"] = b"{}"
    records[f"v1/instances/{place(0x99)}"] = endpoint_record(place(0x99))
    for path, value in records.items():
        backend.put(path, value)
    (backend.root / "v1/mdc/zz%2").write_bytes(b"{}")
