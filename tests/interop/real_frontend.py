"""Starts and ends a real Dynamo 1.6 frontend that looks at a file store, and reads its answers and its log."""

import contextlib
import http.client
import json
import random
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from tests.interop.oracle import interpreter
from tests.interop.real_worker import PROFILE, environment

REJECTED = "Rejected incompatible workers; the first accepted configuration retains the WorkerSet"
COMMITTED = "Committed discovered model group"
REMOVED = "Removed discovered model group"
SELECTED = "Selected worker"
LOGGED = "error,dynamo_llm::discovery=info,dynamo_runtime::pipeline::network::egress::push_router=info"


@dataclass(frozen=True, order=True)
class Rejection:
    """One report of a rejected cohort. `group`: the group id. `instance`: an instance key of that cohort."""

    group: str
    incumbent_checksum: str
    rejected_checksum: str
    instance: str


class RealFrontend:
    """One frontend process, which answers when the constructor returns."""

    def __init__(self, store: Path, log: Path, *, deadline: float) -> None:
        self._port = _free_port()
        self._log = log
        command = [str(interpreter(PROFILE)), "-m", "dynamo.frontend"]
        logging = {"DYN_LOGGING_JSONL": "true", "DYN_LOG": LOGGED}
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, "--http-host", "127.0.0.1", "--http-port", str(self._port)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment(store) | logging,
            )
        end = time.monotonic() + deadline
        while True:
            try:
                self.models()
            except ConnectionError:
                code = self._process.poll()
                if code is None and time.monotonic() < end:
                    time.sleep(0.05)
                    continue
                self.close()
                raise AssertionError(f"the frontend does not answer, exit code {code}: {log.read_text()}") from None
            return

    def close(self) -> None:
        """End this process as an operator would, and wait until it is gone; nothing if it is gone already."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=30)
        finally:
            # Only after a wait in vain; nothing may outlive the test.
            self._process.kill()

    def models(self) -> tuple[str, ...]:
        """`/v1/models`: the names, ascending."""
        status, body = self._ask("GET", "/v1/models")
        assert status == http.client.OK, (status, body)
        return tuple(sorted(entry["id"] for entry in body["data"]))

    def ready(self, model: str) -> dict[str, Any] | None:
        """`/v1/models/{model}/ready` as it is; None if the model is not known."""
        status, body = self._ask("GET", f"/v1/models/{quote(model, safe='')}/ready")
        return None if status == http.client.NOT_FOUND else cast("dict[str, Any]", body)

    def chat(self, model: str) -> int | None:
        """One chat completion: the id of the instance that answered; None if nobody can, or the model is not known."""
        request = {"model": model, "messages": [{"role": "user", "content": "who?"}]}
        status, body = self._ask("POST", "/v1/chat/completions", request)
        if status in (http.client.NOT_FOUND, http.client.SERVICE_UNAVAILABLE):
            return None
        assert status == http.client.OK, (status, body)
        return int(body["choices"][0]["message"]["content"], 16)

    def groups(self) -> frozenset[str]:
        """Ids of the groups that serve, by what was logged as committed and removed."""
        serving: Counter[str] = Counter()
        for record in self._records():
            serving[record.get("group", "")] += {COMMITTED: 1, REMOVED: -1}.get(record["message"], 0)
        return frozenset(+serving)

    def rejections(self) -> tuple[Rejection, ...]:
        """Every report of a rejected cohort, in the order of the log."""
        return tuple(
            Rejection(
                group=json.dumps([record["model"], record["worker_set"]], separators=(",", ":"), ensure_ascii=False),
                incumbent_checksum=record["incumbent_checksum"],
                rejected_checksum=record["rejected_checksum"],
                # Logged as Rust's debug text of an optional string.
                instance=record["instance"].removeprefix('Some("').removesuffix('")'),
            )
            for record in self._records()
            if record["message"] == REJECTED
        )

    def selected(self) -> tuple[int, ...]:
        """Ids of the instances that requests were sent to, in the order of the log."""
        return tuple(record["worker_id"] for record in self._records() if record["message"] == SELECTED)

    def _records(self) -> Iterator[dict[str, Any]]:
        for line in self._log.read_text().splitlines(keepends=True):
            # The last line may still be growing.
            if line.startswith("{") and line.endswith("}\n"):
                yield json.loads(line)

    def _ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)) as connection:
            connection.request(
                method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"}
            )
            with connection.getresponse() as answer:
                text = answer.read()
        return answer.status, json.loads(text) if text else None


def _free_port() -> int:
    """A port that nobody listens on, below those that the system hands out by itself."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextlib.contextmanager
def real_frontend(store: Path, log: Path, *, deadline: float) -> Iterator[RealFrontend]:
    """A frontend for the time of the block."""
    started = RealFrontend(store, log, deadline=deadline)
    try:
        yield started
    finally:
        started.close()
