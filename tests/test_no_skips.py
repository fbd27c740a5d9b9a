"""`--no-skips`, which CI relies on: a test that is not run to its end fails the session."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BODIES = {
    "skipped": "pytest.skip('later')",
    "expected to fail": "pytest.xfail('some day')",
    "passing": "assert True",
}


def session(folder: Path, body: str, *options: str, **environment: str) -> int:
    """The exit code of a session with one test of that body, under the project's own conftest."""
    (folder / "test_one.py").write_text(f"import pytest\n\n\ndef test_one() -> None:\n    {body}\n")
    clean = {key: value for key, value in os.environ.items() if key not in {"CI", "PYTEST_ADDOPTS"}}
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "tests.conftest",
            "-p",
            "no:cacheprovider",
            *options,
            "test_one.py",
        ],
        cwd=folder,
        env=clean | environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    return run.returncode


@pytest.mark.parametrize("kind", BODIES)
def test_left_out_tests_fail_the_session(tmp_path: Path, kind: str) -> None:
    expected = pytest.ExitCode.OK if kind == "passing" else pytest.ExitCode.TESTS_FAILED
    assert session(tmp_path, BODIES[kind], "--no-skips") == expected


def test_ci_implies_it_and_nothing_else_does(tmp_path: Path) -> None:
    assert session(tmp_path, BODIES["skipped"], CI="true") == pytest.ExitCode.TESTS_FAILED
    assert session(tmp_path, BODIES["skipped"]) == pytest.ExitCode.OK
