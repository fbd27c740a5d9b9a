"""Applies the named faults to a copy of the core, one at a time, and asks the core's tests whether they notice.

    python -m tests.mutants.run [NAME ...]

Exits 1 if a fault survives, does not compile, or does not fit the sources any more. The copy and what is built from it
lie in `target/mutants`, so that a later run only builds what changed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "mutants"
COPY = WORK / "copy"
COPIED = ("Cargo.toml", "Cargo.lock", "rust", "tests/fixtures")
# The state machine's own tests. What is red here is red in the whole suite, and the card vectors need not be compiled.
TESTS = ("--package", "workerset-core", "--lib", "--test", "machine", "--locked", "--quiet")
PATIENCE = 300.0  # seconds for one run of the tests; a fault may make one of them wait for ever

_FAILED = re.compile(r"^---- (\S+) stdout ----$", re.MULTILINE)


class FaultError(Exception):
    """A fault cannot be tried."""


def apply(root: Path, fault: Fault) -> None:
    """Make the changes of one fault in a copy of the sources.

    Raises:
        FaultError: an old text is not there exactly once, so the fault has to be written anew.

    """
    for edit in fault.edits:
        file = root / edit.file
        text = file.read_text()
        if text.count(edit.old) != 1:
            raise FaultError(f"{edit.file} holds this text {text.count(edit.old)} times, not once:\n{edit.old}")
        file.write_text(text.replace(edit.old, edit.new))


def copy_sources() -> None:
    """Copy what the core's tests need, with its times, so that no crate is compiled again without need."""
    shutil.rmtree(COPY, ignore_errors=True)
    for name in COPIED:
        source, target = ROOT / name, COPY / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)
    restore(FAULTS)


def restore(faults: Iterable[Fault]) -> None:
    """Undo faults. The files get a new time: with the old one cargo would keep what it built from a fault."""
    for file in {edit.file for fault in faults for edit in fault.edits}:
        shutil.copyfile(ROOT / file, COPY / file)


def cargo(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CARGO_TARGET_DIR": str(WORK / "build"), "CARGO_TERM_COLOR": "never"}
    return subprocess.run(  # the arguments are this file's own
        ["cargo", "test", *TESTS, *arguments],
        cwd=COPY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def noticed_by() -> list[str]:
    """The tests that fail; none if all pass.

    Raises:
        FaultError: the core does not compile.

    """
    built = cargo("--no-run")
    if built.returncode != 0:
        raise FaultError(f"it does not compile:\n{built.stderr[-3000:]}")
    try:
        done = cargo("--no-fail-fast")
    except subprocess.TimeoutExpired:
        return [f"(a test that did not end within {PATIENCE:g} s)"]
    if done.returncode == 0:
        return []
    return _FAILED.findall(done.stdout) or ["(a test process that ended early)"]


def try_fault(fault: Fault) -> bool:
    """Try one fault and say how it went. True: the tests noticed it."""
    began = time.monotonic()
    try:
        apply(COPY, fault)
        tests = noticed_by()
    except FaultError as error:
        print(f"BROKEN    {fault.name} ({fault.clauses}): {error}")
        return False
    finally:
        restore([fault])
    seconds = time.monotonic() - began
    if tests:
        more = f" and {len(tests) - 1} more" if len(tests) > 1 else ""
        print(f"killed    {fault.name} ({fault.clauses}) by {tests[0]}{more}, {seconds:.0f} s", flush=True)
    else:
        print(f"SURVIVED  {fault.name} ({fault.clauses}), {seconds:.0f} s", flush=True)
    return bool(tests)


def main(arguments: list[str]) -> int:
    """Try the faults that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a fault; default all")
    names = parser.parse_args(arguments).names
    unknown = set(names) - {fault.name for fault in FAULTS}
    if unknown:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    chosen = [fault for fault in FAULTS if not names or fault.name in names]
    copy_sources()
    try:
        already = noticed_by()
    except FaultError as error:
        print(f"without a fault: {error}")
        return 1
    if already:
        print(f"without a fault the tests fail already: {', '.join(already)}")
        return 1
    killed = sum([try_fault(fault) for fault in chosen])
    print(f"{killed} of {len(chosen)} faults killed")
    return 0 if killed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
