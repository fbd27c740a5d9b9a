"""What the model is told once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Filter:
    """Which namespaces are looked at (WIRE 5)."""

    exact: str | None = None
    prefix: str | None = None
    strict: bool = False

    def __call__(self, namespace: str) -> bool:
        """Tell whether records of the namespace are looked at."""
        if self.prefix is None:
            return self.exact in {None, namespace}
        if not self.strict:
            return namespace.startswith(self.prefix)
        head, dash, generation = namespace.rpartition("-")
        is_generation = len(generation) == 8 and set(generation) <= set("0123456789abcdef")
        return namespace == self.prefix or (bool(dash) and head == self.prefix and is_generation)


@dataclass(frozen=True)
class Config:
    """What the model is told once."""

    max_concurrent_builds: int = 8
    linger_seconds: float = 60.0
    namespaces: Filter = Filter()
