"""The card vectors: each profile gives the sums and the refusals of its release (clauses I3, I6 and I7)."""

import contextlib
import json
from typing import Any

import pytest

import workerset
from tests.interop.make_vectors import VECTORS
from tests.interop.oracle import RELEASES, Oracle

Vector = dict[str, Any]


@pytest.fixture(scope="module")
def vectors() -> list[Vector]:
    with VECTORS.open(encoding="ascii") as lines:
        return [json.loads(line) for line in lines]


def mdcsum(card: str, profile: str) -> str | None:
    try:
        return workerset.ModelCard.from_json(card, profile=profile).mdcsum
    except workerset.CardError:
        return None


@pytest.mark.parametrize("profile", RELEASES)
def test_every_sum_and_every_refusal(vectors: list[Vector], profile: str) -> None:
    wrong = []
    for vector in vectors:
        ours, theirs = mdcsum(vector["card"], profile), vector["mdcsum"].get(profile)
        if ours != theirs:
            wrong.append((vector["name"], vector["card"], ours, theirs or vector["error"][profile]))
    assert not wrong, f"{len(wrong)} of {len(vectors)}; (name, card, workerset, wheel): {wrong[:5]}"


def test_the_vectors_are_what_the_wheel_says(vectors: list[Vector]) -> None:
    with contextlib.closing(Oracle("1.6")) as oracle:
        for vector in vectors:
            assert oracle.ask(vector["card"]).mdcsum == vector["mdcsum"].get("1.6"), vector["name"]
