"""What a forked child does with the frontends of its parent: nothing there keeps them up to date."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from workerset.frontend import Frontend

REASON = "it was started before this process was forked: create it after the fork"


def end_in_children(frontend: Frontend) -> None:
    """Have it abandoned in every process that is forked from this one while it lives."""
    if not _registered and hasattr(os, "register_at_fork"):  # elsewhere there is no fork
        os.register_at_fork(after_in_child=_abandon_all)
        _registered.append(True)
    _running.add(frontend)


def _abandon_all() -> None:
    for frontend in list(_running):
        frontend._abandon()  # noqa: SLF001
    _running.clear()


_registered: list[bool] = []
_running: WeakSet[Frontend] = WeakSet()
