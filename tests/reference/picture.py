"""The model's inventory, in the shape of API section 2, without the texts that no document gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cards import differing
from .groups import Building, Cohort, Failed, Group, Ready
from .publishing import applying, routable
from .records import shown

if TYPE_CHECKING:
    from .model import Model

FREE = "any text"
"""Stands for a text whose wording is the product's."""


def inventory(model: Model) -> dict[str, Any]:
    """Return everything that the model holds."""
    watching = model.watching
    age = None if watching.snapshot_at is None else model.now - watching.snapshot_at
    return {
        "profile": "1.6",
        "source": {"state": model.source, "snapshot_age": age, "revision": watching.revision},
        "worker_sets": [_entry(model, group) for _, group in sorted(model.groups.items(), key=_order)],
        "refused": [{"key": key, "reason": FREE} for key in sorted(map(shown, watching.refused()))],
        "filtered": [],
        "builds": {
            "running": len(model.running),
            "waiting": len(model.queue),
            "places": model.config.max_concurrent_builds,
        },
        "filtered_count": 0,
    }


def _order(item: tuple[Any, Group]) -> tuple[str, str]:
    return item[1].key.model, item[1].key.text


def _entry(model: Model, group: Group) -> dict[str, Any]:
    key, doing = group.key, group.doing
    incumbent = group.cohorts[0]
    is_ready = isinstance(doing, Ready)
    adapters = sorted(adapter.key for adapter, owner in applying(model) if owner is group)
    unprojected = [each for each in adapters if each in model.published.unprojected]
    retry = None
    if isinstance(doing, Failed):
        reason = doing.reason if doing.owner is None else FREE
        retry = {"attempt": group.failures, "deadline": doing.deadline, "reason": reason}
    hops = {}
    states = model.published.topology.hops(key.model, key.namespace)
    for name, state in states.items():
        if state.provider is not None:
            hops[name] = {"state": "active", "reason": ""}
        else:
            hops[name] = {"state": "absent", "reason": FREE if state.reason is None else state.reason}
    return {
        "model": key.model,
        "namespace": key.namespace,
        "component": key.component,
        "endpoint": key.endpoint,
        "model_types": key.types,
        "worker_type": key.role,
        "phase": group.phase(),
        "generation": doing.token.generation if isinstance(doing, Ready) else None,
        "building_generation": doing.token.generation if isinstance(doing, Building) else None,
        "incumbent": _cohort(incumbent),
        "rejected": [
            {**_cohort(cohort), "differs": list(differing(incumbent.smallest().card, cohort.smallest().card))}
            for cohort in group.cohorts[1:]
        ],
        "admitted": sorted(incumbent.ids()),
        "routable": sorted(routable(model, group)) if is_ready else [],
        "inhibited": [],
        "unreachable": False,
        "transports": sorted({model.endpoints[key].kind for key in incumbent.members if key in model.endpoints}),
        "adapters": adapters,
        "unprojected": [{"key": each, "reason": FREE} for each in unprojected],
        "retry": retry,
        "blocked_by": doing.owner if isinstance(doing, Failed) else None,
        "hops": hops,
    }


def _cohort(cohort: Cohort) -> dict[str, Any]:
    return {"mdc_checksum": cohort.checksum, "members": sorted(cohort.members), "since": cohort.since}
