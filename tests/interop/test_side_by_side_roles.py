"""Prefill and decode workers in front of real Dynamo 1.6 and ours: same sets, same rejections, same readiness."""

import asyncio
import contextlib
import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import workerset
from tests.interop.base_cards import MINIMAL
from tests.interop.real_frontend import Rejection
from tests.interop.registered import Registered, registered
from tests.interop.side_by_side import Place, SideBySide, logged_rejections, side_by_side, until

MODEL, NAMESPACE = "org/tiny", "alpha"
DECODE = Place(MODEL, NAMESPACE)
PREFILL = Place(MODEL, NAMESPACE, "prefill")
PREFILL_TOO = Place(MODEL, NAMESPACE, "prefill-too")

COMMON = {**MINIMAL, "display_name": MODEL}
DECODE_CARD = {**COMMON, "model_input": "Text", "worker_type": "decode", "needs": [["prefill"]]}
# Of the days before worker types; the boundary gives it the role and the needs of the next one (WIRE 4 a).
OLD_PREFILL_CARD = {**COMMON, "model_type": "Prefill"}
PREFILL_CARD = {**OLD_PREFILL_CARD, "worker_type": "prefill", "needs": [["decode"]]}
UNLIKE_CARD = {**PREFILL_CARD, "kv_cache_block_size": 32}


@dataclass(frozen=True)
class Verdict:
    """What a frontend says of the model.

    Attributes:
        offered: whether requests for it are taken.
        ready: the verdict on its namespace.
        workers: live ones by worker type.
        missing: worker types.
        groups: ids of the sets that serve.
        rejections: every report of a rejected cohort since the beginning.

    """

    offered: bool
    ready: bool
    workers: dict[str, int]
    missing: tuple[str, ...]
    groups: frozenset[str]
    rejections: tuple[Rejection, ...] = ()


def group(place: Place, model_type: str, role: str) -> str:
    """The id of a set."""
    return str(workerset.WorkerSetKey(place.model, place.namespace, place.component, "generate", model_type, role))


def their_verdict(both: SideBySide) -> Verdict:
    """What the real frontend says."""
    document = both.theirs.ready(MODEL) or {"ready": False, "namespaces": {}}
    entry = document["namespaces"].get(NAMESPACE, {"worker_types": {}, "missing_worker_types": []})
    return Verdict(
        offered=MODEL in both.theirs.models(),
        ready=document["ready"],
        workers={role: of_role["workers"] for role, of_role in entry["worker_types"].items()},
        missing=tuple(entry["missing_worker_types"]),
        groups=both.theirs.groups(),
        rejections=both.theirs.rejections(),
    )


def our_verdict(both: SideBySide, cards: dict[str, str], log: pytest.LogCaptureFixture) -> Verdict:
    """What ours says; one unit for each committed set (clause Y1). `cards`: by instance key."""
    committed = [entry for entry in both.ours.inventory().worker_sets if entry.generation is not None]
    units = []
    workers: Counter[str] = Counter()
    for entry in committed:
        card = workerset.ModelCard.from_json(cards[entry.incumbent.members[0]]).normalized()
        live = len(entry.routable) + len(entry.inhibited)
        units.append(workerset.ReadinessUnit(card.worker_type, live, card.needs))
        workers[str(card.worker_type)] += live
    verdict = workerset.evaluate_readiness(units)
    try:
        offered = both.ours.route(MODEL).model == MODEL
    except (workerset.ModelNotFound, workerset.NotReady):
        offered = False
    return Verdict(
        offered=offered,
        ready=verdict.ready,
        workers=dict(workers),
        missing=verdict.missing,
        groups=frozenset(str(entry.worker_set) for entry in committed),
        rejections=tuple(logged_rejections(log)),
    )


@pytest.mark.timeout(600)
async def test_prefill_and_decode_make_a_model_ready_together(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Clauses I1, I6, R1, R2, R4, H7 and Y2."""
    store = tmp_path / "store"
    decoding, prefilling = group(DECODE, "chat", "decode"), group(PREFILL, "prefill", "prefill")
    cards: dict[str, str] = {}

    with side_by_side(store, tmp_path / "dynamo.log", caplog) as both:

        async def start(stack: contextlib.AsyncExitStack, place: Place, card: dict[str, Any]) -> Registered:
            worker = await stack.enter_async_context(registered(store, place, json.dumps(card)))
            cards[worker.instance] = worker.card
            return worker

        async def agree(theirs: Verdict, ours: Verdict | None = None) -> None:
            def look() -> tuple[Verdict, Verdict]:
                return their_verdict(both), our_verdict(both, cards, caplog)

            await asyncio.to_thread(until, "each says what it should", look, (theirs, ours or theirs))

        async with contextlib.AsyncExitStack() as kept:
            async with contextlib.AsyncExitStack() as decode:
                await start(decode, DECODE, DECODE_CARD)
                half = Verdict(False, False, {"decode": 1}, ("prefill",), frozenset({decoding}))
                await agree(half)
                first = await start(kept, PREFILL, PREFILL_CARD)
                await agree(Verdict(True, True, {"decode": 1, "prefill": 1}, (), frozenset({decoding, prefilling})))

                # The old card becomes equal to the new one at the boundary, and joins.
                await start(kept, PREFILL, OLD_PREFILL_CARD)
                whole = Verdict(True, True, {"decode": 1, "prefill": 2}, (), frozenset({decoding, prefilling}))
                await agree(whole)

                unlike = await start(kept, PREFILL, UNLIKE_CARD)
                report = Rejection(prefilling, both.wheel_sum(first), both.wheel_sum(unlike), unlike.instance)
                whole = replace(whole, rejections=(report,))
                await agree(whole)

                # A second prefill set. Dynamo stops serving the model, as not ready; here an ambiguous type gates
                # nothing: the model is served by its decode workers alone, and the inventory says why.
                async with contextlib.AsyncExitStack() as second:
                    await start(second, PREFILL_TOO, PREFILL_CARD)
                    groups = whole.groups | {group(PREFILL_TOO, "prefill", "prefill")}
                    ours = replace(whole, workers={"decode": 1, "prefill": 3}, groups=groups)
                    await agree(replace(ours, offered=False, ready=False), ours)
                    assert both.ours.route(MODEL).prefill is None
                await agree(whole)
                assert both.ours.route(MODEL).prefill is not None

            gone = Verdict(False, False, {"prefill": 2}, ("decode",), frozenset({prefilling}), (report,))
            await agree(gone)
