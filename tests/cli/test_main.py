"""The program as a whole, and `workerset demo`."""

import json
import subprocess
import sys

import pytest

from tests.cli.helpers import run, url
from tests.discovery.harness import FileBackend
from tests.discovery.test_file import make_unreadable
from workerset.cli._story import Story

MAIN = "from workerset.cli import main; main()"


def program(*arguments: str, before: str = "") -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", before + MAIN, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_demo_holds_what_it_tells() -> None:
    result = program("demo")
    assert (result.returncode, result.stderr) == (0, "")
    for claim in (
        "1. The first card takes the WorkerSet",
        "2. A larger cohort that disagrees is rejected",
        "the field that differs: kv_cache_block_size",
        "5. A late build is fenced",
        "generation 1 of model 'demo-7b' is retired",
    ):
        assert claim in result.stdout


def test_the_demo_as_json() -> None:
    result = run("demo", "--output", "json")
    story = json.loads(result.stdout)
    assert (story["ok"], story["failure"], result.exit_code) == (True, None, 0)
    assert len(story["steps"]) == 7
    assert all(step["title"] and step["text"] for step in story["steps"])


def test_a_demo_whose_claim_fails_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Story, "_serve", lambda _self, _hop, _requests: {0xBAD: 1})
    result = run("demo", "--output", "json")
    story = json.loads(result.stdout)
    assert (story["ok"], story["steps"], result.exit_code) == (False, [], 1)
    assert story["failure"] == "does not hold: requests go to the two workers"
    assert "the demo failed" in result.stderr


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_extra_it_names_it(missing: str) -> None:
    result = program("status", before=f"import sys; sys.modules[{missing!r}] = None; ")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"workerset: the command line needs {missing}: pip install 'workerset[cli]'\n"


def test_another_missing_module_is_not_hidden() -> None:
    result = program("status", before="import sys; sys.modules['workerset.cli._look'] = None; ")
    assert "ModuleNotFoundError" in result.stderr


def test_help_names_every_command() -> None:
    result = program("--help")
    assert result.returncode == 0
    for command in ("checksum", "demo", "diff", "explain", "replay", "status"):
        assert f"\n  {command} " in result.stdout


def test_version() -> None:
    assert program("--version").stdout.startswith("workerset, version ")


def test_output_to_a_pipe_has_no_colour(backend: FileBackend) -> None:
    result = program("status", "--discovery", url(backend))
    assert (result.returncode, result.stderr) == (0, "")
    assert "\x1b" not in result.stdout


def test_logs_go_to_stderr(empty: FileBackend) -> None:
    make_unreadable(empty.file("v1/mdc/ns/backend/generate/1"))
    result = program("status", "--discovery", url(empty))
    assert result.returncode == 0
    assert result.stderr.startswith("WARNING workerset.discovery: ")
    assert "cannot be read" in result.stderr
    assert "WARNING" not in result.stdout


def test_wrong_usage() -> None:
    assert program("nothing").returncode == 2
