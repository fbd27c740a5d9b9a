"""What a call publishes: notices of what changed, hops, ready models, known names (S6, D5, H7, Y6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .cards import differing
from .groups import Before, Group, Ready
from .outputs import Out, out
from .records import Adapter, SetKey
from .topology import Candidate, Committed, Topology

if TYPE_CHECKING:
    from .model import Model

MISSING = "no members"


@dataclass
class Published:
    """What readers see between two calls."""

    topology: Topology = field(default_factory=lambda: Topology([]))
    active: set[tuple[str, str, str]] = field(default_factory=set)
    """Model, namespace and name of every hop that is there."""
    reasons: dict[tuple[str, str, str], str | None] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    """All names that somebody uses."""
    aliases: dict[str, str] = field(default_factory=dict)
    """The model of every alias of a committed set."""
    unprojected: set[str] = field(default_factory=set)
    """Keys of adapters of committed sets whose name is another's (S9)."""
    adapter_models: dict[str, str] = field(default_factory=dict)
    """The base model that serves an adapter's name."""

    def since(self, before: Published) -> Iterator[Out]:
        """Yield the notices of what has changed: hops, then models, each in the order of names and prefill first."""
        changed = self.active ^ before.active
        for model, namespace, name in sorted(changed, key=lambda hop: (*hop[:2], hop[2] == "encode")):
            active = (model, namespace, name) in self.active
            reason = "" if active else self.reasons.get((model, namespace, name))
            yield out("HopChanged", model, namespace, name, active, reason)
        for model in sorted(self.ready ^ before.ready):
            yield out("ModelReady" if model in self.ready else "ModelNotReady", model)

    def candidates(self, name: str, namespace: str | None = None, model_type: str | None = None) -> list[Candidate]:
        """All ways to route a request for a model, an alias or an adapter."""
        if name in self.adapter_models:
            return self.topology.candidates(self.adapter_models[name], namespace, name, model_type)
        return self.topology.candidates(self.aliases.get(name, name), namespace, None, model_type)

    def models(self) -> tuple[str, ...]:
        """Names of ready models: their own, their aliases, projected adapters; sorted (API section 2)."""
        owners = {**{model: model for model in self.ready}, **self.aliases, **self.adapter_models}
        return tuple(sorted(name for name, model in owners.items() if model in self.ready))


def publish(model: Model) -> Published:
    """Work out everything anew."""
    now = Published()
    held = set()
    for group in model.groups.values():
        assert group.incumbent is not None
        card = group.incumbent.smallest().card
        now.names |= {group.key.model, *card.aliases}
        if isinstance(group.doing, Ready):
            held |= {group.key.model, *group.doing.card.aliases}
            now.aliases |= dict.fromkeys(group.doing.card.aliases, group.key.model)
            now.aliases[group.key.model] = group.key.model
    # Of every adapter, also one that applies to nothing: the product's choice.
    now.names |= {adapter.name for adapter in model.adapters.values()}
    carriers: dict[SetKey, dict[str, frozenset[int]]] = {}
    for adapter, group in applying(model):
        if not isinstance(group.doing, Ready):
            continue
        if adapter.name in held or now.adapter_models.setdefault(adapter.name, group.key.model) != group.key.model:
            now.unprojected.add(adapter.key)
            continue
        of_group = carriers.setdefault(group.key, {})
        of_group[adapter.name] = of_group.get(adapter.name, frozenset()) | {adapter.instance_id}
    now.topology = Topology(
        Committed(group.key, group.doing.token, group.doing.card, routable(model, group), carriers.get(group.key, {}))
        for group in model.groups.values()
        if isinstance(group.doing, Ready)
    )
    for name, namespace in now.topology.places:
        for hop, state in now.topology.hops(name, namespace).items():
            now.reasons[name, namespace, hop] = state.reason
            if state.provider is not None:
                now.active.add((name, namespace, hop))
        if now.topology.candidates(name):
            now.ready.add(name)
    return now


def applying(model: Model) -> Iterator[tuple[Adapter, Group]]:
    """Yield the adapters whose base registration is an incumbent, in the order of registration (L2)."""
    for adapter in model.adapters.values():
        base = model.bases.get(adapter.base)
        if base is None:
            continue
        group = model.groups[base.worker_set]
        if group.incumbent is not None and base.key in group.incumbent.members:
            yield adapter, group


def routable(model: Model, group: Group) -> frozenset[int]:
    """Ids that are admitted and discovered (H2)."""
    assert group.incumbent is not None
    return frozenset(base.instance_id for key, base in group.incumbent.members.items() if key in model.endpoints)


def changes(key: SetKey, before: Before | None, group: Group | None) -> Iterator[Out]:
    """Yield what happened to one group's incumbent over the call, and the rejections that were not reported."""
    incumbent = None if group is None else group.incumbent
    was = frozenset[int]() if before is None else before.ids
    now = frozenset[int]() if incumbent is None else incumbent.ids()
    if was != now:
        checksum = None if incumbent is None else incumbent.checksum
        yield out("MembersChanged", key.group, checksum, tuple(sorted(now - was)), tuple(sorted(was - now)))
    if group is None or incumbent is None:
        return
    if before is not None and before.lifetime != incumbent.lifetime:
        members = len(incumbent.members)
        yield out("Succession", key.group, before.checksum, before.generation, incumbent.checksum, members)
    for cohort in group.cohorts[1:]:
        if cohort.reported_under == incumbent.lifetime:
            continue
        cohort.reported_under = incumbent.lifetime
        smallest, members = cohort.smallest(), len(cohort.members)
        differs = differing(incumbent.smallest().card, smallest.card)
        yield out("CohortRejected", key.group, incumbent.checksum, cohort.checksum, smallest.key, members, differs)
