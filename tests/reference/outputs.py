"""Commands, notices and verdicts in a form that compares."""

from __future__ import annotations

from typing import NamedTuple


class Token(NamedTuple):
    """Names one build (clauses S3, S4)."""

    group: str
    checksum: str
    generation: int
    controller: str = ""
    """Set for a token that neither controller handed out."""


class Out(NamedTuple):
    """One command, notice or verdict: its kind, and its fields in the order of API section 2."""

    kind: str
    fields: tuple[object, ...]

    def token(self) -> Token:
        """The build that it is about."""
        assert isinstance(self.fields[0], Token)
        return self.fields[0]


def out(kind: str, *fields: object) -> Out:
    """Make an output."""
    return Out(kind, fields)
