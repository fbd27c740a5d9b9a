"""The model: one admission controller, written from the contract for clarity and not for speed.

Every call ends by comparing what is published now with what was published before it (clause D5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from workerset import Apply, Delete, Reset

from .groups import Before, Building, Cohort, Failed, Group, Queued, Ready, delay
from .outputs import Out, Token, out
from .publishing import Published, changes, publish
from .records import Adapter, Base, Content, Endpoint, SetKey, shown
from .watching import Watching

NONE: frozenset[str] = frozenset()


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


@dataclass
class Model:
    """The controller."""

    config: Config = field(default_factory=Config)
    now: float = 0.0
    watching: Watching = field(init=False)
    source: str = "lost"
    groups: dict[SetKey, Group] = field(default_factory=dict)
    """The sets that have members."""
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    bases: dict[str, Base] = field(default_factory=dict)
    adapters: dict[str, Adapter] = field(default_factory=dict)
    """In the order of registration."""
    queue: list[SetKey] = field(default_factory=list)
    running: list[Token] = field(default_factory=list)
    """Builds whose result or cancellation has not been reported."""
    generation: int = 0
    lifetimes: int = 0
    failures: int = 0
    lingering: dict[str, float] = field(default_factory=dict)
    """Names that nobody uses any more, and until when they are known."""
    published: Published = field(default_factory=Published)
    outputs: list[Out] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    """Names that somebody used at some moment of this call."""
    before: dict[SetKey, Before] = field(default_factory=dict)
    touched: dict[SetKey, list[Out]] = field(default_factory=dict)
    """Commands and notices of each group that this call has touched, in the order of touch."""

    def __post_init__(self) -> None:
        self.watching = Watching(self.config.namespaces)

    # Calls. Each first lets what is due fall due, then does its work, then publishes (API section 2, D5).

    def apply(self, events: Sequence[Apply | Delete | Reset], now: float) -> list[Out]:
        """Take events, in their order, as one step."""
        self._begin(now)
        for event in events:
            if isinstance(event, Delete):
                self.watching.delete(event.path, event.revision, self.now, self)
            elif isinstance(event, Reset):
                if self.watching.reset(list(event.entries), event.as_of, event.prefix, self.now, self):
                    self.source = "live"
            else:
                self.watching.apply(event, self)
        return self._end()

    def advance(self, now: float) -> list[Out]:
        """Let time pass."""
        self._begin(now)
        return self._end()

    def source_changed(self, state: str, now: float) -> list[Out]:
        """The connection changed; nothing is removed (D3)."""
        self._begin(now)
        self.source = state
        return self._end()

    def succeeded(self, token: Token, now: float) -> list[Out]:
        """A build produced a pipeline: the first output is the verdict."""
        self._begin(now)
        group = self._reported(token)
        if group is None or not isinstance(group.doing, Building):
            return self._end(out("Fenced"))
        claims = frozenset({group.key.model, *group.doing.card.aliases})
        taken = self._collision(group.key.model, claims)
        if taken is not None:
            name, owner = taken
            failed = self._fail(group, "", owner, claims)
            self._tell(group.key, "BuildBlocked", token, owner, name, group.failures, failed.deadline)
            return self._end(out("Blocked"))
        group.doing, group.failures = Ready(token, group.doing.card), 0
        self._tell(group.key, "BuildCommitted", token)
        return self._end(out("Committed", token.generation))

    def failed(self, token: Token, reason: str, now: float) -> list[Out]:
        """A build failed: the first output is the verdict."""
        self._begin(now)
        group = self._reported(token)
        if group is None:
            return self._end(out("Fenced"))
        failed = self._fail(group, reason)
        self._tell(group.key, "BuildRetry", token, group.failures, failed.deadline, reason)
        return self._end(out("Retry", group.failures, failed.deadline))

    def cancelled(self, token: Token, now: float) -> list[Out]:
        """A build was stopped: the first output is the verdict."""
        self._begin(now)
        group = self._reported(token)
        if group is None:
            return self._end(out("Fenced"))
        self._enqueue(group)
        self._touch(group.key)
        return self._end(out("Requeued"))

    def next_deadline(self) -> float | None:
        """When something falls due next: a retry, or a name that is forgotten."""
        deadlines = [failed.deadline for failed, _ in self._failed()]
        return min([*deadlines, *self.lingering.values()], default=None)

    # What the observations mean.

    def arrive(self, content: Content) -> None:
        """Note a state that is new to the controller."""
        match content:
            case Endpoint():
                self.endpoints[content.key] = content
            case Adapter():
                self.adapters[content.key] = content
                self.used.add(content.name)
            case Base():
                self.bases[content.key] = content
                self._join(content)

    def update(self, old: Content, new: Content) -> None:
        """Note a state that replaces its predecessor: nothing is rebuilt, no order changes (I8, L3)."""
        match new:
            case Endpoint():
                self.endpoints[new.key] = new
            case Adapter():
                self.adapters[new.key] = new
                self.used.add(new.name)
            case Base():
                self.bases[new.key] = new
                cohort = self.groups[new.worker_set].cohort_of(new.checksum)
                assert cohort is not None and old.key in cohort.members
                cohort.members[new.key] = new

    def depart(self, content: Content) -> None:
        """Note that an incarnation has left."""
        match content:
            case Endpoint():
                del self.endpoints[content.key]
            case Adapter():
                del self.adapters[content.key]
            case Base():
                self._leave(self.bases.pop(content.key))

    def refuse_record(self, path: str) -> None:
        """Tell of an unusable record (R7)."""
        self.outputs.append(out("RecordRefused", shown(path)))

    def refuse_change(self, old: Base, new: Base) -> None:
        """Tell of a change in place (I8)."""
        self.outputs.append(out("InPlaceChangeRefused", old.key, old.worker_set.group, old.checksum, new.checksum))

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

    def _start_builds(self) -> None:
        while self.queue and len(self.running) < self.config.max_concurrent_builds:
            group = self.groups[self.queue.pop(0)]
            assert group.incumbent is not None
            self.generation += 1
            base = group.incumbent.smallest()
            token = Token(group.key.group, base.checksum, self.generation)
            self.running.append(token)
            group.doing = Building(token, base.card)
            self.outputs.append(out("StartBuild", token, base.card.label, base.key))

    # A call's beginning and end.

    def _begin(self, now: float) -> None:
        self.now = max(self.now, now)
        self.watching.expire(self.now)
        self.lingering = {name: until for name, until in self.lingering.items() if until > self.now}
        self.before = {key: Before.of(group) for key, group in self.groups.items()}
        self.touched = {}
        self._fall_due()

    def _touch(self, key: SetKey) -> None:
        self.touched.setdefault(key, [])

    def _tell(self, key: SetKey, kind: str, *fields: object) -> None:
        self.touched.setdefault(key, []).append(out(kind, *fields))

    def _end(self, *verdict: Out) -> list[Out]:
        self._fall_due()
        for key, told in self.touched.items():
            self.outputs += told
            self.outputs += changes(key, self.before.get(key), self.groups.get(key))
        self._start_builds()
        published = publish(self)
        self._linger(published)
        self.outputs += published.since(self.published)
        self.published = published
        outputs, self.outputs = [*verdict, *self.outputs], []
        self.before, self.touched, self.used = {}, {}, set()
        return outputs

    def _linger(self, published: Published) -> None:
        """Names stay known for a while after their last user (Y6)."""
        for name in (self.published.names | self.used) - published.names:
            self.lingering[name] = self.now + self.config.linger_seconds
        for name in published.names & self.lingering.keys():
            del self.lingering[name]

    def is_known(self, name: str) -> bool:
        """Tell whether a name is known: everything is before the first snapshot (Y6)."""
        used = name in self.published.names or self.lingering.get(name, self.now) > self.now
        return used or self.watching.snapshot_at is None
