"""A frontend for synchronous servers."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.discovery.harness import FileBackend
from tests.discovery.records import card, worker
from tests.frontend.helpers import PATIENCE, Workshop
from workerset import BuildSpec
from workerset.discovery import MemoryDiscovery
from workerset.errors import ConfigError, ControllerClosed, DiscoveryTimeout, ModelNotFound
from workerset.frontend import Frontend


@pytest.fixture
def backend(tmp_path: Path) -> FileBackend:
    backend = FileBackend(tmp_path)
    for path, value in worker(1).items():
        backend.put(path, value)
    return backend


def test_it_routes_and_waits_without_await(backend: FileBackend) -> None:
    workshop = Workshop()
    threads: set[str] = set()

    async def build(spec: BuildSpec) -> str:
        threads.add(threading.current_thread().name)
        return await workshop.build(spec)

    with Frontend.run_in_thread(backend.open(), build=build, close=workshop.close) as frontend:
        assert frontend.wait_for("m").pipeline == "pipeline 1"
        assert frontend.route("m", model_type="chat").decode.pick() == 1
        assert frontend.inventory().source.state == "live"
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(frontend.wait_for, "other", unknown_ok=True)
            for path, value in worker(2, card("other"), component="other").items():
                backend.put(path, value)
            assert waiting.result(PATIENCE).generation == 2
        with pytest.raises(ModelNotFound):
            frontend.wait_for("nobody", timeout=0.01, unknown_ok=True)
    assert threads == {"workerset-frontend"}
    assert sorted(map(str, workshop.dropped)) == ["pipeline 1", "pipeline 2"]


def test_closing_ends_the_thread_and_what_waits(backend: FileBackend) -> None:
    frontend = Frontend.run_in_thread(backend.open())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(frontend.wait_for, "nobody", None, True)
        frontend.close()
        with pytest.raises(ControllerClosed):
            waiting.result(PATIENCE)
    frontend.close()
    assert "workerset-frontend" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ControllerClosed):
        frontend.wait_for("m")
    with pytest.raises(ControllerClosed):
        frontend.route("m")


def test_closing_beside_a_loop_that_has_ended_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    frontend = Frontend.run_in_thread(MemoryDiscovery())
    frontend.close()
    monkeypatch.setattr(frontend._thread, "is_alive", lambda: True)  # it is at its end, and not quite over
    frontend.close()


def test_a_frontend_that_cannot_start_says_so_here() -> None:
    source = MemoryDiscovery()
    source.drop_connection()
    with pytest.raises(DiscoveryTimeout):
        Frontend.run_in_thread(source, start_timeout=0.05)
    with pytest.raises(ConfigError):
        Frontend.run_in_thread(source, start_timeout=0.0)
    assert "workerset-frontend" not in {thread.name for thread in threading.enumerate()}
