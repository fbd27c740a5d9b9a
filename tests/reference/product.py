"""The native controller, spoken to as the model is, and its answers in the model's form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import workerset
from workerset import AdmissionController, Apply, Delete, Reset

from .cards import facts_of
from .outputs import Out, Token, out


def token_of(token: workerset.BuildToken) -> Token:
    """Turn a native token into the model's."""
    return Token(str(token.worker_set), token.mdc_checksum, token.generation)


class Product:
    """The native controller, and every token that it handed out."""

    def __init__(self, config: workerset.AdmissionConfig) -> None:
        self.controller = AdmissionController(config)
        self.tokens: dict[Token, workerset.BuildToken] = {}

    def apply(self, events: Sequence[Apply | Delete | Reset], now: float) -> list[Out]:
        """Take events."""
        self.controller.apply(list(events), now=now)
        return self._drain()

    def advance(self, now: float) -> list[Out]:
        """Let time pass."""
        self.controller.advance(now=now)
        return self._drain()

    def source_changed(self, state: str, now: float) -> list[Out]:
        """The connection changed."""
        self.controller.source_changed(state, now=now)
        return self._drain()

    def succeeded(self, token: Token, now: float) -> list[Out]:
        """A build produced a pipeline."""
        return self._report(self.controller.build_succeeded(self._native(token), now=now))

    def failed(self, token: Token, reason: str, now: float) -> list[Out]:
        """A build failed."""
        return self._report(self.controller.build_failed(self._native(token), reason, now=now))

    def cancelled(self, token: Token, now: float) -> list[Out]:
        """A build was stopped."""
        return self._report(self.controller.build_cancelled(self._native(token), now=now))

    def _native(self, token: Token) -> workerset.BuildToken:
        """The token as it was handed out. A made-up one names no controller, so no controller may take it (S3)."""
        known = self.tokens[token._replace(controller="")]
        if not token.controller:
            return known
        return workerset.BuildToken(
            model=known.model,
            worker_set=known.worker_set,
            mdc_checksum=known.mdc_checksum,
            generation=known.generation,
        )

    def _report(self, verdict: Any) -> list[Out]:
        match verdict:
            case workerset.Committed(generation=generation):
                plain = out("Committed", generation)
            case workerset.Retry(attempt=attempt, deadline=deadline):
                plain = out("Retry", attempt, deadline)
            case _:
                plain = out(type(verdict).__name__)
        return [plain, *self._drain()]

    def _drain(self) -> list[Out]:
        outputs = []
        poll = self.controller.poll
        while (output := poll()) is not None:
            if isinstance(output, workerset.StartBuild):
                self.tokens[token_of(output.spec.token)] = output.spec.token
            outputs.append(_PLAIN[type(output)](output))
        return outputs


def _named(kind: str, *names: str) -> Callable[[Any], Out]:
    def plain(output: Any) -> Out:
        return out(kind, *(_value(getattr(output, name)) for name in names))

    return plain


def _value(value: Any) -> object:
    if isinstance(value, workerset.BuildToken):
        return token_of(value)
    return str(value) if isinstance(value, workerset.WorkerSetKey) else value


def _start(output: workerset.StartBuild) -> Out:
    spec = output.spec
    return out("StartBuild", token_of(spec.token), facts_of(spec.card.raw).label, spec.representative)


def _hop_changed(output: workerset.HopChanged) -> Out:
    return out("HopChanged", output.model, output.namespace, output.hop, output.active, output.reason)


_PLAIN: dict[type, Callable[[Any], Out]] = {
    workerset.StartBuild: _start,
    workerset.CancelBuild: _named("CancelBuild", "token"),
    workerset.Withdraw: _named("Withdraw", "token"),
    workerset.CohortRejected: _named(
        "CohortRejected", "worker_set", "incumbent_checksum", "rejected_checksum", "instance", "members", "differs"
    ),
    workerset.RecordRefused: _named("RecordRefused", "key"),
    workerset.InPlaceChangeRefused: _named(
        "InPlaceChangeRefused", "key", "worker_set", "stored_checksum", "refused_checksum"
    ),
    workerset.BuildCommitted: _named("BuildCommitted", "token"),
    workerset.BuildRetry: _named("BuildRetry", "token", "attempt", "deadline", "reason"),
    workerset.BuildBlocked: _named("BuildBlocked", "token", "owner", "name", "attempt", "deadline"),
    workerset.MembersChanged: _named("MembersChanged", "worker_set", "mdc_checksum", "joined", "left"),
    workerset.Succession: _named(
        "Succession", "worker_set", "retired_checksum", "retired_generation", "incumbent_checksum", "members"
    ),
    workerset.HopChanged: _hop_changed,
    workerset.ModelReady: _named("ModelReady", "model"),
    workerset.ModelNotReady: _named("ModelNotReady", "model"),
}
