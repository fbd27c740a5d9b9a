"""What `import workerset` gives."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import types

import workerset
from workerset import _native, errors


def test_all_lists_the_public_names() -> None:
    public = {
        name
        for name, thing in vars(workerset).items()
        if not name.startswith("_") and not isinstance(thing, types.ModuleType)
    }
    submodules = {name for name in workerset.__all__ if isinstance(getattr(workerset, name), types.ModuleType)}
    assert public | submodules | {"__version__"} == set(workerset.__all__)
    assert len(set(workerset.__all__)) == len(workerset.__all__)


def test_every_native_name_and_every_exception_is_exported() -> None:
    exported = set(workerset.__all__)
    assert set(_native.__all__) <= exported
    assert set(errors.__all__) <= exported
    assert all(getattr(workerset, name) is getattr(_native, name) for name in _native.__all__)


def test_the_version_is_the_distributions() -> None:
    assert workerset.__version__ == importlib.metadata.version("workerset")
    assert workerset.build_profile in {"debug", "release"}


def test_classes_say_where_they_are_found() -> None:
    for name in _native.__all__:
        thing = getattr(_native, name)
        if isinstance(thing, type):
            assert thing.__module__ == "workerset._native"
            assert thing.__doc__


def test_unions_hold_their_classes() -> None:
    assert isinstance(workerset.Requeued(), workerset.BuildVerdict)
    assert isinstance(workerset.ModelReady("m"), workerset.Notice)
    assert not isinstance(workerset.ModelReady("m"), workerset.Command)
    assert isinstance(workerset.Delete("p"), workerset.Event)


def test_every_notice_is_in_the_union() -> None:
    tagged = {thing for thing in vars(_native).values() if isinstance(thing, type) and is_output(thing)}
    unions = (workerset.Notice, workerset.Command, workerset.BuildVerdict)
    assert tagged == {kind for union in unions for kind in union.__args__}


def is_output(kind: type) -> bool:
    from tests.boundary.samples import SAMPLES  # noqa: PLC0415  # not needed to import this module

    return any(sample.kind is kind and "kind" in sample.plain for sample in SAMPLES)


def test_an_import_changes_no_logging_and_starts_no_thread() -> None:
    script = (
        "import logging, threading\n"
        "before = (list(logging.root.handlers), logging.root.level, threading.active_count())\n"
        "import workerset\n"
        "assert before == (list(logging.root.handlers), logging.root.level, threading.active_count())\n"
        "assert not logging.getLogger('workerset').handlers\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
