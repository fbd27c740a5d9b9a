"""The inventory: everything that a controller holds, at one moment."""

from workerset._native import (
    CohortEntry,
    HopEntry,
    Inventory,
    RefusedEntry,
    RejectedEntry,
    RetryEntry,
    SourceEntry,
    WorkerSetEntry,
)

__all__ = [
    "CohortEntry",
    "HopEntry",
    "Inventory",
    "RefusedEntry",
    "RejectedEntry",
    "RetryEntry",
    "SourceEntry",
    "WorkerSetEntry",
]
