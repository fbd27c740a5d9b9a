"""Events, keys, tokens, verdicts and commands.

What holds for all records is said in ``workerset._native``.
"""

from workerset._native import (
    Apply,
    Blocked,
    BuildSpec,
    BuildToken,
    BuildVerdict,
    CancelBuild,
    Command,
    Committed,
    Delete,
    Event,
    Fenced,
    NamespaceFilter,
    Requeued,
    Reset,
    Retry,
    StartBuild,
    Withdraw,
    WorkerSetKey,
)

__all__ = [
    "Apply",
    "Blocked",
    "BuildSpec",
    "BuildToken",
    "BuildVerdict",
    "CancelBuild",
    "Command",
    "Committed",
    "Delete",
    "Event",
    "Fenced",
    "NamespaceFilter",
    "Requeued",
    "Reset",
    "Retry",
    "StartBuild",
    "Withdraw",
    "WorkerSetKey",
]
