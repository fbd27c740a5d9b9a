"""A panic becomes `InternalError`, never a `BaseException`, and closes the controller that it happened in.

Panics are provoked from outside: CPython's own `_testcapi.set_nomemory` lets one allocation fail, and PyO3 panics where
it cannot make a string or a dict. So the shipped code needs no switch for this test. It runs in a process of its own,
for the failing allocation may be anybody's.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PRELUDE = """
import _testcapi
import collections
import workerset
from tests.contract.world import World, base, card, instance, join
from workerset.errors import BindingRetired, ControllerClosed, InternalError  # found before memory is short


def outcomes(make, call):
    seen = collections.Counter()
    for nth in range(60):
        subject = make()
        _testcapi.set_nomemory(nth, nth + 1)
        try:
            try:
                call(subject)
            finally:
                _testcapi.remove_mem_hooks()
            seen["ok"] += 1
        except (InternalError, MemoryError) as error:
            seen[type(error).__name__] += 1
            after(subject, error)
    return seen
"""


def run(body: str) -> None:
    script = PRELUDE + textwrap.dedent(body)
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]


def test_a_panic_in_a_value_is_an_internal_error() -> None:
    run("""
        from tests.boundary.samples import CARD, SAMPLES

        def after(subject, error):
            assert subject.to_dict()

        cards = outcomes(lambda: CARD, lambda card: card.to_dict())
        assert cards["InternalError"] > 0, cards
        records = outcomes(SAMPLES[0].make, lambda record: record.to_dict())
        assert records["InternalError"] > 0, records
        assert records["ok"] > 0, records
        """)


def test_a_panic_in_a_controller_closes_it_and_retires_its_hops() -> None:
    run("""
        def make():
            world = World()
            world.serving(join(1), instance(2), base(2, card("second-model")))
            world.hop = world.controller.route("m").decode
            return world

        def after(world, error):
            if not isinstance(error, InternalError):
                assert not world.controller.closed
                return
            assert error.reason
            assert world.controller.closed
            for call in (lambda: world.apply(join(2)), lambda: world.controller.route("m")):
                try:
                    call()
                except ControllerClosed:
                    continue
                raise AssertionError("not closed")
            try:
                world.hop.pick()
            except BindingRetired:
                pass
            else:
                raise AssertionError("not retired")
            assert world.controller.poll() == workerset.Withdraw(world.tokens[1])

        seen = outcomes(make, lambda world: world.controller.models())
        assert seen["InternalError"] > 0, seen
        assert seen["ok"] > 0, seen
        """)


def test_an_output_that_finds_no_memory_closes_the_controller() -> None:
    """Its command is lost, and a lost command would leave a set unserved for ever."""
    run("""
        def make():
            world = World()
            world.controller.apply(join(1), now=0.0)
            return world

        whole = len(make().drain())
        closed = 0

        def after(world, error):
            global closed
            if world.controller.closed:
                closed += 1
            else:  # it was short before the call had begun: nothing is lost
                assert len(world.drain()) == whole

        seen = outcomes(make, lambda world: world.controller.poll())
        assert closed > 0, seen
        assert seen["ok"] > 0, seen
        """)
