# ruff: noqa: PYI021  the prose lives here and not in Rust; argument names are those of the native code
"""The inventory: everything that a controller holds, at one moment."""

from typing import Final, Literal, final

from typing_extensions import Self

from workerset._values import WorkerSetKey, _Profile, _Record, _WorkerType

__all__ = [
    "BuildsEntry",
    "CohortEntry",
    "Filtered",
    "HopEntry",
    "Inventory",
    "RefusedEntry",
    "RejectedEntry",
    "RetryEntry",
    "SourceEntry",
    "WorkerSetEntry",
]

# The inventory. Its ``to_dict()`` is the JSON that the command line and the HTTP surface show.

@final
class Inventory(_Record):
    """Everything that a controller holds, at one moment.

    ``worker_sets``: those that have members, in the order of (model, key text). ``refused``: keys whose newest record
    is not usable, ascending, until a valid apply or a removal. ``filtered``: what the source saw and did not pass on,
    1,000 at most of ``filtered_count``.
    """

    __match_args__ = ("profile", "source", "worker_sets", "refused", "filtered", "builds", "filtered_count")
    profile: Final[_Profile]
    source: Final[SourceEntry]
    worker_sets: Final[tuple[WorkerSetEntry, ...]]
    refused: Final[tuple[RefusedEntry, ...]]
    filtered: Final[tuple[Filtered, ...]]
    builds: Final[BuildsEntry]
    filtered_count: Final[int]
    def __new__(
        cls,
        profile: _Profile,
        source: SourceEntry,
        worker_sets: tuple[WorkerSetEntry, ...],
        refused: tuple[RefusedEntry, ...],
        filtered: tuple[Filtered, ...],
        builds: BuildsEntry,
        filtered_count: int,
    ) -> Self: ...

@final
class Filtered(_Record):
    """A record that the source saw and did not pass on, so that it counts for nothing.

    ``key``: the instance key of a card record, the full path of any other. ``reason``: why. ``since``: since when, in
    seconds of the controller's clock.
    """

    __match_args__ = ("key", "reason", "since")
    key: Final[str]
    reason: Final[str]
    since: Final[float]
    def __new__(cls, key: str, reason: str, since: float) -> Self: ...

@final
class BuildsEntry(_Record):
    """How many builds run and wait (clause S7).

    ``running``: builds whose end was not reported, cancelled ones included. ``waiting``: sets that wait for a place.
    ``places``: how many may run at once.
    """

    __match_args__ = ("running", "waiting", "places")
    running: Final[int]
    waiting: Final[int]
    places: Final[int]
    def __new__(cls, running: int, waiting: int, places: int) -> Self: ...

@final
class SourceEntry(_Record):
    """Where the records come from; ``lost`` before the first snapshot.

    ``snapshot_age``: seconds since the last snapshot, None before the first. ``revision``: newest seen, 0 before the
    first.
    """

    __match_args__ = ("state", "snapshot_age", "revision")
    state: Final[Literal["live", "lost", "ended"]]
    snapshot_age: Final[float | None]
    revision: Final[int]
    def __new__(cls, state: Literal["live", "lost", "ended"], snapshot_age: float | None, revision: int) -> Self: ...

