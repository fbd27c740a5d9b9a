"""One WorkerSet: its cohorts in first-observation order, and what it is doing (chapters R and S)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from .cards import CardFacts
from .outputs import Token
from .records import Base, SetKey

DELAYS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)


def delay(failures: int) -> float:
    """Seconds to wait after the n-th failure in a row (S7)."""
    return DELAYS[min(failures, len(DELAYS)) - 1]


@dataclass
class Cohort:
    """Members with one checksum."""

    checksum: str
    since: float
    lifetime: int
    """Tells a cohort from an earlier one of the same checksum that has emptied."""
    members: dict[str, Base] = field(default_factory=dict)
    reported_under: int | None = None
    """Lifetime of the incumbent under which the rejection was reported (S6)."""

    def fork(self) -> Cohort:
        """Return a copy."""
        return Cohort(self.checksum, self.since, self.lifetime, dict(self.members), self.reported_under)

    def smallest(self) -> Base:
        """The member with the smallest instance key, in byte order."""
        return self.members[min(self.members)]

    def ids(self) -> set[int]:
        """Ids of the members."""
        return {member.instance_id for member in self.members.values()}


class Queued(NamedTuple):
    """Waits for one of the build places."""


class Building(NamedTuple):
    """A build runs."""

    token: Token
    card: CardFacts


class Ready(NamedTuple):
    """A pipeline is committed."""

    token: Token
    card: CardFacts


class Failed(NamedTuple):
    """A build failed, or built what may not commit (S9), and is tried again."""

    at: float
    deadline: float
    order: int
    """Which failure of the controller this is."""
    reason: str
    owner: str | None = None
    """The model that holds the name; None: an ordinary failure."""
    claims: frozenset[str] = frozenset()
    """Names that the blocked card claims."""


Doing = Queued | Building | Ready | Failed


@dataclass
class Group:
    """A set with members."""

    key: SetKey
    cohorts: list[Cohort] = field(default_factory=list)
    """First-observation order (R5); the first is the incumbent (R1, S1)."""
    doing: Doing = field(default_factory=Queued)
    failures: int = 0
    """In a row."""

    @property
    def incumbent(self) -> Cohort | None:
        """The cohort that holds the set."""
        return self.cohorts[0] if self.cohorts else None

    def fork(self) -> Group:
        """Return a copy."""
        return Group(self.key, [cohort.fork() for cohort in self.cohorts], self.doing, self.failures)

    def cohort_of(self, checksum: str) -> Cohort | None:
        """The cohort with that checksum."""
        return next((cohort for cohort in self.cohorts if cohort.checksum == checksum), None)

    def phase(self) -> str:
        """As inventories say it."""
        match self.doing:
            case Queued():
                return "queued"
            case Building():
                return "building"
            case Ready():
                return "ready"
            case Failed(owner=owner):
                return "retrying" if owner is None else "blocked"


class Before(NamedTuple):
    """What a group was when the call began."""

    checksum: str
    lifetime: int
    ids: frozenset[int]
    generation: int | None

    @classmethod
    def of(cls, group: Group) -> Before:
        """Take the picture."""
        incumbent = group.cohorts[0]
        generation = group.doing.token.generation if isinstance(group.doing, Ready) else None
        return cls(incumbent.checksum, incumbent.lifetime, frozenset(incumbent.ids()), generation)
