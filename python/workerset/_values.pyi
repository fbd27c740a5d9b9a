# ruff: noqa: PYI021, PYI047  the prose lives here and not in Rust; the stubs beside this one use the aliases
"""Events, keys, tokens, verdicts and commands.

What holds for all records is said in ``workerset._native``.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, final, type_check_only

from typing_extensions import Self

from workerset._cards import ModelCard

__all__ = [
    "Apply",
    "Blocked",
    "BuildSpec",
    "BuildToken",
    "BuildVerdict",
    "CancelBuild",
    "Command",
    "Committed",
    "Delete",
    "Event",
    "Fenced",
    "NamespaceFilter",
    "Requeued",
    "Reset",
    "Retry",
    "StartBuild",
    "Withdraw",
    "WorkerSetKey",
]

_Profile: TypeAlias = Literal["1.3", "1.4", "1.5", "1.6"]
_WorkerType: TypeAlias = Literal["aggregated", "decode", "encode", "prefill"]
_RouterMode: TypeAlias = Literal[
    "round_robin", "random", "power_of_two_choices", "k_v", "direct", "least_loaded", "device_aware_weighted"
]
_Json: TypeAlias = Any
Event: TypeAlias = Apply | Delete | Reset
BuildVerdict: TypeAlias = Committed | Fenced | Blocked | Retry | Requeued
Command: TypeAlias = StartBuild | CancelBuild | Withdraw

@type_check_only
class _Record:
    """What all records have in common; each lists its fields in the order of its constructor."""

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, as data that ``json.dumps`` takes.

        A :class:`WorkerSetKey` in a record shows its ``str()``. Commands, notices and verdicts begin with ``kind``, the
        class name.
        """

    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

# Events: what discovery saw.

@final
class Apply(_Record):
    """A key was written or confirmed.

    ``path``: the full path, bucket included, such as ``v1/mdc/ns/component/endpoint/1f``. ``value``: the record's JSON
    as the backend stores it, copied once; None in the entries of a :class:`Reset` only: still there, unchanged since
    last applied. ``revision``: where in the source's order this was seen; 0 when unknown. ``created``: when the key was
    created, in any unit that orders the keys of one source (clause R6). ``incarnation``: identity of the registration
    behind the key, where the source has one (clause I8). ``refused``: why the source does not hand the value over, for
    it is too large, say; ``value`` is None then, and the record is refused (clause R7). A text with a lone surrogate
    is taken as the bytes that no decoder takes.

    Raises :class:`ValueError` for a value that was refused, and for a path with a lone surrogate.
    """

    __match_args__ = ("path", "value", "revision", "created", "incarnation", "refused")
    path: Final[str]
    value: Final[bytes | str | None]
    revision: Final[int]
    created: Final[int | None]
    incarnation: Final[str | None]
    refused: Final[str | None]
    def __new__(
        cls,
        path: str,
        value: bytes | str | None,
        revision: int = 0,
        created: int | None = None,
        incarnation: str | None = None,
        refused: str | None = None,
    ) -> Self: ...

@final
class Delete(_Record):
    """A key is gone. ``path`` and ``revision`` as in :class:`Apply`, and so is what is raised."""

    __match_args__ = ("path", "revision")
    path: Final[str]
    revision: Final[int]
    def __new__(cls, path: str, revision: int = 0) -> Self: ...

@final
class Reset(_Record):
    """Everything that the source holds below a prefix (clause D2).

    ``entries``: the keys, in any order; of a key that stands twice the last counts. ``as_of``: the revision at which
    the listing was taken, at the latest: what was seen later is not undone by it. ``prefix``: start of all paths that
    it covers; empty for everything.
    """

    __match_args__ = ("entries", "as_of", "prefix")
    entries: Final[tuple[Apply, ...]]
    as_of: Final[int]
    prefix: Final[str]
    def __new__(cls, entries: Sequence[Apply], as_of: int, prefix: str = "") -> Self: ...

# Names.

@final
class WorkerSetKey(_Record):
    """Identity of a WorkerSet (clause I1).

    ``str()`` is the group id: a JSON array of the model and :attr:`key_text`.

    ``model_types``: lower-case names in bit order, joined with ``|``; may be empty. ``worker_type``: the effective
    role. Keys are ordered as inventories are: by model, then by key text.
    """

    __match_args__ = ("model", "namespace", "component", "endpoint", "model_types", "worker_type")
    model: Final[str]
    namespace: Final[str]
    component: Final[str]
    endpoint: Final[str]
    model_types: Final[str]
    worker_type: Final[_WorkerType]
    def __new__(
        cls, model: str, namespace: str, component: str, endpoint: str, model_types: str, worker_type: str
    ) -> Self: ...
    @property
    def key_text(self) -> str:
        """Dynamo's key: a compact JSON array of namespace, component, endpoint, model types and role (WIRE 5)."""

    def __lt__(self, other: WorkerSetKey, /) -> bool: ...
    def __le__(self, other: WorkerSetKey, /) -> bool: ...
    def __gt__(self, other: WorkerSetKey, /) -> bool: ...
    def __ge__(self, other: WorkerSetKey, /) -> bool: ...

