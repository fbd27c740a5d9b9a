"""Spoiled records are refused or taken, one by one: nothing raises, and whoever serves does not notice (clause R7)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import workerset
from tests.contract.world import World, base, card, instance
from tests.properties.mutations import OURS, VALID_PATH, Record, Spoiler, is_json, real_records
from workerset import Apply, Delete

RECORDS = 10_000
CALM = "calm"


def test_ten_thousand_spoiled_records_touch_nothing_but_their_own_key() -> None:
    records = real_records()
    spoiler = Spoiler(7, records)
    world = World(linger_seconds=0.0)
    world.serving(base(1, card(CALM), namespace=CALM), instance(1, namespace=CALM))
    route = world.controller.route(CALM)
    before = world.sets()
    seen: dict[str, Counter[str]] = {kind: Counter() for kind in spoiler.kinds}
    for number in range(RECORDS):
        kind = spoiler.kinds[number % len(spoiler.kinds)]
        record, spoiled = spoiler.spoil(kind)
        world.serving(Apply(record.path, record.value))
        stood = world.sets()
        outputs = world.serving(Apply(spoiled.path, spoiled.value))
        verdict = judge(world, spoiled, stood, outputs)
        seen[kind][verdict] += 1

        assert before[0] in world.sets(), (kind, spoiled)
        assert route.decode.pick() == 1
        assert (route.decode.generation, route.decode.retired) == (1, False)
        world.serving(Delete(spoiled.path), Delete(record.path))
        assert world.sets() == before, (kind, spoiled)
        assert world.refused() == {}, (kind, spoiled)
    total = sum(seen.values(), Counter())
    assert total["refused"] > RECORDS // 3, seen
    assert total["taken"] > RECORDS // 20, seen
    assert total["ignored"] > 0, seen
    for kind in ("flipped_bytes", "truncated", "bad_utf8", "deep", "odd_number", "wrong_type", "broken_path"):
        assert seen[kind]["refused"] > 0, (kind, seen[kind])


def judge(world: World, spoiled: Record, stood: list[dict[str, Any]], outputs: list[Any]) -> str:
    """Check the spoiled record's own key against what can be known without decoding a card."""
    refused = world.refused()
    stands = world.sets()
    if not spoiled.path.startswith(OURS):
        assert (refused, stands, outputs) == ({}, stood, []), "a foreign bucket"
        return "ignored"
    shown = spoiled.path.removeprefix("v1/mdc/")
    if shown not in refused:
        assert refused == {}
        assert VALID_PATH.fullmatch(spoiled.path), spoiled.path
        assert is_json(spoiled.value), spoiled
        return "taken"
    assert list(refused) == [shown]
    assert refused[shown]
    assert stands == stood, "the last valid state stays"
    (notice,) = outputs
    assert isinstance(notice, workerset.RecordRefused | workerset.InPlaceChangeRefused)
    assert (notice.key, notice.reason) == (shown, refused[shown])
    return "refused"
