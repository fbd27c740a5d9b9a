"""The lines that `workerset replay` reads, and what each does to the controller."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from workerset._native import AdmissionController, Apply, CancelBuild, Delete, Reset, Retry, StartBuild, Withdraw
from workerset._text import duration
from workerset.cli import _exact

if TYPE_CHECKING:
    from collections.abc import Callable

    from workerset._native import AdmissionConfig, BuildToken, Inventory, Notice

_Word = TypeVar("_Word", bound=str)


class BadLineError(Exception):
    """A line cannot be used. Says its number and what is wrong."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"line {number}: {reason}")


@dataclass(frozen=True)
class Step:
    """One event and what followed.

    Attributes:
        event: its number, from 1; lines without content do not count.
        at: the time.
        what: the event in a few words.
        commands: what the controller asked for, in order.
        notices: what it reported, in order.

    """

    event: int
    at: float
    what: str
    commands: list[StartBuild | CancelBuild | Withdraw]
    notices: list[Notice]


class Script:
    """Feeds a controller line by line.

    Args:
        config: of the controller.
        recorded: builds end only as lines with op `build` say; else every build succeeds at once, and such lines are
            refused.

    """

    def __init__(self, config: AdmissionConfig, *, recorded: bool) -> None:
        self.controller = AdmissionController(config)
        self.now = 0.0
        self._recorded = recorded
        self._events = 0
        self._tokens: dict[int, BuildToken] = {}
        self._operations: dict[str, Callable[[_Fields], str]] = {
            "apply": self._apply,
            "delete": self._delete,
            "reset": self._reset,
            "build": self._build,
            "source": self._source,
            "advance": self._advance,
        }

    def inventory(self) -> Inventory:
        """The inventory at the time of the newest line."""
        return self.controller.inventory(now=self.now)

    def run(self, number: int, line: str) -> Step:
        """Carry out one line.

        Raises:
            BadLineError: it is no JSON object, or not one of the shapes that replay knows.

        """
        try:
            what = self._step(_Fields(_exact.loads(line)))
        except ValueError as error:
            raise BadLineError(number, str(error)) from error
        self._events += 1
        commands, notices = self._drain()
        return Step(self._events, self.now, what, commands, notices)

    def _step(self, fields: _Fields) -> str:
        op = fields.choice("op", tuple(self._operations))
        at = fields.number("at", self.now)
        if at < self.now:
            raise ValueError(f"at is {at:g}, earlier than the line before, {self.now:g}")
        self.now = at
        return f"{op} {self._operations[op](fields)}".rstrip()

    def _drain(self) -> tuple[list[StartBuild | CancelBuild | Withdraw], list[Notice]]:
        commands: list[StartBuild | CancelBuild | Withdraw] = []
        notices: list[Notice] = []
        while (output := self.controller.poll()) is not None:
            if not isinstance(output, StartBuild | CancelBuild | Withdraw):
                notices.append(output)
                continue
            commands.append(output)
            if isinstance(output, StartBuild):
                token = output.spec.token
                self._tokens[token.generation] = token
                if not self._recorded:
                    self.controller.build_succeeded(token, now=self.now)
        return commands, notices

    def _apply(self, fields: _Fields) -> str:
        entry = fields.entry(within_listing=False)
        self.controller.apply([entry], now=self.now)
        return entry.path

    def _delete(self, fields: _Fields) -> str:
        delete = Delete(fields.text("path"), revision=fields.integer("revision", 0))
        self.controller.apply([delete], now=self.now)
        return delete.path

    def _reset(self, fields: _Fields) -> str:
        items = fields.items("entries")
        entries = [_Fields(item, f"entries[{place}].").entry(within_listing=True) for place, item in enumerate(items)]
        reset = Reset(entries, fields.integer("as_of"), fields.text("prefix", ""))
        self.controller.apply([reset], now=self.now)
        return f"{len(entries)} entries as of {reset.as_of}"

    def _build(self, fields: _Fields) -> str:
        if not self._recorded:
            raise ValueError("op build needs --builds recorded")
        generation = fields.integer("generation")
        outcome = fields.choice("outcome", ("ok", "fail", "cancelled"))
        reason = fields.text("reason", "no reason recorded")
        token = self._tokens.get(generation)
        if token is None:
            raise ValueError(f"no build of generation {generation} was started so far")
        if outcome == "ok":
            verdict: object = self.controller.build_succeeded(token, now=self.now)
        elif outcome == "fail":
            verdict = self.controller.build_failed(token, reason, now=self.now)
        else:
            verdict = self.controller.build_cancelled(token, now=self.now)
        if isinstance(verdict, Retry):
            told = f"tried again in {duration(verdict.deadline - self.now)} (attempt {verdict.attempt})"
        else:
            told = repr(verdict)
        return f"generation {generation} {outcome}: {told}"

    def _source(self, fields: _Fields) -> str:
        state = fields.choice("state", _STATES)
        self.controller.source_changed(state, now=self.now)
        return state

    def _advance(self, _fields: _Fields) -> str:
        self.controller.advance(now=self.now)
        return ""


