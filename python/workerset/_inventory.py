"""The inventory: everything that a controller holds, at one moment."""

from workerset._native import (
    BuildsEntry,
    CohortEntry,
    Filtered,
    HopEntry,
    Inventory,
    RefusedEntry,
    RejectedEntry,
    RetryEntry,
    SourceEntry,
    WorkerSetEntry,
)

__all__ = [
    "BuildsEntry",
    "CohortEntry",
    "Filtered",
    "HopEntry",
    "Inventory",
    "RefusedEntry",
    "RejectedEntry",
    "RetryEntry",
    "SourceEntry",
    "WorkerSetEntry",
]
