"""All WorkerSets: who joins, who succeeds, which builds run (chapters R and S)."""

from __future__ import annotations

from dataclasses import dataclass, field

from .config import Config
from .groups import Building, Cohort, Failed, Group, Queued, Ready, delay
from .outputs import Out, Token, out
from .records import Base, SetKey

NONE: frozenset[str] = frozenset()


@dataclass
class Sets:
    """The sets that have members, and the builds that were asked for."""

    config: Config = field(default_factory=Config)
    now: float = 0.0
    groups: dict[SetKey, Group] = field(default_factory=dict)
    queue: list[SetKey] = field(default_factory=list)
    running: list[Token] = field(default_factory=list)
    """Builds whose result or cancellation has not been reported."""
    generation: int = 0
    lifetimes: int = 0
    failures: int = 0
    used: set[str] = field(default_factory=set)
    """Names that somebody used at some moment of this call."""
    touched: dict[SetKey, list[Out]] = field(default_factory=dict)
    """Commands and notices of each group that this call has touched, in the order of touch."""

    # Cohorts (R2, R5, S1, S2).

    def _join(self, base: Base) -> None:
        group = self.groups.setdefault(base.worker_set, Group(base.worker_set))
        self._touch(group.key)
        cohort = group.cohort_of(base.checksum)
        if cohort is None:
            self.lifetimes += 1
            cohort = Cohort(base.checksum, self.now, self.lifetimes)
            group.cohorts.append(cohort)
        cohort.members[base.key] = base
        self.used.add(base.worker_set.model)
        if cohort is group.incumbent:
            self.used |= {*base.card.aliases}
            if len(cohort.members) == 1:
                self._enqueue(group)
            else:
                self._bring_forward(group)

    def _leave(self, base: Base) -> None:
        group = self.groups[base.worker_set]
        self._touch(group.key)
        cohort = group.cohort_of(base.checksum)
        assert cohort is not None
        is_incumbent = cohort is group.incumbent
        del cohort.members[base.key]
        if cohort.members:
            if is_incumbent:
                self._bring_forward(group)
            return
        group.cohorts.remove(cohort)
        if is_incumbent:
            self._step_down(group)
        if not group.cohorts:
            del self.groups[group.key]

    def _step_down(self, group: Group) -> None:
        """The last incumbent worker has left."""
        match group.doing:
            case Building(token=token):
                self._tell(group.key, "CancelBuild", token)
            case Ready(token=token):
                self._tell(group.key, "Withdraw", token)
                group.doing = Queued()
                self._release_blocked()
            case Queued():
                self.queue.remove(group.key)
        group.doing, group.failures = Queued(), 0
        if group.cohorts:
            self.used |= {*group.cohorts[0].smallest().card.aliases}
            self._enqueue(group)

    # Builds (S3, S4, S7, S9).

    def _enqueue(self, group: Group) -> None:
        group.doing = Queued()
        self.queue.append(group.key)

    def _reported(self, token: Token) -> Group | None:
        """Count the report; the group that still wants the build, if any."""
        if token not in self.running:
            return None
        self.running.remove(token)
        for group in self.groups.values():
            if isinstance(group.doing, Building) and group.doing.token == token:
                return group
        return None

    def _fail(self, group: Group, reason: str, owner: str | None = None, claims: frozenset[str] = NONE) -> Failed:
        group.failures += 1
        self.failures += 1
        deadline = self.now + delay(group.failures)
        failed = Failed(self.now, deadline, self.failures, reason, owner, claims)
        group.doing = failed
        return failed

    def _bring_forward(self, group: Group) -> None:
        """The incumbent's members have changed; a blocked build is not released by that (S7, S9)."""
        failed = group.doing
        if isinstance(failed, Failed) and failed.owner is None:
            group.doing = failed._replace(deadline=min(failed.deadline, max(failed.at + 1.0, self.now)))

    def _collision(self, model: str, claims: frozenset[str]) -> tuple[str, str] | None:
        """The first claimed name that another committed model holds, and that model (S9)."""
        for name in sorted(claims):
            for group in self.groups.values():
                owner = group.key.model
                if owner != model and self._holds(owner, frozenset({name})):
                    return name, owner
        return None

    def _release_blocked(self) -> None:
        """Queue at once whoever was blocked by a model that no longer holds any name that it claims (S9)."""
        for failed, group in sorted(self._failed(), key=lambda pair: pair[0].order):
            if failed.owner is not None and not self._holds(failed.owner, failed.claims):
                self._enqueue(group)

    def _holds(self, owner: str, claims: frozenset[str]) -> bool:
        return any(
            group.key.model == owner and not claims.isdisjoint({owner, *group.doing.card.aliases})
            for group in self.groups.values()
            if isinstance(group.doing, Ready)
        )

    def _failed(self) -> list[tuple[Failed, Group]]:
        waiting = [(group.doing, group) for group in self.groups.values() if isinstance(group.doing, Failed)]
        return sorted(waiting, key=lambda pair: (pair[0].deadline, pair[0].order))

    def _fall_due(self) -> None:
        for failed, group in self._failed():
            if failed.deadline <= self.now:
                self._enqueue(group)

    def _start_builds(self) -> list[Out]:
        started = []
        while self.queue and len(self.running) < self.config.max_concurrent_builds:
            group = self.groups[self.queue.pop(0)]
            assert group.incumbent is not None
            self.generation += 1
            base = group.incumbent.smallest()
            token = Token(group.key.group, base.checksum, self.generation)
            self.running.append(token)
            group.doing = Building(token, base.card)
            started.append(out("StartBuild", token, base.card.label, base.key))
        return started

    def _touch(self, key: SetKey) -> None:
        self.touched.setdefault(key, [])

    def _tell(self, key: SetKey, kind: str, *fields: object) -> None:
        self.touched.setdefault(key, []).append(out(kind, *fields))
