"""Real Dynamo 1.6 and ours look at the same store: same sets, same checksums, same rejections, same successors.

Real workers publish, and answer the requests that the real frontend sends them. Each is published before the next is
started, so both frontends observe them in one order. Where Dynamo differs by design the test says so.
"""

import asyncio
import contextlib
import json
import signal
from pathlib import Path

import pytest

import workerset
from tests.interop.base_cards import MINIMAL
from tests.interop.registered import registered
from tests.interop.side_by_side import DEADLINE, Place, World, side_by_side, started, until

TINY = Place("org/tiny", "alpha")
TINY_BETA = Place("org/tiny", "beta")
# Dynamo lets no two models share an endpoint.
OTHER = Place("org/other", "alpha", "other")
# Three configurations: the context length feeds the checksum.
A, B, C = 4096, 8192, 1024


@pytest.mark.timeout(900)
def test_workers_of_three_configurations_join_conflict_leave_and_return(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Clauses I1 to I3, R1 to R5, S1, S2, S6, H2, Y1 and Y2."""
    with side_by_side(tmp_path / "store", tmp_path / "dynamo.log", caplog) as both:
        both.agree({})

        # The first reserves the set, those like it join it, those unlike it are rejected, once for each cohort.
        a1 = both.start(TINY, A)
        both.agree({TINY: [[a1]]})
        b1 = both.start(TINY, B)
        both.agree({TINY: [[a1], [b1]]}, (TINY, a1, b1))
        a2 = both.start(TINY, A)
        both.agree({TINY: [[a1, a2], [b1]]})
        c1 = both.start(TINY, C)
        both.agree({TINY: [[a1, a2], [b1], [c1]]}, (TINY, a1, c1))
        b2 = both.start(TINY, B)
        both.agree({TINY: [[a1, a2], [b1, b2], [c1]]})

        # Another namespace, and another model, is another set: it starts over, and neither disturbs the other.
        b_beta = both.start(TINY_BETA, B)
        both.agree({TINY: [[a1, a2], [b1, b2], [c1]], TINY_BETA: [[b_beta]]})
        c_other = both.start(OTHER, C)
        others = {TINY_BETA: [[b_beta]], OTHER: [[c_other]]}
        both.agree({TINY: [[a1, a2], [b1, b2], [c1]], **others})

        # The larger cohort waits while one incumbent worker is left; then it succeeds, and the rest is told again.
        a1.end()
        both.agree({TINY: [[a2], [b1, b2], [c1]], **others})
        a2.end()
        both.agree({TINY: [[b1, b2], [c1]], **others}, (TINY, b1, c1))

        # The first configuration returns to the end of the line.
        a3 = both.start(TINY, A)
        both.agree({TINY: [[b1, b2], [c1], [a3]], **others}, (TINY, b1, a3))
        a4 = both.start(TINY, A)
        both.agree({TINY: [[b1, b2], [c1], [a3, a4]], **others})
        b1.end()
        both.agree({TINY: [[b2], [c1], [a3, a4]], **others})

        # The last incumbent is killed: the store keeps its keys for 10 s, then the next in line succeeds.
        b2.end(signal.SIGKILL)
        stands = min(a3, a4, key=lambda one: one.instance)
        both.agree({TINY: [[c1], [a3, a4]], **others}, (TINY, c1, stands))
        c1.end()
        both.agree({TINY: [[a3, a4]], **others})

        # Nobody is left. Dynamo forgets the model at once; here it stays known for a while, not ready (clause Y6).
        c_other.end()
        both.agree({TINY: [[a3, a4]], TINY_BETA: [[b_beta]]})
        for one in (a3, a4, b_beta):
            one.end()
        both.agree({})
        for model in (TINY.model, OTHER.model):
            assert both.theirs.ready(model) is None
            assert both.theirs.chat(model) is None
            with pytest.raises(workerset.NotReady):
                both.ours.route(model)


@pytest.mark.timeout(300)
def test_a_frontend_that_starts_on_an_existing_store(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Clause R6: ours takes the oldest registration. Dynamo's order is arbitrary: any one of the cohorts."""
    store = tmp_path / "store"
    with contextlib.ExitStack() as stack:
        a, b, c = (stack.enter_context(started(store, TINY, configuration)) for configuration in (A, B, C))
        both = stack.enter_context(side_by_side(store, tmp_path / "dynamo.log", caplog))
        # Both serve one worker of the same set, and both reject the two other cohorts.
        until("one commit, two reports", lambda: (len(both.theirs.groups()), len(both.theirs.rejections())), (1, 2))
        both.ours.wait_for(TINY.model, timeout=DEADLINE)
        theirs, ours = both.their_view(), both.our_view()
        assert theirs.groups == ours.groups == {str(TINY.key)}
        assert (theirs.models, theirs.ready) == (ours.models, ours.ready)

        sums = {both.wheel_sum(one): one for one in (a, b, c)}
        assert len(sums) == 3
        for view in (theirs, ours):
            (incumbent,) = {report.incumbent_checksum for report in view.rejections}
            reported = {report.rejected_checksum: report.instance for report in view.rejections}
            assert reported == {other: one.instance for other, one in sums.items() if other != incumbent}
        assert both.our_ids(TINY.model) == {a.instance_id}
        assert ours.rejections[0].incumbent_checksum == both.wheel_sum(a)
        both.answers(TINY.model, {sums[theirs.rejections[0].incumbent_checksum].instance_id})


@pytest.mark.timeout(600)
async def test_the_real_frontend_admits_registered_workers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Clauses R1, R2, R4 and S1: it makes no difference who wrote the records."""
    store = tmp_path / "store"
    with side_by_side(store, tmp_path / "dynamo.log", caplog) as both:
        a = await asyncio.to_thread(both.start, TINY, A)
        await asyncio.to_thread(both.agree, {TINY: [[a]]})
        at = both.ours.route(TINY.model).decode.worker(a.instance_id)
        assert at is not None
        async with contextlib.AsyncExitStack() as later:
            # With the card of the real worker; and with its transport, for somebody has to answer.
            async with registered(store, TINY, a.card, at.transport) as joined:
                await asyncio.to_thread(both.agree, {TINY: [[a, joined]]})
                for _ in range(4):
                    assert await asyncio.to_thread(both.theirs.chat, TINY.model) == a.instance_id
                assert set(both.theirs.selected()) == {a.instance_id, joined.instance_id}

                # A card that no Dynamo wrote, of the days before worker types, in a set of its own.
                legacy = json.dumps({**MINIMAL, "display_name": OTHER.model, "model_input": "Text"})
                alone = await later.enter_async_context(registered(store, OTHER, legacy))
                await asyncio.to_thread(both.agree, {TINY: [[a, joined]], OTHER: [[alone]]})

                unlike = json.dumps({**json.loads(a.card), "kv_cache_block_size": 32})
                next_one = await later.enter_async_context(registered(store, TINY, unlike))
                world: World = {TINY: [[a, joined], [next_one]], OTHER: [[alone]]}
                await asyncio.to_thread(both.agree, world, (TINY, a, next_one))

                # Dynamo sweeps what gives no sign of life for 10 s: the killed worker, and nobody else.
                a.end(signal.SIGKILL)
                await asyncio.to_thread(both.agree, {TINY: [[joined], [next_one]], OTHER: [[alone]]})
            await asyncio.to_thread(both.agree, {TINY: [[next_one]], OTHER: [[alone]]})
        await asyncio.to_thread(both.agree, {})
