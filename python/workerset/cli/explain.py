"""`workerset explain`: why workers of a model are rejected, field by field."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from workerset._native import explain as explain_cards
from workerset._text import clip, listed, named
from workerset.cli._look import look
from workerset.cli._output import (
    columns,
    config_options,
    count,
    discovery_option,
    fail,
    line,
    make_config,
    output_option,
    value_text,
    write_json,
    write_lines,
)
from workerset.errors import CardError

if TYPE_CHECKING:
    from rich.text import Text

    from workerset._native import CohortEntry, RejectedEntry, WorkerSetEntry
    from workerset.cli._look import Look


@click.command()
@click.argument("model")
@discovery_option
@config_options
@output_option
def explain(
    *, model: str, url: str | None, profile: str, namespace: str | None, namespace_prefix: str | None, as_json: bool
) -> None:
    """Say why workers of MODEL are rejected.

    Per cohort: the card fields that differ from the incumbent's with both values, the members, since when they are
    registered, and who is next. MODEL is a display name or an alias. Exit status 1 if nobody offers it.
    """
    seen = look(url, make_config(profile, namespace, namespace_prefix))
    sets = [entry for entry in seen.inventory.worker_sets if model in _names(seen, entry, profile)]
    refused = [entry.to_dict() for entry in seen.inventory.refused]
    if not sets:
        known = sorted({name for entry in seen.inventory.worker_sets for name in _names(seen, entry, profile)})
        known_names = f"known: {listed(known)}" if known else "no model is known there"
        hint = f"{count(len(refused), 'record')} refused; see `workerset status`" if refused else ""
        fail(f"nobody offers a model {named(model)}; {known_names}", hint)
    report = {
        "model": model,
        "worker_sets": [_worker_set(seen, entry, profile) for entry in sets],
        "refused": refused,
    }
    if as_json:
        write_json(report)
        return
    write_lines(_describe(report))


def _names(seen: Look, entry: WorkerSetEntry, profile: str) -> set[str]:
    """Display name, aliases and adapters of everybody in the set, the rejected included."""
    names = {entry.model}
    cohorts: tuple[CohortEntry | RejectedEntry, ...] = (entry.incumbent, *entry.rejected)
    for cohort in cohorts:
        for key in (cohort.members[0], *seen.adapters(cohort.members)):
            with suppress(CardError):  # admission reads a few cards that card text may not be
                card = seen.card(key, profile)
                names |= {card.display_name, *card.aliases}
    return names


def _worker_set(seen: Look, entry: WorkerSetEntry, profile: str) -> dict[str, Any]:
    return {
        "worker_set": str(entry.worker_set),
        "namespace": entry.namespace,
        "component": entry.component,
        "endpoint": entry.endpoint,
        "model_types": entry.model_types,
        "worker_type": entry.worker_type,
        "phase": entry.phase,
        "incumbent": _cohort(seen, entry.incumbent),
        "rejected": [
            _cohort(seen, cohort)
            | {"place": place, "differs": list(cohort.differs)}
            | _differences(seen, entry.incumbent, cohort, profile)
            for place, cohort in enumerate(entry.rejected, 1)
        ],
    }


def _cohort(seen: Look, cohort: CohortEntry | RejectedEntry) -> dict[str, Any]:
    return {
        "mdc_checksum": cohort.mdc_checksum,
        "members": list(cohort.members),
        "since": seen.registered(cohort.members),
    }


def _differences(seen: Look, incumbent: CohortEntry, cohort: RejectedEntry, profile: str) -> dict[str, Any]:
    try:
        left, right = seen.card(incumbent.members[0], profile), seen.card(cohort.members[0], profile)
        found = explain_cards(left, right)
    except CardError as error:
        return {"differences": [], "unexplained": str(error)}
    return {
        "differences": [{"field": item.field, "incumbent": item.left, "rejected": item.right} for item in found],
        "unexplained": None,
    }


def _describe(report: dict[str, Any]) -> list[Text]:
    lines = [line((clip(str(report["model"])), "bold"))]
    for entry in report["worker_sets"]:
        types = entry["model_types"] or "no model type"
        place = clip(f"{entry['namespace']}/{entry['component']}/{entry['endpoint']}")
        lines += [line(), line(f"{place}  {types}  {entry['worker_type']}")]
        lines += _cohort_lines("incumbent", "green", entry["incumbent"])
        for cohort in entry["rejected"]:
            title = "rejected, next in line" if cohort["place"] == 1 else f"rejected, number {cohort['place']} in line"
            lines += _cohort_lines(title, "red", cohort)
            if cohort["unexplained"] is not None:
                names = ", ".join(cohort["differs"])
                lines.append(line(f"    differs in {names}; values cannot be shown: {cohort['unexplained']}"))
                continue
            rows = [("field", "incumbent", "rejected")]
            rows += [
                (item["field"], value_text(item["incumbent"]), value_text(item["rejected"]))
                for item in cohort["differences"]
            ]
            lines += columns(rows, 4)
        if entry["rejected"]:
            lines.append(line("  The next in line takes over when the last incumbent worker is gone."))
        else:
            lines.append(line("  Nobody is rejected."))
    if report["refused"]:
        lines += [line(), line(("refused records, of whatever model", "bold red"))]
        lines += columns([(item["key"], item["reason"]) for item in report["refused"]], 2)
    return lines


def _cohort_lines(title: str, style: str, cohort: dict[str, Any]) -> list[Text]:
    since = "" if cohort["since"] is None else f", since {cohort['since']}"
    lines = [line("  ", (title, style), f"  {count(len(cohort['members']), 'worker')}{since}")]
    lines.append(line(f"    mdc_checksum {cohort['mdc_checksum']}"))
    return lines + [line(f"    {key}") for key in cohort["members"]]
