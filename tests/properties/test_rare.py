"""Histories that random search meets too rarely, against both controllers."""

from __future__ import annotations

import workerset
from tests.reference import world
from tests.reference.config import Config
from tests.reference.pair import Pair
from workerset import Delete

ONE, TWO, OWNER = world.WORKERS[0], world.WORKERS[1], world.OTHERS[0]


def pair() -> Pair:
    return Pair(Config(), workerset.AdmissionConfig())


def test_s9_a_member_change_does_not_release_a_blocked_build() -> None:
    both = pair()
    both.apply([world.base(OWNER, world.card("n", aliases=["m"])), world.base(ONE, world.card("m"))], 0.0)
    both.succeeded(both.tokens[0], 0.0)
    both.succeeded(both.tokens[1], 0.0)
    both.advance(1.0)
    both.succeeded(both.tokens[2], 1.0)
    assert both.model.next_deadline() == 3.0
    both.apply([world.base(TWO, world.card("m"))], 1.5)
    assert both.model.next_deadline() == 3.0
    both.check_inventory()
    both.apply([Delete(OWNER.card_path)], 1.75)
    assert len(both.tokens) == 4, "queued at once when the owner withdraws"


def test_d2_a_tombstone_is_gone_after_exactly_ten_minutes() -> None:
    both = pair()
    both.apply([Delete(ONE.card_path, revision=5)], 1.0)
    stale = world.base(ONE, world.card("m"), revision=4)
    assert both.apply([stale], 600.75) == []
    assert both.apply([stale], 601.0) != []
    both.check_inventory()
