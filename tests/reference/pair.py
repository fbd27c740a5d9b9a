"""Model and product side by side: every call goes to both, and everything that shows is compared after it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import workerset
from workerset import Apply, BindingRetired, Delete, ModelNotFound, NoRoutableWorkers, NotReady, Reset

from .cards import facts_of
from .config import Config
from .model import Model
from .outputs import Out, Token
from .picture import FREE, inventory
from .product import Product
from .topology import Candidate, Committed
from .waits import Waits


class Held(NamedTuple):
    """A hop that a client keeps."""

    hop: workerset.Hop
    token: Token
    adapter: str | None


class Pair:
    """Drives both; raises AssertionError where they differ."""

    def __init__(self, config: Config, native: workerset.AdmissionConfig) -> None:
        self.model = Model(config)
        self.product = Product(native)
        self.held: dict[tuple[Token, str | None], Held] = {}
        self.tokens: list[Token] = []
        """Every token that was handed out."""
        self.waits = Waits(self.product.controller)

    def apply(self, events: Sequence[Apply | Delete | Reset], now: float) -> list[Out]:
        """Apply one batch."""
        return self._same(self.product.apply(events, now), self.model.apply(events, now))

    def advance(self, now: float) -> list[Out]:
        """Let time pass."""
        return self._same(self.product.advance(now), self.model.advance(now))

    def source_changed(self, state: str, now: float) -> list[Out]:
        """Change the source."""
        return self._same(self.product.source_changed(state, now), self.model.source_changed(state, now))

    def succeeded(self, token: Token, now: float) -> list[Out]:
        """Report a pipeline."""
        return self._same(self.product.succeeded(token, now), self.model.succeeded(token, now))

    def failed(self, token: Token, reason: str, now: float) -> list[Out]:
        """Report a failure."""
        return self._same(self.product.failed(token, reason, now), self.model.failed(token, reason, now))

    def cancelled(self, token: Token, now: float) -> list[Out]:
        """Report a cancellation."""
        return self._same(self.product.cancelled(token, now), self.model.cancelled(token, now))

    def _same(self, found: list[Out], expected: list[Out]) -> list[Out]:
        self.tokens += [output.token() for output in expected if output.kind == "StartBuild"]
        same_outputs(found, expected)
        deadline = self.product.controller.next_deadline
        assert deadline == self.model.next_deadline(), f"{deadline} is not {self.model.next_deadline()}"
        self.waits.check()
        return expected

    def check_inventory(self) -> None:
        """Compare the whole inventory."""
        found = self.product.controller.inventory(now=self.model.now).to_dict()
        same(found, inventory(self.model), "inventory")
        self.waits.check()

    def check_routes(self, names: Sequence[str]) -> None:
        """Compare what requests get, for names of every kind; keep the hops that are handed out."""
        published = self.model.published
        same(list(self.product.controller.models()), list(published.models()), "models")
        for name in names:
            self._check_route(name)
        for name, namespace in published.topology.places:
            self._check_route(name, namespace=namespace)
            self._check_route(name, model_type="completions")

    def _check_route(self, name: str, **wanted: str) -> None:
        expected = self.model.published.candidates(name, **wanted)
        if not expected:
            kind = NotReady if self.model.is_known(name) else ModelNotFound
            raises(kind, partial(self.product.controller.route, name, **wanted))
            return
        route = self.product.controller.route(name, **wanted)
        found = Candidate(_seen(route.decode), _seen_if(route.prefill), _seen_if(route.encode))
        assert found in expected, f"{name}: {found} is none of {expected}"
        assert route.generation == route.decode.generation
        for hop in (route.decode, route.prefill, route.encode):
            if hop is not None:
                token = _token(hop)
                self.held.setdefault((token, route.adapter), Held(hop, token, route.adapter))

    def check_held(self) -> None:
        """Compare the hops that clients kept, also those whose binding is over (S5, H5)."""
        places = self.model.published.topology.places
        committed = {each.token: each for place in places.values() for each in place}
        for hop, token, adapter in self.held.values():
            assert hop.retired == (token not in committed), f"{token}: retired is {hop.retired}"
            if token not in committed:
                assert hop.ids() == () and len(hop) == 0
                raises(BindingRetired, hop.pick)
                raises(BindingRetired, partial(hop.pick_direct, 1))
                continue
            bound = committed[token]
            ids = bound.ids(adapter)
            assert hop.ids() == tuple(sorted(ids)), f"{token} {adapter}: {hop.ids()} is not {sorted(ids)}"
            assert facts_of(hop.card.raw) == bound.card
            for each in ids:
                self._check_worker(hop, bound, each)
            if ids:
                assert hop.pick() in ids
            else:
                raises(NoRoutableWorkers, hop.pick)

    def _check_worker(self, hop: workerset.Hop, bound: Committed, instance_id: int) -> None:
        """Every worker shows its own card and transport (I8, H2)."""
        worker = hop.worker(instance_id)
        assert worker is not None and worker.instance_id == instance_id
        key = "/".join([bound.key.namespace, bound.key.component, bound.key.endpoint, f"{instance_id:x}"])
        assert facts_of(worker.card.raw) == self.model.bases[key].card
        assert worker.transport == json.loads(self.model.endpoints[key].transport)

    def close(self) -> None:
        """Close the product: every channel is retired."""
        self.product.controller.close()
        for held in self.held.values():
            assert held.hop.retired and held.hop.ids() == ()
            raises(BindingRetired, held.hop.pick)


def _token(hop: workerset.Hop) -> Token:
    return Token(str(hop.worker_set), hop.mdc_checksum, hop.generation)


def _seen(hop: workerset.Hop) -> tuple[Token, frozenset[int]]:
    return _token(hop), frozenset(hop.ids())


def _seen_if(hop: workerset.Hop | None) -> tuple[Token, frozenset[int]] | None:
    return None if hop is None else _seen(hop)


def raises(error: type[Exception], call: Callable[[], object]) -> None:
    """Assert that a call fails, and how."""
    try:
        answer = call()
    except error as found:
        answer = found
    assert type(answer) is error, f"{answer!r} instead of {error.__name__}"


def same_outputs(found: list[Out], expected: list[Out]) -> None:
    """Compare two lists of outputs; texts that no document gives compare as equal."""
    assert len(found) == len(expected), _outputs(found, expected)
    for left, right in zip(found, expected, strict=True):
        fields = len(right.fields)
        if right.kind == "HopChanged" and right.fields[-1] is None:
            fields -= 1
        assert (left.kind, left.fields[:fields]) == (right.kind, right.fields[:fields]), _outputs(found, expected)


def _outputs(found: list[Out], expected: list[Out]) -> str:
    lines = ["product:", *(f"  {each}" for each in found), "model:", *(f"  {each}" for each in expected)]
    return "\n".join(lines)


def same(found: Any, expected: Any, where: str) -> None:
    """Compare two pictures; say where they differ."""
    if expected == FREE:
        assert isinstance(found, str), where
    elif isinstance(expected, dict):
        assert isinstance(found, dict) and found.keys() == expected.keys(), f"{where}: {found} is not {expected}"
        for name in expected:
            same(found[name], expected[name], f"{where}.{name}")
    elif isinstance(expected, list):
        assert isinstance(found, list) and len(found) == len(expected), f"{where}: {found} is not {expected}"
        for index, (left, right) in enumerate(zip(found, expected, strict=True)):
            same(left, right, f"{where}[{index}]")
    else:
        assert found == expected, f"{where}: {found!r} is not {expected!r}"
