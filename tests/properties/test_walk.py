"""Every order of events in a small world: model and product compared in each distinct state.

``WORKERSET_WALK=slow`` goes ten times as far.
"""

from __future__ import annotations

import os

import pytest

from tests.reference.walk import Walk

SLOW = os.environ.get("WORKERSET_WALK") == "slow"
STATES = 1_000_000 if SLOW else 100_000


@pytest.mark.timeout(36_000 if SLOW else 1_800)
def test_product_and_model_agree_in_every_state(capsys: pytest.CaptureFixture[str]) -> None:
    walk = Walk(STATES)
    states = walk.run()
    with capsys.disabled():
        print(f"\n{states} distinct states, {walk.edges} edges, {walk.depth} calls deep")
    assert states >= STATES
