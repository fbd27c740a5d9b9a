"""Real Dynamo 1.6 workers in a file store, seen through the command line and through a frontend."""

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import workerset
import workerset.discovery
from tests.interop.oracle import Oracle
from tests.interop.real_worker import PROFILE, Worker, worker

MODEL = "org/tiny"
NAMESPACE = "interop"
COMMAND = Path(sys.executable).with_name("workerset")
# The store keeps the keys of a killed worker until they are 10 s old; checks and machine come on top.
DEADLINE = 60.0


def url(store: Path) -> str:
    return f"file://{store}"


def command(store: Path, *arguments: str) -> str:
    run = subprocess.run(
        [COMMAND, *arguments, "--discovery", url(store)], capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def status(store: Path) -> dict[str, Any]:
    (entry,) = json.loads(command(store, "status", "--output", "json"))["worker_sets"]
    assert isinstance(entry, dict)
    return entry


def wheel_sum(card: str) -> str:
    with contextlib.closing(Oracle(PROFILE)) as oracle:
        answer = oracle.ask(card)
    assert answer.mdcsum is not None, answer.error
    return answer.mdcsum


def start(store: Path, context_length: int) -> contextlib.AbstractContextManager[Worker]:
    return worker(store, model=MODEL, namespace=NAMESPACE, context_length=context_length)


def test_status_shows_the_wheels_own_checksum(tmp_path: Path) -> None:
    with start(tmp_path, 4096) as first:
        entry = status(tmp_path)
        assert entry["model"] == MODEL
        assert (entry["namespace"], entry["component"], entry["endpoint"]) == (NAMESPACE, "backend", "generate")
        assert (entry["model_types"], entry["worker_type"], entry["phase"]) == ("chat", "aggregated", "ready")
        assert entry["incumbent"]["members"] == [first.instance]
        assert entry["incumbent"]["mdc_checksum"] == wheel_sum(first.card)
        assert entry["routable"] == [first.instance_id]


def test_another_context_length_is_rejected_and_explained(tmp_path: Path) -> None:
    """Clauses R1, R3, R6 and I5."""
    with start(tmp_path, 4096) as first, start(tmp_path, 8192) as second:
        entry = status(tmp_path)
        assert entry["incumbent"]["members"] == [first.instance]
        (rejected,) = entry["rejected"]
        assert rejected["members"] == [second.instance]
        assert rejected["mdc_checksum"] == wheel_sum(second.card)
        assert rejected["differs"] == ["context_length"]
        assert entry["admitted"] == [first.instance_id]
        text = command(tmp_path, "explain", MODEL)
        for expected in ("context_length", "4096", "8192"):
            assert expected in text


async def next_succession(frontend: workerset.Frontend) -> None:
    async for notice in frontend.subscribe():
        if isinstance(notice, workerset.Succession):
            return


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["leaves", "is-killed"])
async def test_the_second_worker_succeeds_when_the_first_is_gone(tmp_path: Path, number: signal.Signals) -> None:
    """Clauses S1 to S5, with the time limit of the store where the worker cannot say goodbye."""
    with start(tmp_path, 4096) as first, start(tmp_path, 8192) as second:
        async with workerset.Frontend(workerset.discovery.open(url(tmp_path))) as frontend:
            await frontend.wait_for(MODEL, timeout=DEADLINE)
            before = frontend.route(MODEL).decode
            assert before.ids() == (first.instance_id,)
            succession = asyncio.ensure_future(next_succession(frontend))
            await asyncio.sleep(0)
            first.end(number)
            await asyncio.wait_for(succession, DEADLINE)
            await frontend.wait_for(MODEL, timeout=DEADLINE)
            after = frontend.route(MODEL).decode
            assert after.ids() == (second.instance_id,)
            assert after.generation > before.generation
            with pytest.raises(workerset.BindingRetired):
                before.pick()
            (entry,) = frontend.inventory().to_dict()["worker_sets"]
            assert entry["incumbent"]["members"] == [second.instance]
