"""Random cards, decoded by `workerset` and by the real 1.6 wheel, must give one answer (clauses I3 and I6).

`WORKERSET_FUZZ_CARDS` says how many (5,000), `WORKERSET_FUZZ_SEED` with which seed (1; `random` draws one).
"""

import contextlib
import os
import random

import pytest

import workerset
from tests.interop.cards import cards
from tests.interop.oracle import Answer, Oracle

PROFILE = "1.6"


@pytest.fixture
def seed() -> int:
    chosen = os.environ.get("WORKERSET_FUZZ_SEED", "1")
    return random.SystemRandom().getrandbits(32) if chosen == "random" else int(chosen)


def ours(card: str) -> Answer:
    try:
        return Answer(mdcsum=workerset.ModelCard.from_json(card, profile=PROFILE).mdcsum, error=None)
    except workerset.CardError as error:
        return Answer(mdcsum=None, error=str(error))


def test_a_seed_gives_the_same_cards_every_time() -> None:
    assert list(cards(7, 300)) == list(cards(7, 300))
    assert list(cards(7, 300)) != list(cards(8, 300))


@pytest.mark.timeout(3600)
def test_random_cards(seed: int) -> None:
    count = int(os.environ.get("WORKERSET_FUZZ_CARDS", "5000"))
    print(f"seed {seed}, {count} cards")
    accepted = 0
    with contextlib.closing(Oracle(PROFILE)) as oracle:
        for card in cards(seed, count):
            theirs, mine = oracle.ask(card), ours(card)
            accepted += theirs.mdcsum is not None
            assert mine.mdcsum == theirs.mdcsum, f"seed {seed}, card {card}\nworkerset: {mine}\nwheel:     {theirs}"
    # A generator that made only refused cards, or only accepted ones, would prove little.
    assert count // 10 < accepted < count - count // 10
