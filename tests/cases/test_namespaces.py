"""Whose workers a frontend takes: reports on namespaces (clauses I1, I2, WIRE 5)."""

from __future__ import annotations

import pytest

from tests.cases.cast import arrive, depart, role
from tests.contract.world import World
from workerset import Apply, Delete, ModelNotFound, NamespaceFilter, Reset

NAMESPACES = {
    1: "default-foo",
    2: "default-foo-3f9a1c2b",
    3: "default-foobar",
    4: "default-foo-bar",
    5: "default-foo-3F9A1C2B",
    6: "default-foo-3f9a1c2b0",
    7: "default-foo-3f9a1c2",
    8: "other-default-foo",
    9: "default-foo-3f9a1c2b-3f9a1c2b",
}


@pytest.mark.parametrize(
    ("chosen", "visible"),
    [
        (NamespaceFilter.prefix("default-foo", strict=True), {1, 2}),
        (NamespaceFilter.prefix("default-foo"), {1, 2, 3, 4, 5, 6, 7, 9}),
        (NamespaceFilter.exact("default-foo"), {1}),
        (NamespaceFilter.all(), set(NAMESPACES)),
    ],
    ids=["strict prefix", "plain prefix", "exact", "all"],
)
def test_a_deployment_sees_its_own_generations_and_not_its_neighbours(
    chosen: NamespaceFilter, visible: set[int]
) -> None:
    """https://github.com/ai-dynamo/dynamo/issues/10990 (WIRE 5, derived): a longer name passed for a version.

    Agreed for the strict form. The plain prefix is what Dynamo's own option means, and it takes the neighbours.
    """
    world = World(namespaces=chosen)
    world.serving(*(arrive(n, role("aggregated"), namespace=name) for n, name in NAMESPACES.items()))
    assert {entry["namespace"] for entry in world.sets()} == {NAMESPACES[n] for n in visible}
    assert {entry["admitted"][0] for entry in world.sets()} == visible


def test_what_lies_outside_is_neither_tracked_nor_refused_nor_known() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/2478 (WIRE 4, 5): the setting was there, and nothing used it.

    The report asks that filtered records be counted; the contract does not look at them, so a controller does not.
    """
    world = World(namespaces=NamespaceFilter.exact("a"))
    world.serving(Reset([*arrive(1, role("aggregated")), *arrive(2, role("aggregated", "n"), namespace="b")], as_of=1))
    assert world.apply(Apply("v1/mdc/b/c/e/3", "not a record"), Delete("v1/mdc/b/c/e/2")) == []
    assert (world.sets(), world.refused()) == ([], {})
    with pytest.raises(ModelNotFound):
        world.controller.route("n")
    world.serving(arrive(4, role("aggregated"), namespace="a"))
    assert world.controller.route("m").decode.ids() == (4,)
    world.apply(depart(4, namespace="b"))
    assert world.controller.route("m").decode.ids() == (4,)
