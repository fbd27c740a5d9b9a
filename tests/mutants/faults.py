"""The named faults: what a controller must never do, each as the smallest change that makes it do so."""

from __future__ import annotations

from typing import NamedTuple

ADMISSION = "rust/core/src/admission"
ROUTING = "rust/core/src/routing"


class Edit(NamedTuple):
    """One replacement. The old text stands in the file exactly once, or the fault is out of date."""

    file: str
    old: str
    new: str


class Fault(NamedTuple):
    """A fault in the core, and the clauses that it breaks."""

    name: str
    clauses: str
    edits: tuple[Edit, ...]


FAULTS = (
    Fault(
        "fence-ignores-checksum",
        "S4",
        (
            Edit(
                f"{ADMISSION}/fence.rs",
                "Some(running) if running.token == *token => {",
                "Some(running) if running.token.worker_set == token.worker_set => {",
            ),
            Edit(f"{ADMISSION}/fence.rs", "selected.mdc_checksum != token.mdc_checksum", "false"),
        ),
    ),
    Fault(
        "fence-ignores-generation",
        "S4",
        (Edit(f"{ADMISSION}/fence.rs", "selected.generation != token.generation", "false"),),
    ),
    Fault(
        "snapshot-ignores-tombstones",
        "D2",
        (
            Edit(
                f"{ADMISSION}/keys.rs",
                "filter(|seen| self.newest(&seen.path) <= as_of)",
                "filter(|seen| self.keys.get(seen.path.as_str()).is_none_or(|key| key.seen <= as_of))",
            ),
        ),
    ),
    Fault(
        "emptied-cohort-keeps-its-place",
        "R5",
        (Edit(f"{ADMISSION}/cohort.rs", "self.by_checksum.remove(&cohort.mdc_checksum);", ""),),
    ),
    Fault(
        "duplicate-reorders",
        "R5",
        (
            # A registration that is confirmed counts as a new one.
            Edit(
                f"{ADMISSION}/registry.rs",
                "if Arc::ptr_eq(&base.card, &card) {\n            return true;",
                "if Arc::ptr_eq(&base.card, &card) {\n            self.end_registration(path);\n"
                "            self.join(place, card);\n            return true;",
            ),
        ),
    ),
    Fault(
        "rejected-adapter-projects",
        "L2, R4",
        (Edit(f"{ADMISSION}/adapters.rs", "worker.filter(|worker| worker.is_incumbent(id, group))", "worker"),),
    ),
    Fault(
        "rejected-worker-moves-retry",
        "R4, S7",
        (
            Edit(
                f"{ADMISSION}/registry.rs",
                "} else if is_incumbent {\n            self.bring_forward(id);",
                "} else {\n            self.bring_forward(id);",
            ),
        ),
    ),
    Fault(
        "retired-hop-picks",
        "S5",
        (
            Edit(f"{ROUTING}/hop.rs", "self.retired.store(true, Ordering::Release);", ""),
            Edit(f"{ROUTING}/topology.rs", "self.hop.empty();", ""),
        ),
    ),
    Fault(
        "incarnation-ignored",
        "I8",
        (Edit(f"{ADMISSION}/keys.rs", "self.stored && leaves && differs", "leaves && differs && false"),),
    ),
    Fault(
        "sets-share-a-generation",
        "S3",
        (
            # The generation grows only while an earlier build of the same set runs.
            Edit(
                f"{ADMISSION}/fence.rs",
                "self.generation += 1;",
                "self.generation += u64::from(\n"
                "            self.generation == 0 || self.running.values().any(|running| running.group == group),\n"
                "        );",
            ),
        ),
    ),
    Fault(
        "larger-cohort-displaces",
        "R3",
        (
            Edit(
                f"{ADMISSION}/cohort.rs",
                "self.by_order.values().next()",
                "self.by_order.values().rev().max_by_key(|cohort| cohort.members.len())",
            ),
            Edit(
                f"{ADMISSION}/cohort.rs",
                "self.by_order.keys().next().copied()",
                "self.by_order.iter().rev().max_by_key(|(_, cohort)| cohort.members.len()).map(|(order, _)| *order)",
            ),
        ),
    ),
    Fault(
        "undecodable-in-a-snapshot-is-absent",
        "R7",
        (
            Edit(
                f"{ADMISSION}/keys.rs",
                "None => departed.push((path.clone(), true)),",
                "None | Some(Seen { content: Content::Refused { .. }, .. }) => departed.push((path.clone(), true)),",
            ),
        ),
    ),
)