@final
class NamespaceFilter(_Record):
    """Which namespaces a controller looks at (WIRE 5). Made with :meth:`all`, :meth:`exact` and :meth:`prefix`."""

    __match_args__ = ("rule", "text", "strict")
    rule: Final[Literal["all", "exact", "prefix"]]
    text: Final[str]
    strict: Final[bool]
    def __new__(cls, rule: Literal["all", "exact", "prefix"], text: str, strict: bool) -> Self: ...
    @staticmethod
    def all() -> NamespaceFilter:
        """Every namespace."""

    @staticmethod
    def exact(namespace: str) -> NamespaceFilter:
        """One namespace."""

    @staticmethod
    def prefix(prefix: str, strict: bool = False) -> NamespaceFilter:
        """Namespaces that start with the text.

        Strict: those equal to it, or to it and ``-`` and exactly 8 of ``0-9a-f``.
        """

    def admits(self, namespace: str) -> bool:
        """Whether records of the namespace are looked at."""

@final
class BuildToken(_Record):
    """Names one build.

    A late result counts only if all of the token is still the selected one (clauses S3, S4).

    ``generation`` never repeats in one controller and grows strictly across all sets. ``controller_id`` is not shown;
    it tells tokens of one controller from those of another, and counts for equality, hash and pickle.
    """

    __match_args__ = ("model", "worker_set", "mdc_checksum", "generation")
    model: Final[str]
    worker_set: Final[WorkerSetKey]
    mdc_checksum: Final[str]
    generation: Final[int]
    def __new__(
        cls, model: str, worker_set: WorkerSetKey, mdc_checksum: str, generation: int, controller_id: int = 0
    ) -> Self: ...

@final
class Committed(_Record):
    """The pipeline serves. ``generation``: of the binding."""

    __match_args__ = ("generation",)
    generation: Final[int]
    def __new__(cls, generation: int) -> Self: ...

@final
class Fenced(_Record):
    """The result came too late, twice, or to the wrong controller (clause S4)."""

    __match_args__ = ("reason",)
    reason: Final[str]
    def __new__(cls, reason: str) -> Self: ...

@final
class Blocked(_Record):
    """The card claims a name that another model holds; the reason names it (clause S9)."""

    __match_args__ = ("reason",)
    reason: Final[str]
    def __new__(cls, reason: str) -> Self: ...

@final
class Retry(_Record):
    """The failure is noted; another build follows (clause S7).

    ``attempt``: failures in a row, from 1. ``deadline``: when the next build is queued at the latest.
    """

    __match_args__ = ("attempt", "deadline")
    attempt: Final[int]
    deadline: Final[float]
    def __new__(cls, attempt: int, deadline: float) -> Self: ...

@final
class Requeued(_Record):
    """The build was still wanted and is queued again (clause S7)."""

    __match_args__ = ()
    def __new__(cls) -> Self: ...

# Commands, to be carried out in the order in which they come.

@final
class BuildSpec(_Record):
    """What to build.

    ``token`` goes back with the result; ``model`` to ``generation`` are the token's. ``card``: the selected card for
    the whole generation (clause S8). ``representative``: instance key of the member whose card it is.
    """

    __match_args__ = ("token", "model", "worker_set", "mdc_checksum", "generation", "card", "representative")
    token: Final[BuildToken]
    model: Final[str]
    worker_set: Final[WorkerSetKey]
    mdc_checksum: Final[str]
    generation: Final[int]
    card: Final[ModelCard]
    representative: Final[str]
    def __new__(
        cls,
        token: BuildToken,
        model: str,
        worker_set: WorkerSetKey,
        mdc_checksum: str,
        generation: int,
        card: ModelCard,
        representative: str,
    ) -> Self: ...

@final
class StartBuild(_Record):
    """Build a pipeline and report the result once."""

    __match_args__ = ("spec",)
    spec: Final[BuildSpec]
    def __new__(cls, spec: BuildSpec) -> Self: ...

@final
class CancelBuild(_Record):
    """Stop that build if it still runs, and report it in any case: it counts as running until then (clause S7)."""

    __match_args__ = ("token",)
    token: Final[BuildToken]
    def __new__(cls, token: BuildToken) -> Self: ...

@final
class Withdraw(_Record):
    """Drop the pipeline that this build committed."""

    __match_args__ = ("token",)
    token: Final[BuildToken]
    def __new__(cls, token: BuildToken) -> Self: ...
