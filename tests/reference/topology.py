"""From committed sets to hops, ready models and routes (chapters H, L, Y; ROUTING sections 1 to 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from .cards import CardFacts, Needs
from .outputs import Token
from .records import SetKey


@dataclass(frozen=True)
class Committed:
    """A committed set, as routing sees it."""

    key: SetKey
    token: Token
    card: CardFacts
    routable: frozenset[int]
    carriers: dict[str, frozenset[int]] = field(default_factory=dict)
    """Ids that carry a projected adapter, by its name."""

    def offers(self, model_type: str | None) -> bool:
        """Whether it exposes a public surface, and of that type."""
        types = {*self.key.types.split("|")} - {"", "prefill"}
        return self.key.role in {"aggregated", "decode"} and bool(types) and (model_type is None or model_type in types)

    def ids(self, adapter: str | None) -> frozenset[int]:
        """Ids that a hop of this set may pick."""
        return self.routable if adapter is None else self.routable & self.carriers.get(adapter, frozenset())


class HopState(NamedTuple):
    """A prefill or encode hop of one (model, namespace): the provider, or why there is none."""

    provider: Committed | None
    consumer: SetKey | None
    reason: str | None
    """None: active, or a reason whose wording no document gives."""


class Candidate(NamedTuple):
    """One way in which a request may be routed: the token and the ids of each hop."""

    decode: tuple[Token, frozenset[int]]
    prefill: tuple[Token, frozenset[int]] | None
    encode: tuple[Token, frozenset[int]] | None


class Unit(NamedTuple):
    """One unit of readiness (clause Y1)."""

    worker_type: str | None
    live: int
    needs: Needs


def evaluate(units: list[Unit]) -> bool:
    """The shared evaluator (ROUTING section 3): whether the units are ready."""
    live = [unit for unit in units if unit.live]
    if any(unit.worker_type is None for unit in units):
        return bool(live)
    present = {unit.worker_type for unit in live}
    missing = {unit.worker_type for unit in units} - present
    for unit in live:
        if unit.needs and not any(present.issuperset(alternative) for alternative in unit.needs):
            missing |= {role for alternative in unit.needs for role in alternative} - present
    return bool(live) and not missing


class Topology:
    """Everything that follows from the committed sets of one moment."""

    def __init__(self, committed: Iterable[Committed]) -> None:
        self.places: dict[tuple[str, str], list[Committed]] = {}
        for each in committed:
            self.places.setdefault((each.key.model, each.key.namespace), []).append(each)

    def hops(self, model: str, namespace: str) -> dict[str, HopState]:
        """The prefill and the encode hop (H7)."""
        here = self.places.get((model, namespace))
        if here is None:
            return {"prefill": HopState(None, None, None), "encode": HopState(None, None, None)}
        role = {name: [each for each in here if each.key.role == name] for name in ("prefill", "decode", "encode")}
        prefill = _hop(role["prefill"], role["decode"])
        encoders = [each for each in role["encode"] if each.key.types in {"", "prefill"}]
        consumers = [each for each in here if each.key.role == "aggregated" and each.card.hands_off]
        if prefill.provider is not None:
            consumers += role["decode"]
        return {"prefill": prefill, "encode": _hop(encoders, consumers)}

    def candidates(
        self, model: str, namespace: str | None = None, adapter: str | None = None, model_type: str | None = None
    ) -> list[Candidate]:
        """All ways to route a request for the model, or for an adapter of it."""
        found: list[Candidate | None] = []
        for (name, place), here in self.places.items():
            if name != model or namespace not in {None, place} or not _is_ready(here):
                continue
            hops = self.hops(model, place)
            found += [_candidate(server, hops, adapter) for server in here if server.offers(model_type)]
        return [candidate for candidate in found if candidate is not None]


def _is_ready(here: list[Committed]) -> bool:
    return evaluate([Unit(each.card.worker_type, len(each.routable), each.card.needs) for each in here])


def _candidate(server: Committed, hops: dict[str, HopState], adapter: str | None) -> Candidate | None:
    ids = server.ids(adapter)
    if not ids or (server.card.enforce_disagg and not _serves(hops["prefill"], server)):
        return None
    taken: dict[str, tuple[Token, frozenset[int]] | None] = {}
    for name, hop in hops.items():
        if not _serves(hop, server) or hop.provider is None:
            taken[name] = None
            continue
        provided = hop.provider.ids(adapter)
        if not provided and adapter is not None:
            return None
        taken[name] = (hop.provider.token, provided)
    return Candidate((server.token, ids), taken["prefill"], taken["encode"])


def _serves(hop: HopState, server: Committed) -> bool:
    return hop.provider is not None and hop.consumer == server.key


def _hop(providers: list[Committed], consumers: list[Committed]) -> HopState:
    if not providers:
        return HopState(None, None, "no provider")
    if len(providers) > 1:
        return HopState(None, None, f"ambiguous: {len(providers)} providers")
    if len(consumers) != 1:
        return HopState(None, None, None)
    return HopState(providers[0], consumers[0].key, None)