class _Fields:
    """The members of a line. Those that nobody asks for are ignored: a recording may say more than replay needs."""

    def __init__(self, tree: Any, where: str = "") -> None:
        self._where = where
        if not isinstance(tree, dict):
            raise self._wrong("", tree, "a JSON object")
        self._members: dict[str, Any] = tree

    def text(self, name: str, default: str | None = None) -> str:
        value = self._members.get(name, default)
        if not isinstance(value, str) or isinstance(value, _exact.Number):
            raise self._wrong(name, value, "a text")
        return value

    def choice(self, name: str, allowed: tuple[_Word, ...]) -> _Word:
        value = self.text(name)
        for word in allowed:
            if word == value:
                return word
        raise self._wrong(name, value, f"one of {', '.join(allowed)}")

    def number(self, name: str, default: float) -> float:
        value = self._members.get(name, _exact.Number(default))
        seconds = float(value) if isinstance(value, _exact.Number) else math.nan
        if not math.isfinite(seconds):
            raise self._wrong(name, value, "a number")
        return seconds

    def integer(self, name: str, default: int | None = None, *, signed: bool = False) -> int:
        value = self._members.get(name, None if default is None else _exact.Number(default))
        low, high = (-(1 << 63), (1 << 63) - 1) if signed else (0, (1 << 64) - 1)
        if isinstance(value, _exact.Number) and value.removeprefix("-").isdecimal() and low <= int(value) <= high:
            return int(value)
        raise self._wrong(name, value, f"an integer from {low} to {high}")

    def items(self, name: str) -> list[Any]:
        value = self._members.get(name)
        if not isinstance(value, list):
            raise self._wrong(name, value, "a list")
        return value

    def entry(self, *, within_listing: bool) -> Apply:
        """The record that the members describe. Only a listing may leave the value out: still there, unchanged."""
        value = self._members.get("value")
        if isinstance(value, dict):
            value = _exact.dumps(value)
        refused = None if self._members.get("refused") is None else self.text("refused")
        unchanged = value is None and (within_listing or refused is not None)
        if not unchanged and (not isinstance(value, str) or isinstance(value, _exact.Number)):
            raise self._wrong("value", value, "an object or its exact text")
        return Apply(
            self.text("path"),
            value,
            revision=self.integer("revision", 0),
            created=None if self._members.get("created") is None else self.integer("created", signed=True),
            incarnation=None if self._members.get("incarnation") is None else self.text("incarnation"),
            refused=refused,
        )

    def _wrong(self, name: str, value: Any, expected: str) -> ValueError:
        given = "is missing" if value is None else f"is {_shown(value)}"
        return ValueError(f"{self._where}{name or 'the line'} {given}, expected {expected}")


def _shown(value: Any) -> str:
    text = _exact.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


_STATES: tuple[Literal["live", "lost", "ended"], ...] = ("live", "lost", "ended")
_SHOWN = 60
