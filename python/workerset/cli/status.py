"""`workerset status`: what a frontend that started now would serve, and who gets no traffic and why."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import click

from workerset._text import clip, listed
from workerset.cli._look import ENDPOINTS, look, why_not_ready
from workerset.cli._output import (
    columns,
    config_options,
    count,
    discovery_option,
    line,
    make_config,
    output_option,
    short,
    write_json,
    write_lines,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.text import Text

    from workerset._native import AdmissionController, Inventory, WorkerSetEntry
    from workerset.cli._look import Look


@click.command()
@discovery_option
@config_options
@output_option
def status(url: str | None, profile: str, namespace: str | None, namespace_prefix: str | None, as_json: bool) -> None:
    """Show WorkerSets, cohorts and admissions.

    Lists the backend once and answers as a frontend that starts now and whose builds succeed: of registrations that
    conflict, the oldest one serves. A frontend that runs already may serve another cohort.
    """
    seen = look(url, make_config(profile, namespace, namespace_prefix))
    if as_json:
        write_json(seen.inventory.to_dict())
        return
    write_lines(describe(seen.inventory, seen.controller, seen))


def describe(inventory: Inventory, controller: AdmissionController, seen: Look | None = None) -> list[Text]:
    """The inventory in words.

    Args:
        inventory: the inventory.
        controller: it is of.
        seen: the records, if at hand: then endpoint records that stand alone are told, too.

    """
    source = inventory.source
    age = "no snapshot yet" if source.snapshot_age is None else f"snapshot {source.snapshot_age:.1f} s old"
    lines = [line(f"source {source.state}, {age}, revision {source.revision}, checksum profile {inventory.profile}")]
    refused = {entry.key: entry.reason for entry in inventory.refused}
    for model, sets in groupby(inventory.worker_sets, key=lambda entry: entry.model):
        reason = why_not_ready(controller, model)
        verdict = (f"not ready: {reason}", "red") if reason else ("ready", "green")
        lines += [line(), line((clip(model), "bold"), "  ", verdict)]
        for entry in sets:
            lines += _worker_set(entry, controller._set_reason(entry.worker_set) or "", refused)  # noqa: SLF001
    if not inventory.worker_sets:
        lines += [line(), line("no WorkerSet: nobody registered a usable card")]
    if inventory.refused:
        lines += [line(), line(("refused records (they count for nothing)", "bold red"))]
        lines += columns([(clip(entry.key), entry.reason) for entry in inventory.refused], 2)
    if inventory.filtered:
        lines += [line(), line(("filtered records (the source keeps them back)", "bold"))]
        lines += columns([(clip(entry.key), entry.reason) for entry in inventory.filtered[:_SHOWN]], 2)
        if inventory.filtered_count > _SHOWN:
            lines.append(line(f"  and {inventory.filtered_count - _SHOWN} more"))
    alone = seen.endpoints_without_card() if seen is not None else []
    if alone:
        lines += [line(), line(("endpoint records without a card (no model is served there)", "bold"))]
        lines += [line(f"  {clip(key)}") for key in alone]
    return lines


def _worker_set(entry: WorkerSetEntry, why: str, refused: Mapping[str, str]) -> list[Text]:
    types = entry.model_types or "no model type"
    place = clip(f"{entry.namespace}/{entry.component}/{entry.endpoint}")
    lines = [line(f"  {place}  {types}  {entry.worker_type}")]
    phase = entry.phase if entry.generation is None else f"{entry.phase}, generation {entry.generation}"
    rows: list[tuple[str | Text, ...]] = [("phase", line((phase, "green" if entry.phase == "ready" else "yellow")))]
    holds = f"{count(len(entry.admitted), 'worker')} admitted, {len(entry.routable)} routable"
    rows.append(("incumbent", f"{short(entry.incumbent.mdc_checksum)}  {holds}"))
    for cohort in entry.rejected:
        differs = listed(cohort.differs)
        told = f"{short(cohort.mdc_checksum)}  {count(len(cohort.members), 'worker')} rejected, differs in {differs}"
        rows.append(("rejected", line((told, "red"))))
    if unusual := [kind for kind in entry.transports if kind not in _DIALLED]:
        rows.append(("transport", line((f"{listed(unusual)}: not every client can dial it", "yellow"))))
    rows += [("adapter", clip(adapter)) for adapter in entry.adapters]
    rows += [
        ("adapter", line((f"{clip(item.key)}  not offered: {item.reason}", "yellow"))) for item in entry.unprojected
    ]
    rows += [
        (f"{name} hop", hop.state if not hop.reason else f"{hop.state}: {hop.reason}")
        for name, hop in entry.hops.items()
    ]
    lines += columns(rows, 4)
    idle = _without_traffic(entry, why, refused)
    if idle:
        lines.append(line(("    no traffic reaches", "yellow")))
        named: list[tuple[str, str]] = []
        for reason, keys in idle:
            named += [(clip(key), reason) for key in keys[:_SHOWN]]
            if len(keys) > _SHOWN:
                named.append((f"and {len(keys) - _SHOWN} more", reason))
        lines += columns(named, 6)
    return lines


def _without_traffic(entry: WorkerSetEntry, why: str, refused: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Reasons, and who is concerned."""
    reasons: dict[str, list[str]] = {}
    inhibited, routable = frozenset(entry.inhibited), frozenset(entry.routable)
    for key in entry.incumbent.members:
        instance_id = int(key.rpartition("/")[2], 16)
        if entry.phase != "ready":
            reason = f"admitted, but its WorkerSet serves nothing yet: {why}"
        elif instance_id in inhibited:
            reason = "admitted, but reported down and taken out for a while"
        elif instance_id not in routable and ENDPOINTS + key in refused:
            reason = f"admitted, but its endpoint record is refused: {refused[ENDPOINTS + key]}"
        elif instance_id not in routable:
            reason = "admitted, but it has no endpoint record: its card is there, its endpoint is not"
        else:
            continue
        reasons.setdefault(reason, []).append(key)
    for place, cohort in enumerate(entry.rejected, 1):
        line = "is next in line" if place == 1 else f"is number {place} in line"
        differs = listed(cohort.differs)
        reason = f"rejected: its card differs from the incumbent's in {differs}; its cohort {line}"
        reasons[reason] = list(cohort.members)
    return list(reasons.items())


_DIALLED = frozenset({"tcp", "nats_tcp"})  # transports that Dynamo 1.6.1 dials (clause R8)
_SHOWN = 20  # workers that are named for one reason, and filtered records
