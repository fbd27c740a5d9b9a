"""The model: one admission controller, written from the contract for clarity and not for speed.

Every call ends by comparing what is published now with what was published before it (clause D5).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field

from workerset import Apply, Delete, Reset

from .groups import Before, Building, Ready
from .outputs import Out, Token, out
from .publishing import Published, changes, publish
from .records import Adapter, Base, Content, Endpoint, SetKey, shown
from .sets import Sets
from .watching import Watching


@dataclass
class Model(Sets):
    """The controller."""

    watching: Watching = field(init=False)
    source: str = "lost"
    endpoints: dict[str, Endpoint] = field(default_factory=dict)
    bases: dict[str, Base] = field(default_factory=dict)
    adapters: dict[str, Adapter] = field(default_factory=dict)
    """In the order of registration."""
    lingering: dict[str, float] = field(default_factory=dict)
    """Names that nobody uses any more, and until when they are known."""
    published: Published = field(default_factory=Published)
    outputs: list[Out] = field(default_factory=list)
    before: dict[SetKey, Before] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.watching = Watching(self.config.namespaces)

    def fork(self) -> Model:
        """Return a copy, between two calls."""
        other = copy(self)
        other.watching = self.watching.fork()
        other.groups = {key: group.fork() for key, group in self.groups.items()}
        other.endpoints, other.bases, other.adapters = dict(self.endpoints), dict(self.bases), dict(self.adapters)
        other.queue, other.running = list(self.queue), list(self.running)
        other.lingering = dict(self.lingering)
        other.outputs, other.before, other.touched, other.used = [], {}, {}, set()
        return other

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

    # A call's beginning and end.

    def _begin(self, now: float) -> None:
        self.now = max(self.now, now)
        self.watching.expire(self.now)
        self.lingering = {name: until for name, until in self.lingering.items() if until > self.now}
        self.before = {key: Before.of(group) for key, group in self.groups.items()}
        self.touched = {}
        self._fall_due()

    def _end(self, *verdict: Out) -> list[Out]:
        self._fall_due()
        for key, told in self.touched.items():
            self.outputs += told
            self.outputs += changes(key, self.before.get(key), self.groups.get(key))
        self.outputs += self._start_builds()
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
