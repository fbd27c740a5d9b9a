"""A breadth-first walk over all states of the small world, taken by the model.

Every distinct state is also reached by the product, compared as a whole, and probed with calls that must change
nothing. The native controller cannot be copied, so it is led from the root to each state anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import workerset
from workerset import BindingRetired, Reset

from .config import Config
from .model import Model
from .outputs import Out, Token
from .pair import raises, same, same_outputs
from .picture import inventory
from .product import Product
from .small_world import PLACES, Call, World, fingerprint

NATIVE = workerset.AdmissionConfig(max_concurrent_builds=1, linger_seconds=0.0)
ROOT = Reset([], as_of=5)
SAMPLE = 20
"""Of the edges that lead to known states, the product takes one in so many."""


class Node(NamedTuple):
    """A state, as the way that leads to it."""

    before: Node | None
    call: Call

    def path(self) -> list[Call]:
        """All calls from the root."""
        calls, node = [], self
        while node.before is not None:
            calls.append(node.call)
            node = node.before
        return [node.call, *reversed(calls)]


class Walk:
    """Counts the distinct states that were compared."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.edges = 0
        self.depth = 0
        self.seen: set[bytes] = set()

    def run(self) -> int:
        """Walk until so many states were compared, and return their number."""
        root = Call("apply", (ROOT,), 0.0)
        model = new_model()
        root.to(model)
        frontier = deque([(Node(None, root), model)])
        while frontier and len(self.seen) < self.limit:
            frontier += self.expand(*frontier.popleft())
        return len(self.seen)

    def expand(self, node: Node, model: Model) -> Iterator[tuple[Node, Model]]:
        """Take every edge from one state."""
        path = node.path()
        state = World(model, len(path))
        self.depth = len(path)
        for call in state.calls():
            after = model.fork()
            expected = call.to(after)
            mark = fingerprint(after)
            is_new = mark not in self.seen
            self.edges += 1
            if not is_new and self.edges % SAMPLE:
                continue
            product = Led(path)
            before = product.sets(model.now) if is_new else []
            same_outputs(product.take(call), expected)
            if is_new:
                self.seen.add(mark)
                product.compare(after)
                product.check_untouched(before, call, after.now)
                product.probe(World(after, len(path) + 1))
                yield Node(node, call), after


PUBLISHED = (
    "phase",
    "generation",
    "building_generation",
    "incumbent",
    "admitted",
    "routable",
    "adapters",
    "retry",
    "blocked_by",
    "hops",
)


def new_model() -> Model:
    """One build at a time, so that builds queue; names are forgotten at once."""
    return Model(Config(max_concurrent_builds=1, linger_seconds=0.0))


class Led(Product):
    """A product that was led along a path, and the hops that a client took on the way."""

    def __init__(self, path: list[Call]) -> None:
        super().__init__(NATIVE)
        self.hops: list[tuple[Token, workerset.Hop]] = []
        self.newest = 0
        for call in path:
            self.take(call)

    def take(self, call: Call) -> list[Out]:
        """Make a call; keep the hop of whatever commits; generations grow."""
        outputs = call.to(self)
        for output in outputs:
            if output.kind == "StartBuild":
                assert output.token().generation > self.newest, "generations strictly grow"
                self.newest = output.token().generation
            elif output.kind == "BuildCommitted":
                token = output.token()
                hop = self.controller.route(self.tokens[token].model).decode
                self.hops.append((token, hop))
        return outputs

    def compare(self, model: Model) -> None:
        """Compare everything that shows, and check the invariants on what the product shows."""
        found = self.controller.inventory(now=model.now).to_dict()
        same(found, inventory(model), "inventory")
        sets = found["worker_sets"]
        names = [(entry["model"], entry["endpoint"]) for entry in sets]
        assert len(set(names)) == len(names), "one incumbent per set"
        ids = {entry["generation"]: entry["routable"] for entry in sets if entry["generation"] is not None}
        for entry in sets:
            members = entry["incumbent"]["members"]
            assert members and entry["admitted"] == sorted(int(key.rpartition("/")[2], 16) for key in members)
        for token, hop in self.hops:
            assert list(hop.ids()) == ids.get(token.generation, [])
            if token.generation in ids:
                assert not hop.retired
            else:
                raises(BindingRetired, hop.pick)
                for place in PLACES:
                    raises(BindingRetired, partial(hop.pick_direct, place.instance_id))

    def probe(self, state: World) -> None:
        """Make calls that must change nothing."""
        now = state.model.now
        before = self.sets(now)
        for events in state.probes():
            assert self.apply(events, now) == []
        for token in list(self.tokens):
            if token not in state.model.running:
                assert self.succeeded(token, now)[0].kind == "Fenced"
        assert self.sets(now) == before, "duplicates and old snapshots change no order"

    def check_untouched(self, before: list[dict[str, Any]], call: Call, now: float) -> None:
        """Whoever joins or leaves outside the incumbent cohort changes nothing that is published of a set (R4)."""
        if call.kind != "apply" or isinstance(call.subject[0], Reset):
            return
        keys = {event.path.partition("/")[2].partition("/")[2] for event in call.subject}
        after = {entry["model"]: entry for entry in self.sets(now)}
        for entry in before:
            if not keys.isdisjoint(entry["incumbent"]["members"]):
                continue
            later = after[entry["model"]]
            if keys.isdisjoint(later["incumbent"]["members"]):
                changed = [name for name in PUBLISHED if later[name] != entry[name]]
                assert not changed, f"rejected members change {changed}"

    def sets(self, now: float) -> list[dict[str, Any]]:
        """The sets as the product shows them."""
        found: list[dict[str, Any]] = self.controller.inventory(now=now).to_dict()["worker_sets"]
        return found
