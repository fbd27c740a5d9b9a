"""Fixtures of the command line tests."""

from pathlib import Path

import pytest

from tests.cli.helpers import fill
from tests.discovery.harness import FileBackend


@pytest.fixture
def backend(tmp_path: Path) -> FileBackend:
    backend = FileBackend(tmp_path)
    fill(backend)
    return backend


@pytest.fixture
def empty(tmp_path: Path) -> FileBackend:
    return FileBackend(tmp_path)
