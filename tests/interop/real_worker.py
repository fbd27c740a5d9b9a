"""Starts and ends real Dynamo 1.6 workers that publish into a file store."""

import contextlib
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


class Worker:
    """One worker process, published when the constructor returns."""

    def __init__(self, store: Path, *, model: str, namespace: str, context_length: int) -> None:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("DYN_")}
        environment |= LOOPBACK | PLANES | {"DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": str(store)}
        command = [str(interpreter(PROFILE)), str(WORKER), "--model", model, "--namespace", namespace]
        self._process = subprocess.Popen(
            [*command, "--context-length", str(context_length)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment | {"DYN_LOG": "off"},
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("registered "):
                self.instance_id = int(line.split()[1], 16)
                return
        raise AssertionError(f"the worker ended with {self._process.wait(timeout=30)} before it had registered")

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Send this process the signal and wait until it is gone; nothing if it is gone already."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextlib.contextmanager
def worker(store: Path, *, model: str, namespace: str, context_length: int) -> Iterator[Worker]:
    """A worker for the time of the block."""
    started = Worker(store, model=model, namespace=namespace, context_length=context_length)
    try:
        yield started
    finally:
        started.end()
