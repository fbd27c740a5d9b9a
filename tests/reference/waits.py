"""Waits for routes (P20): they end with the very change that makes the route, and with no other."""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

from workerset import AdmissionController, ModelNotFound, NotReady

from .world import NAMES

Wanted: TypeAlias = tuple[str, str | None, str | None, bool]

NARROWED = [(None, None), ("completions", None), ("chat", "ns"), (None, "ns-out")]
WANTED: list[Wanted] = [(name, *rest, unknown_ok) for name, rest, unknown_ok in product(NAMES, NARROWED, (False, True))]


class Waits:
    """Waits for everything that cannot be routed, all the time."""

    def __init__(self, controller: AdmissionController) -> None:
        self.controller = controller
        self.waiting: dict[Wanted, int] = {}
        self.check()

    def check(self) -> None:
        """Compare the waits that a call has ended with what can be routed now, and wait anew for the rest."""
        ended = self.controller._ended_waits()
        assert len(ended) == len(set(ended)), "told twice"
        over = {wanted for wanted in WANTED if self._is_over(wanted)}
        expected = {ticket for wanted, ticket in self.waiting.items() if wanted in over}
        assert set(ended) == expected, f"{ended} instead of {sorted(expected)} of {self.waiting}"
        for wanted in WANTED:
            if wanted in over:
                self.waiting.pop(wanted, None)
            elif wanted not in self.waiting:
                self.waiting[wanted] = self.controller._begin_wait(*wanted)

    def _is_over(self, wanted: Wanted) -> bool:
        name, model_type, namespace, unknown_ok = wanted
        try:
            self.controller.route(name, model_type, namespace)
        except ModelNotFound:
            return not unknown_ok
        except NotReady:
            return False
        return True
