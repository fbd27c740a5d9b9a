"""Starts and ends real Dynamo 1.6 workers that publish into a file store."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.interop.oracle import interpreter

WORKER = Path(__file__).with_name("dynamo_worker.py")
PROFILE = "1.6"
LOOPBACK = dict.fromkeys(
    (
        "DYN_HTTP_HOST",
        "DYN_TCP_RPC_HOST",
        "DYN_TCP_RESPONSE_STREAM_HOST",
        "DYN_EVENT_PLANE_HOST",
        "DYN_SYSTEM_HOST",
    ),
    "127.0.0.1",
)
PLANES = {"DYN_REQUEST_PLANE": "tcp", "DYN_RESPONSE_PLANE": "tcp", "DYN_EVENT_PLANE": "zmq", "HF_HUB_OFFLINE": "1"}


def environment(store: Path) -> dict[str, str]:
    """The environment of this process without its Dynamo settings; with those of a file store and of loopback alone."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("DYN_")}
    return kept | LOOPBACK | PLANES | {"DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": str(store)}


class Worker:
    """One worker process, published when the constructor returns."""

    def __init__(self, store: Path, *, model: str, namespace: str, component: str, context_length: int) -> None:
        place = ["--model", model, "--namespace", namespace, "--component", component]
        self._process = subprocess.Popen(
            [str(interpreter(PROFILE)), str(WORKER), *place, "--context-length", str(context_length)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment(store) | {"DYN_LOG": "off"},
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("registered "):
                self.instance_id = int(line.split()[1], 16)
                self.instance = f"{namespace}/{component}/generate/{self.instance_id:x}"
                self.card = card_text(store, self.instance_id)
                return
        self.end()
        raise AssertionError(f"the worker ended with {self._process.returncode} before it had registered")

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send this process the signal and wait until it is gone; nothing if it is gone already."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()


def card_text(store: Path, instance_id: int) -> str:
    """The card that the worker itself wrote."""
    (file,) = (store / "v1" / "mdc").glob(f"*%2F{instance_id:x}")
    return json.dumps(json.loads(file.read_text())["card_json"])


@contextlib.contextmanager
def worker(
    store: Path, *, model: str, namespace: str, component: str = "backend", context_length: int
) -> Iterator[Worker]:
    """A worker for the time of the block."""
    started = Worker(store, model=model, namespace=namespace, component=component, context_length=context_length)
    try:
        yield started
    finally:
        started.end()
