"""The list of faults keeps up with the sources; whether the core's tests notice them is for `make mutants`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.mutants import run
from tests.mutants.faults import FAULTS, Edit, Fault


def copy(files: set[str], root: Path) -> None:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run.ROOT / file, root / file)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_fits_the_sources(fault: Fault, tmp_path: Path) -> None:
    files = {edit.file for edit in fault.edits}
    copy(files, tmp_path)
    run.apply(tmp_path, fault)
    for file in files:
        assert (tmp_path / file).read_text() != (run.ROOT / file).read_text()


def test_a_fault_that_does_not_fit_says_so(tmp_path: Path) -> None:
    file = FAULTS[0].edits[0].file
    copy({file}, tmp_path)
    for old in ("no such text", "token"):
        with pytest.raises(run.FaultError, match=f"{file} holds this text .* times, not once"):
            run.apply(tmp_path, Fault("f", "S4", (Edit(file, old, ""),)))


def test_there_are_twelve_with_names_of_their_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) == 12
