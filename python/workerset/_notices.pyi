# ruff: noqa: PYI021  the prose lives here and not in Rust; argument names are those of the native code
"""Notices: what happened, for logs and metrics."""

from typing import Final, Literal, TypeAlias, final

from typing_extensions import Self

from workerset._values import BuildToken, WorkerSetKey, _Record

__all__ = [
    "BuildBlocked",
    "BuildCommitted",
    "BuildRetry",
    "CohortRejected",
    "HopChanged",
    "InPlaceChangeRefused",
    "MembersChanged",
    "ModelNotReady",
    "ModelReady",
    "Notice",
    "RecordRefused",
    "Succession",
]

Notice: TypeAlias = (
    CohortRejected
    | RecordRefused
    | InPlaceChangeRefused
    | BuildCommitted
    | BuildRetry
    | BuildBlocked
    | MembersChanged
    | Succession
    | HopChanged
    | ModelReady
    | ModelNotReady
)

# Notices: for logs and metrics; they ask for nothing.

@final
class CohortRejected(_Record):
    """A cohort is rejected, or still is under a new incumbent (clause S6).

    Once per cohort and incumbent. ``instance``: the smallest instance key in it. ``members``: how many. ``differs``:
    names of the card fields that differ.
    """

    __match_args__ = (
        "model",
        "worker_set",
        "incumbent_checksum",
        "rejected_checksum",
        "instance",
        "members",
        "differs",
    )
    model: Final[str]
    worker_set: Final[WorkerSetKey]
    incumbent_checksum: Final[str]
    rejected_checksum: Final[str]
    instance: Final[str]
    members: Final[int]
    differs: Final[tuple[str, ...]]
    def __new__(
        cls,
        model: str,
        worker_set: WorkerSetKey,
        incumbent_checksum: str,
        rejected_checksum: str,
        instance: str,
        members: int,
        differs: tuple[str, ...],
    ) -> Self: ...

@final
class RecordRefused(_Record):
    """A record is not usable (clause R7).

    Once per key and value. ``key``: instance key of a card record, full path of any other.
    """

    __match_args__ = ("key", "reason")
    key: Final[str]
    reason: Final[str]
    def __new__(cls, key: str, reason: str) -> Self: ...

@final
class InPlaceChangeRefused(_Record):
    """A live instance published another checksum or WorkerSet under its key, and stays what it was (clause I8).

    Once per key and value.
    """

    __match_args__ = ("model", "key", "worker_set", "stored_checksum", "refused_checksum", "reason")
    model: Final[str]
    key: Final[str]
    worker_set: Final[WorkerSetKey]
    stored_checksum: Final[str]
    refused_checksum: Final[str]
    reason: Final[str]
    def __new__(
        cls, model: str, key: str, worker_set: WorkerSetKey, stored_checksum: str, refused_checksum: str, reason: str
    ) -> Self: ...

@final
class BuildCommitted(_Record):
    """A build committed: the set serves through a new binding."""

    __match_args__ = ("model", "token")
    model: Final[str]
    token: Final[BuildToken]
    def __new__(cls, model: str, token: BuildToken) -> Self: ...

@final
class BuildRetry(_Record):
    """A build failed and is tried again (clause S7).

    ``attempt`` and ``deadline`` as in :class:`Retry`. ``reason``: the driver's.
    """

    __match_args__ = ("model", "token", "attempt", "deadline", "reason")
    model: Final[str]
    token: Final[BuildToken]
    attempt: Final[int]
    deadline: Final[float]
    reason: Final[str]
    def __new__(cls, model: str, token: BuildToken, attempt: int, deadline: float, reason: str) -> Self: ...
    @property
    def delay(self) -> float:
        """Seconds from the failure to the next try."""

@final
class BuildBlocked(_Record):
    """A built pipeline may not commit: a name that it claims is another model's (clause S9). ``owner``: that model."""

    __match_args__ = ("model", "token", "owner", "name", "attempt", "deadline")
    model: Final[str]
    token: Final[BuildToken]
    owner: Final[str]
    name: Final[str]
    attempt: Final[int]
    deadline: Final[float]
    def __new__(cls, model: str, token: BuildToken, owner: str, name: str, attempt: int, deadline: float) -> Self: ...
    @property
    def delay(self) -> float:
        """Seconds from the failure to the next try."""

@final
class MembersChanged(_Record):
    """The incumbent cohort gained or lost workers, net over one call (clause H5).

    ``mdc_checksum``: its checksum afterwards; None when nobody is left. ``joined``, ``left``: ids, ascending.
    """

    __match_args__ = ("model", "worker_set", "mdc_checksum", "joined", "left")
    model: Final[str]
    worker_set: Final[WorkerSetKey]
    mdc_checksum: Final[str | None]
    joined: Final[tuple[int, ...]]
    left: Final[tuple[int, ...]]
    def __new__(
        cls,
        model: str,
        worker_set: WorkerSetKey,
        mdc_checksum: str | None,
        joined: tuple[int, ...],
        left: tuple[int, ...],
    ) -> Self: ...

@final
class Succession(_Record):
    """The incumbent cohort emptied and the next one took the set (clauses S1 to S3).

    ``retired_generation``: of the binding that was retired, None if none was committed. ``members``: of the cohort that
    took over, a count.
    """

    __match_args__ = ("model", "worker_set", "retired_checksum", "retired_generation", "incumbent_checksum", "members")
    model: Final[str]
    worker_set: Final[WorkerSetKey]
    retired_checksum: Final[str]
    retired_generation: Final[int | None]
    incumbent_checksum: Final[str]
    members: Final[int]
    def __new__(
        cls,
        model: str,
        worker_set: WorkerSetKey,
        retired_checksum: str,
        retired_generation: int | None,
        incumbent_checksum: str,
        members: int,
    ) -> Self: ...

@final
class HopChanged(_Record):
    """A prefill or encode hop of a model came or went (clause H7). ``reason``: why it is absent; empty when active."""

    __match_args__ = ("model", "namespace", "hop", "active", "reason")
    model: Final[str]
    namespace: Final[str]
    hop: Final[Literal["prefill", "encode"]]
    active: Final[bool]
    reason: Final[str]
    def __new__(
        cls, model: str, namespace: str, hop: Literal["prefill", "encode"], active: bool, reason: str
    ) -> Self: ...

@final
class ModelReady(_Record):
    """A request for the model can be routed now."""

    __match_args__ = ("model",)
    model: Final[str]
    def __new__(cls, model: str) -> Self: ...

@final
class ModelNotReady(_Record):
    """A request for the model cannot be routed any more."""

    __match_args__ = ("model",)
    model: Final[str]
    def __new__(cls, model: str) -> Self: ...
