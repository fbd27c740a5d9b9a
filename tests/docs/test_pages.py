"""What README and documentation show is run: `python` blocks as one program a page, `console` blocks by command."""

import doctest
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.snippets import ROOT, Command, blocks, commands, pages

# Shown to readers, carried out by other checks: the targets by CI itself, the installation by the Makefile.
NOT_RUN = ("pip", "cd")
PAGES = {str(page.relative_to(ROOT)): page for page in pages()}
COMMANDS = {
    f"{name}:{command.line}": command
    for name, page in PAGES.items()
    for block in blocks(page)
    if block.language == "console"
    for command in commands(block)
}
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("DYN_")} | {
    "NO_COLOR": "1",
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": str(ROOT),
}


@pytest.mark.parametrize("name", PAGES)
def test_python_blocks_run(name: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", "-m", "tests.docs.run_page", str(PAGES[name])],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_console_blocks_show_what_happens(name: str) -> None:
    command = COMMANDS[name]
    program, *arguments = shlex.split(command.text)
    if program == "make":
        assert_targets(arguments)
    elif program == "workerset":
        assert_output(command, [program, *arguments])
    else:
        assert program in NOT_RUN, f"nothing checks this command: {command.text}"


def assert_targets(arguments: list[str]) -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = {line.split()[0] for line in listed.splitlines() if line.strip()}
    named = [argument for argument in arguments if "=" not in argument]
    assert set(named) <= targets


def assert_output(command: Command, words: list[str]) -> None:
    """The output, with `...` for what differs from run to run; a page may leave it out altogether."""
    run = subprocess.run(
        words, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )  # fmt: skip
    assert run.returncode in (0, 1), run.stdout
    if command.output:
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        agrees = doctest.OutputChecker().check_output(command.output, run.stdout, flags)
        assert agrees, f"the page shows:\n{command.output}\nthe command printed:\n{run.stdout}"