@final
class WorkerSetEntry(_Record):
    """One set.

    ``generation``: of the committed binding, None while nothing is committed. ``building_generation``: of the build
    that runs. ``rejected``: in first-observation order. ``admitted``: ids of the incumbent cohort, ascending, also
    while nothing is committed. ``routable``: those of them that picks may yield. ``inhibited``: ids that are taken
    out for a while. ``unreachable``: whether all are. ``transports``: the kinds that the admitted workers' endpoint
    records name, ascending (clause R8). ``adapters``: instance keys of those that apply (clause L2); ``unprojected``:
    those that would, but their name is taken (clause S9). ``retry``: while retrying or blocked. ``blocked_by``: the
    model that holds the name. ``hops``: ``prefill`` and ``encode`` of this set's model and namespace.
    """

    __match_args__ = (
        "model",
        "namespace",
        "component",
        "endpoint",
        "model_types",
        "worker_type",
        "phase",
        "generation",
        "building_generation",
        "incumbent",
        "rejected",
        "admitted",
        "routable",
        "inhibited",
        "unreachable",
        "transports",
        "adapters",
        "unprojected",
        "retry",
        "blocked_by",
        "hops",
    )
    model: Final[str]
    namespace: Final[str]
    component: Final[str]
    endpoint: Final[str]
    model_types: Final[str]
    worker_type: Final[_WorkerType]
    phase: Final[Literal["queued", "building", "ready", "retrying", "blocked"]]
    generation: Final[int | None]
    building_generation: Final[int | None]
    incumbent: Final[CohortEntry]
    rejected: Final[tuple[RejectedEntry, ...]]
    admitted: Final[tuple[int, ...]]
    routable: Final[tuple[int, ...]]
    inhibited: Final[tuple[int, ...]]
    unreachable: Final[bool]
    transports: Final[tuple[str, ...]]
    adapters: Final[tuple[str, ...]]
    unprojected: Final[tuple[RefusedEntry, ...]]
    retry: Final[RetryEntry | None]
    blocked_by: Final[str | None]
    hops: Final[dict[str, HopEntry]]
    def __new__(
        cls,
        model: str,
        namespace: str,
        component: str,
        endpoint: str,
        model_types: str,
        worker_type: _WorkerType,
        phase: Literal["queued", "building", "ready", "retrying", "blocked"],
        generation: int | None,
        building_generation: int | None,
        incumbent: CohortEntry,
        rejected: tuple[RejectedEntry, ...],
        admitted: tuple[int, ...],
        routable: tuple[int, ...],
        inhibited: tuple[int, ...],
        unreachable: bool,
        transports: tuple[str, ...],
        adapters: tuple[str, ...],
        unprojected: tuple[RefusedEntry, ...],
        retry: RetryEntry | None,
        blocked_by: str | None,
        hops: dict[str, HopEntry],
    ) -> Self: ...
    @property
    def worker_set(self) -> WorkerSetKey:
        """The set's key."""

@final
class CohortEntry(_Record):
    """The cohort that holds a set. ``members``: instance keys, ascending. ``since``: when it was first observed."""

    __match_args__ = ("mdc_checksum", "members", "since")
    mdc_checksum: Final[str]
    members: Final[tuple[str, ...]]
    since: Final[float]
    def __new__(cls, mdc_checksum: str, members: tuple[str, ...], since: float) -> Self: ...

@final
class RejectedEntry(_Record):
    """A cohort that does not serve, and the names of the card fields that differ from the incumbent's."""

    __match_args__ = ("mdc_checksum", "members", "since", "differs")
    mdc_checksum: Final[str]
    members: Final[tuple[str, ...]]
    since: Final[float]
    differs: Final[tuple[str, ...]]
    def __new__(cls, mdc_checksum: str, members: tuple[str, ...], since: float, differs: tuple[str, ...]) -> Self: ...

@final
class RetryEntry(_Record):
    """A failed build's next try.

    ``attempt`` and ``deadline`` as in :class:`Retry`. ``reason``: why the last one failed.
    """

    __match_args__ = ("attempt", "deadline", "reason")
    attempt: Final[int]
    deadline: Final[float]
    reason: Final[str]
    def __new__(cls, attempt: int, deadline: float, reason: str) -> Self: ...

@final
class HopEntry(_Record):
    """A prefill or encode hop. ``reason``: why it is absent; empty when active."""

    __match_args__ = ("state", "reason")
    state: Final[Literal["active", "absent"]]
    reason: Final[str]
    def __new__(cls, state: Literal["active", "absent"], reason: str) -> Self: ...

@final
class RefusedEntry(_Record):
    """A record that is not usable. ``key``: instance key of a card record, full path of any other."""

    __match_args__ = ("key", "reason")
    key: Final[str]
    reason: Final[str]
    def __new__(cls, key: str, reason: str) -> Self: ...
