"""Model and product side by side: every call goes to both, and everything that shows is compared after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import workerset
from workerset import Apply, BindingRetired, Delete, ModelNotFound, NoRoutableWorkers, NotReady, Reset

from .groups import Ready
from .model import Config, Model
from .outputs import Out, Token
from .picture import FREE, inventory
from .product import Product, token_of
from .publishing import routable
from .topology import Candidate


class Held:
    """A hop that a client keeps."""

    def __init__(self, hop: workerset.Hop, token: Token, adapter: str | None) -> None:
        self.hop = hop
        self.token = token
        self.adapter = adapter


class Pair:
    """Drives both; raises AssertionError where they differ."""

    def __init__(self, config: Config | None = None, native: workerset.AdmissionConfig | None = None) -> None:
        self.model = Model(config or Config())
        self.product = Product(native)
        self.held: dict[tuple[str, int, str | None], Held] = {}
        self.tokens: list[Token] = []
        """Every token that was handed out."""

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
        self.tokens += [output.fields[0] for output in expected if output.kind == "StartBuild"]  # type: ignore[misc]
        same_outputs(found, expected)
        return expected

    def check_inventory(self) -> None:
        """Compare the whole inventory."""
        found = self.product.controller.inventory(now=self.model.now).to_dict()
        same(found, inventory(self.model), "inventory")

    def check_routes(self, names: Sequence[str]) -> None:
        """Compare what requests get, for names of every kind; keep the hops that are handed out."""
        controller, published = self.product.controller, self.model.published
        assert controller.models() == published.models()
        for name in names:
            expected = published.candidates(name)
            try:
                route = controller.route(name)
            except ModelNotFound:
                assert not expected, f"{name} can be routed"
                assert not self.is_known(name), f"{name} is known"
                continue
            except NotReady:
                assert not expected, f"{name} can be routed"
                assert self.is_known(name), f"{name} is not known"
                continue
            found = Candidate(_hop(route.decode), _hop(route.prefill), _hop(route.encode))  # type: ignore[arg-type]
            assert found in expected, f"{name}: {found} is none of {expected}"
            for hop in (route.decode, route.prefill, route.encode):
                if hop is not None:
                    token = _hop(hop)[0]  # type: ignore[index]
                    self.held.setdefault((token.group, token.generation, route.adapter), Held(hop, token, route.adapter))

    def is_known(self, name: str) -> bool:
        """Tell whether a name is known (Y6)."""
        model = self.model
        return name in model.published.names or name in model.lingering or model.watching.snapshot_at is None

    def check_held(self) -> None:
        """Compare the hops that clients kept, also those whose binding is over."""
        live = {
            group.doing.token: (routable(self.model, group), group)
            for group in self.model.groups.values()
            if isinstance(group.doing, Ready)
        }
        committed = {each.token: each for place in self.model.published.topology.places.values() for each in place}
        for held in self.held.values():
            hop = held.hop
            assert hop.retired == (held.token not in live)
            if held.token not in live:
                assert hop.ids() == () and len(hop) == 0
                raises(BindingRetired, hop.pick)
                raises(BindingRetired, lambda hop=hop: hop.pick_direct(1))
                continue
            ids = committed[held.token].ids(held.adapter)
            assert hop.ids() == tuple(sorted(ids)), f"{held.token} {held.adapter}: {hop.ids()} is not {sorted(ids)}"
            if ids:
                assert hop.pick() in ids
            else:
                raises(NoRoutableWorkers, hop.pick)


def _hop(hop: workerset.Hop | None) -> tuple[Token, frozenset[int]] | None:
    if hop is None:
        return None
    token = Token(str(hop.worker_set), hop.mdc_checksum, hop.generation)
    return token, frozenset(hop.ids())


def raises(error: type[Exception], call: Any) -> None:
    """Assert that a call fails, and how."""
    try:
        answer = call()
    except error:
        return
    raise AssertionError(f"{answer!r} instead of {error.__name__}")


def same_outputs(found: list[Out], expected: list[Out]) -> None:
    """Compare two lists of outputs; texts that no document gives compare as equal."""
    assert len(found) == len(expected), _outputs(found, expected)
    for left, right in zip(found, expected, strict=True):
        if left.kind == right.kind == "HopChanged" and right.fields[-1] is None and not right.fields[-2]:
            left, right = Out(left.kind, left.fields[:-1]), Out(right.kind, right.fields[:-1])
        assert left == right, _outputs(found, expected)


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
