"""Notices: what happened, for logs and metrics."""

from workerset._native import (
    BuildBlocked,
    BuildCommitted,
    BuildRetry,
    CohortRejected,
    HopChanged,
    InPlaceChangeRefused,
    MembersChanged,
    ModelNotReady,
    ModelReady,
    Notice,
    RecordRefused,
    Succession,
)

__all__ = [
    "BuildBlocked",
    "BuildCommitted",
    "BuildRetry",
    "CohortRejected",
    "HopChanged",
    "InPlaceChangeRefused",
    "MembersChanged",
    "ModelNotReady",
    "ModelReady",
    "Notice",
    "RecordRefused",
    "Succession",
]
