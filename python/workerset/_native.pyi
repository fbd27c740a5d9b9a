# ruff: noqa: PYI021, A002  the prose lives here and not in Rust; argument names are those of the native code
"""The native part of workerset.

Import these names from ``workerset``.

Records are frozen, compare and hash by value, match, pickle, and have ``to_dict()``. Lists are tuples in attributes and
lists in ``to_dict()``; any sequence is taken. Times are seconds of the caller's clock, ``float``. Checksums are 64
lower-case hex digits. Ids, counts, revisions and generations are ``int`` from 0 to 2**64 - 1; what does not fit raises
:class:`OverflowError`, a wrong type :class:`TypeError`, a wrong text :class:`ValueError`. An *instance key* is
``namespace/component/endpoint/<id in hex>[/suffix]``.

A panic in the native code raises :class:`workerset.InternalError`; it also closes the controller that it happened in.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias, final, type_check_only

from typing_extensions import Self

__all__ = [
    "AdmissionConfig",
    "AdmissionController",
    "Apply",
    "Blocked",
    "BuildBlocked",
    "BuildCommitted",
    "BuildRetry",
    "BuildSpec",
    "BuildToken",
    "BuildVerdict",
    "CancelBuild",
    "CardDifference",
    "CohortEntry",
    "CohortRejected",
    "Command",
    "Committed",
    "Delete",
    "Event",
    "Fenced",
    "Hop",
    "HopChanged",
    "HopEntry",
    "InPlaceChangeRefused",
    "Inventory",
    "MembersChanged",
    "ModelCard",
    "ModelNotReady",
    "ModelReady",
    "NamespaceFilter",
    "Notice",
    "Readiness",
    "ReadinessUnit",
    "RecordRefused",
    "RefusedEntry",
    "RejectedEntry",
    "Requeued",
    "Reset",
    "Retry",
    "RetryEntry",
    "Route",
    "SourceEntry",
    "StartBuild",
    "Succession",
    "Withdraw",
    "WorkerInfo",
    "WorkerSetEntry",
    "WorkerSetKey",
    "__version__",
    "build_profile",
    "evaluate_readiness",
    "explain",
]

__version__: str
build_profile: Literal["release", "debug"]
"""How the native code was built. Timings of a debug build mean nothing."""

_Profile: TypeAlias = Literal["1.3", "1.4", "1.5", "1.6"]
_WorkerType: TypeAlias = Literal["aggregated", "decode", "encode", "prefill"]
_RouterMode: TypeAlias = Literal[
    "round_robin", "random", "power_of_two_choices", "k_v", "direct", "least_loaded", "device_aware_weighted"
]
_PolicyFiles: TypeAlias = Literal["refuse", "accept"] | frozenset[str] | set[str]
_Json: TypeAlias = Any
Event: TypeAlias = Apply | Delete | Reset
BuildVerdict: TypeAlias = Committed | Fenced | Blocked | Retry | Requeued
Command: TypeAlias = StartBuild | CancelBuild | Withdraw
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
    behind the key, where the source has one (clause I8).
    """

    __match_args__ = ("path", "value", "revision", "created", "incarnation")
    path: Final[str]
    value: Final[bytes | str | None]
    revision: Final[int]
    created: Final[int | None]
    incarnation: Final[str | None]
    def __new__(
        cls,
        path: str,
        value: bytes | str | None,
        revision: int = 0,
        created: int | None = None,
        incarnation: str | None = None,
    ) -> Self: ...

@final
class Delete(_Record):
    """A key is gone. ``path`` and ``revision`` as in :class:`Apply`."""

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
        cls, model: str, namespace: str, component: str, endpoint: str, model_types: str, worker_type: _WorkerType
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

# Cards.

@final
class ModelCard:
    """A decoded model deployment card of one release.

    Frozen; compares and hashes by its bytes, release and decoded content, and pickles. Mappings are new plain dicts on
    every read; the first of them decodes the card into a tree (about 10 us).
    """

    @staticmethod
    def from_json(raw: bytes | str, profile: str = "1.6", router_policy_files: _PolicyFiles = "refuse") -> ModelCard:
        """Decode a card as a release decodes card text (WIRE 0, 1). About 5 us for 2 kB, the checksum included.

        ``profile``: the release, ``"1.3"`` to ``"1.6"``. ``router_policy_files``: see :class:`AdmissionConfig`.
        Raises :class:`CardError` with the field at fault, :class:`ConfigError` for an unknown profile.
        """

    @property
    def mdcsum(self) -> str:
        """The compatibility identity, equal to what the release computes (clause I3, WIRE 2)."""
    @property
    def profile(self) -> _Profile:
        """The release that the card was decoded as."""
    @property
    def raw(self) -> bytes:
        """The bytes that the card was decoded from."""
    @property
    def display_name(self) -> str:
        """Name of the model, or of the adapter."""
    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the model, in the order advertised. Always empty in profile 1.3."""
    @property
    def model_type(self) -> str:
        """What the model can be asked for, as the card's JSON says it: ``Chat | Completions``."""
    @property
    def model_types(self) -> str:
        """The same as keys and routes say it: ``chat|completions``."""
    @property
    def model_input(self) -> Literal["Text", "Tokens", "Tensor"]:
        """What the worker takes."""
    @property
    def worker_type(self) -> _WorkerType | None:
        """The role as advertised; None for a legacy card."""
    @property
    def effective_worker_type(self) -> _WorkerType:
        """The role that counts (WIRE 4): as advertised, else prefill by model type, else aggregated."""
    @property
    def needs(self) -> tuple[tuple[_WorkerType, ...], ...]:
        """Alternatives of roles that must also be there: any one of them, all roles of it."""
    @property
    def kv_cache_block_size(self) -> int:
        """Tokens in a KV cache block."""
    @property
    def context_length(self) -> int:
        """The effective context length, in tokens (WIRE 2.1); 0 if the card says none."""
    @property
    def migration_limit(self) -> int:
        """How often a request may move to another worker."""
    @property
    def router_mode(self) -> _RouterMode | None:
        """The router mode that the card advertises, if it does."""
    @property
    def source_path(self) -> str | None:
        """Where the worker took the model from."""
    @property
    def slug(self) -> str:
        """Name of the model in file names."""
    @property
    def metadata_cache_key(self) -> str:
        """Names the model's metadata in a cache: ``<slug>/<mdcsum>`` (clause I4)."""
    @property
    def lora(self) -> dict[str, Any] | None:
        """What makes the card an adapter's: ``name`` and, if said, ``max_gpu_lora_count``."""
    @property
    def router_config(self) -> dict[str, Any] | None:
        """The advertised router configuration, every default of the release filled in (WIRE 3)."""
    @property
    def runtime_config(self) -> dict[str, Any]:
        """The worker's runtime configuration, every default filled in."""
    @property
    def tokenizer(self) -> dict[str, Any] | None:
        """Kind and file of the tokenizer."""
    @property
    def model_info(self) -> dict[str, Any] | None:
        """Kind and file of the model configuration."""
    @property
    def prompt_formatter(self) -> dict[str, Any] | None:
        """Kind and file of the prompt template."""
    @property
    def chat_template_file(self) -> dict[str, Any] | None:
        """Kind and file of a chat template of its own."""
    @property
    def gen_config(self) -> dict[str, Any] | None:
        """Kind and file of the generation configuration."""
    @property
    def user_data(self) -> _Json:
        """What the worker's operator added: any JSON value."""

    def to_dict(self) -> dict[str, Any]:
        """The decoded card as its release writes it, every default filled in."""

    def projection_fingerprint(self) -> str:
        """64 hex digits that change exactly when adapter projections do (clause L3, WIRE 6)."""

    def normalized(self, tokenizer_backend: str | None = None, tokenizer_fallback: bool | None = None) -> ModelCard:
        """What the discovery boundary makes of the card (WIRE 4 a, b).

        The legacy prefill topology is filled in, and the frontend's tokenizer settings are written over the card's.
        Raises :class:`CardError` for a backend that the release does not know.
        """

    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class CardDifference(_Record):
    """A field that feeds the checksum and is not the same in two cards (clause I5).

    ``field``: path in the card's JSON without enum variants. ``left``, ``right``: the values, defaults filled in; None
    if absent; files show their digest.
    """

    __match_args__ = ("field", "left", "right")
    field: Final[str]
    left: Final[_Json]
    right: Final[_Json]
    def __new__(cls, field: str, left: _Json, right: _Json) -> Self: ...

def explain(a: ModelCard, b: ModelCard) -> tuple[CardDifference, ...]:
    """The differences that feed the checksum, in the order in which they are hashed.

    Empty if and only if the sums are equal. Raises :class:`CardError` for cards of different profiles.
    """

# The controller.

@final
class AdmissionConfig(_Record):
    """Everything that a controller is told when it is made.

    Raises :class:`ConfigError` for a value out of range.

    - ``checksum_profile``: the release whose checksum is computed (clause I7)
    - ``max_concurrent_builds``: builds that run at once, 1 to 1,000,000 (clause S7)
    - ``namespaces``: which namespaces are looked at; default all
    - ``unreachable_grace``: None; this release does not let an unreachable incumbent count as absent (clause S10)
    - ``inhibit_seconds``: how long a report of a worker as down takes it out, 0 to 1e9
    - ``linger_seconds``: how long a model whose last worker left stays known, 0 to 1e9 (clause Y6)
    - ``tokenizer_backend``, ``tokenizer_fallback``: overwrite every card's, never a checksum (WIRE 4 b)
    - ``router_policy_files``: cards may name a policy file that Dynamo would open on the frontend's own disk.
      ``"refuse"`` such cards, ``"accept"`` them, or accept those that name one of a set of paths
    - ``default_router_mode``: the router mode where the selected card advertises none
    """

    __match_args__ = ()
    checksum_profile: Final[_Profile]
    max_concurrent_builds: Final[int]
    namespaces: Final[NamespaceFilter]
    unreachable_grace: Final[None]
    inhibit_seconds: Final[float]
    linger_seconds: Final[float]
    tokenizer_backend: Final[str | None]
    tokenizer_fallback: Final[bool | None]
    router_policy_files: Final[_PolicyFiles]
    default_router_mode: Final[_RouterMode]
    def __new__(
        cls,
        *,
        checksum_profile: _Profile = "1.6",
        max_concurrent_builds: int = 8,
        namespaces: NamespaceFilter = ...,
        unreachable_grace: None = None,
        inhibit_seconds: float = 5.0,
        linger_seconds: float = 60.0,
        tokenizer_backend: str | None = None,
        tokenizer_fallback: bool | None = None,
        router_policy_files: _PolicyFiles = "refuse",
        default_router_mode: _RouterMode = "round_robin",
    ) -> Self: ...

@final
class AdmissionController:
    """Decides who is admitted.

    No I/O, no clock, no threads; never calls back. For any number of threads.

    ``now`` is finite seconds of any one monotonic clock; a value before the last one counts as the last one. Each call
    with ``now`` first lets what is due fall due, by deadline, then order of failure; then does its work; then publishes
    routes, commands and notices in one step (clause D5). Commands are carried out, and builds reported, by the caller.
    Until :meth:`close` the controller keeps committed pipelines alive.
    """

    def __new__(cls, config: AdmissionConfig | None = None) -> Self: ...
    def apply(self, events: Iterable[Event], *, now: float) -> None:
        """Take events, in their order, as one step.

        Cost: about 10 us an event, most of it the decoding, which happens before the controller is locked; from 64
        records on other Python threads run meanwhile. Raises :class:`TypeError` or :class:`ValueError` before anything
        is taken; a record that cannot be decoded is no error (clause R7) but a :class:`RecordRefused`.
        """

    def build_succeeded(self, token: BuildToken, pipeline: object = None, *, now: float) -> BuildVerdict:
        """A build produced a pipeline, any object, or none.

        Returns :class:`Committed`, :class:`Fenced` or :class:`Blocked` (clauses S4, S9). After the latter two the
        caller drops the pipeline; no :class:`Withdraw` follows. Once closed: fenced.
        """

    def build_failed(self, token: BuildToken, reason: str, *, now: float) -> BuildVerdict:
        """A build failed: :class:`Retry` or :class:`Fenced` (clause S7)."""

    def build_cancelled(self, token: BuildToken, *, now: float) -> BuildVerdict:
        """A build was stopped, asked for or not: fenced, or requeued if it was still wanted (clause S7)."""

    def advance(self, *, now: float) -> None:
        """Let time pass."""

    @property
    def next_deadline(self) -> float | None:
        """When :meth:`advance` has something to do next."""

    def poll(self) -> Command | Notice | None:
        """The next command or notice, in order; None when there is none.

        Works after :meth:`close`, which asks for withdrawals.
        """

    def inventory(self, *, now: float) -> Inventory:
        """Everything that is held, at one moment.

        Cost: linear in workers; other Python threads run for the larger part of it.
        """

    def route(self, model: str, model_type: str | None = None, namespace: str | None = None) -> Route:
        """One consistent view for a request for a model, alias or adapter.

        Optionally of one model type, such as ``"chat"``, and of one namespace. Among several serving sets one is drawn,
        weighted by routable workers. Never waits for :meth:`apply`. Cost: linear in the sets of the model, about 1 us.

        Raises :class:`ModelNotFound`, :class:`NotReady` (always, not the former, until the first snapshot; clause Y6),
        :class:`ControllerClosed`.
        """

    def models(self) -> tuple[str, ...]:
        """Names that can be routed now: display names of ready models, their aliases and projected adapters; sorted."""

    def source_changed(self, state: Literal["live", "lost", "ended"], *, now: float) -> None:
        """The connection to discovery changed; nothing is removed (clause D3)."""

    def close(self) -> None:
        """Retire every channel and ask for every pipeline to be dropped.

        Again: no effect. Afterwards :meth:`apply`, :meth:`advance`, :meth:`source_changed`, :meth:`inventory` and
        :meth:`route` raise :class:`ControllerClosed`.
        """

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called, or an :class:`InternalError` had the same effect."""

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

# The inventory. Its ``to_dict()`` is the JSON that the command line and the HTTP surface show.

@final
class Inventory(_Record):
    """Everything that a controller holds, at one moment.

    ``worker_sets``: those that have members, in the order of (model, key text). ``refused``: keys whose newest record
    is not usable, ascending, until a valid apply or a removal.
    """

    __match_args__ = ("profile", "source", "worker_sets", "refused")
    profile: Final[_Profile]
    source: Final[SourceEntry]
    worker_sets: Final[tuple[WorkerSetEntry, ...]]
    refused: Final[tuple[RefusedEntry, ...]]
    def __new__(
        cls,
        profile: _Profile,
        source: SourceEntry,
        worker_sets: tuple[WorkerSetEntry, ...],
        refused: tuple[RefusedEntry, ...],
    ) -> Self: ...

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
    while nothing is committed. ``routable``: those of them that picks may yield. ``inhibited``: ids that are taken out
    for a while. ``unreachable``: whether all are. ``adapters``: instance keys of those that apply (clause L2);
    ``unprojected``: those that would, but their name is taken (clause S9). ``retry``: while retrying or blocked.
    ``blocked_by``: the model that holds the name. ``hops``: ``prefill`` and ``encode`` of this set's model and
    namespace.
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

# Routing. Nothing here waits for a controller.

@final
class Route:
    """Where one request may go: one consistent view. It stays valid, and its hops live, while the binding does."""

    @property
    def model(self) -> str:
        """Display name of the model."""
    @property
    def namespace(self) -> str:
        """Namespace of the serving set."""
    @property
    def generation(self) -> int:
        """Generation of the binding that serves."""
    @property
    def card(self) -> ModelCard:
        """The selected card (clause H3)."""
    @property
    def pipeline(self) -> Any:
        """What the build handed in, the same object; None if it handed in none."""
    @property
    def adapter(self) -> str | None:
        """The adapter, when its name was asked for: every hop is limited to workers that carry it."""
    @property
    def decode(self) -> Hop:
        """Decode or aggregated workers."""
    @property
    def prefill(self) -> Hop | None:
        """Prefill workers, when the hop exists (clause H7)."""
    @property
    def encode(self) -> Hop | None:
        """Encode workers, when the hop exists (clause H7)."""

@final
class Hop:
    """The live set of worker ids of one binding: admitted and discovered (clause H2).

    Membership changes reach it without a new object; when its generation is over it never yields an id again (clause
    S5). True even while empty. Two are equal if they are one hop.

    Picks cost well under 1 us and raise :class:`NoRoutableWorkers` or :class:`BindingRetired`.
    """

    def pick(self) -> int:
        """One id, by :attr:`router_mode`. Raises :class:`RoutingError` itself where that is ``direct``."""

    def pick_except(self, ids: Iterable[int]) -> int:
        """One id that is not among these: for a retry elsewhere.

        Cost: linear in these, times the workers when most are excluded.
        """

    def pick_direct(self, id: int) -> int:
        """The id that the caller chose elsewhere, if it is routable here."""

    def pick_many(self, count: int) -> list[int]:
        """As many picks, one after the other; ids repeat where the policy repeats them."""

    def ids(self) -> tuple[int, ...]:
        """All routable ids at a batch boundary, ascending; empty when retired. Cost: O(n log n)."""

    def worker(self, id: int) -> WorkerInfo | None:
        """The worker behind a routable id."""

    @property
    def generation(self) -> int:
        """Generation of the binding (clause H4)."""
    @property
    def mdc_checksum(self) -> str:
        """The cohort's checksum."""
    @property
    def worker_set(self) -> WorkerSetKey:
        """The set."""
    @property
    def card(self) -> ModelCard:
        """The selected card (clause H3)."""
    @property
    def router_mode(self) -> _RouterMode:
        """The selected card's, or the configured default."""
    @property
    def kv_cache_block_size(self) -> int:
        """Tokens in a KV cache block, by the selected card."""
    @property
    def retired(self) -> bool:
        """Whether the hop's generation is over (clause S5)."""

    def __contains__(self, id: object, /) -> bool: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> Literal[True]: ...
    def __hash__(self) -> int: ...

@final
class WorkerInfo(_Record):
    """One admitted and discovered worker.

    ``transport``: how its endpoint record says it is reached, any JSON value. ``card``: its own; fields that the
    checksum does not see may differ between members.
    """

    __match_args__ = ("instance_id", "transport", "card")
    instance_id: Final[int]
    transport: Final[_Json]
    card: Final[ModelCard]
    def __new__(cls, instance_id: int, transport: _Json, card: ModelCard) -> Self: ...

# Readiness.

@final
class ReadinessUnit(_Record):
    """One registered set, as a readiness evaluation sees it.

    ``worker_type``: None for a legacy card. ``live``: workers that serve now, a count. ``needs``: alternatives of
    worker types, one of which must be wholly present.
    """

    __match_args__ = ("worker_type", "live", "needs")
    worker_type: Final[_WorkerType | None]
    live: Final[int]
    needs: Final[tuple[tuple[_WorkerType, ...], ...]]
    def __new__(
        cls, worker_type: _WorkerType | None, live: int, needs: Sequence[Sequence[_WorkerType]] = ()
    ) -> Self: ...

@final
class Readiness(_Record):
    """The verdict over all units of one model and namespace.

    ``has_legacy``: then nothing counts as missing. ``present``, ``missing``, ``ambiguous``: worker types, ascending;
    ambiguous ones have more than one live unit, which is reported and gates nothing.
    """

    __match_args__ = ("ready", "has_legacy", "legacy_live", "present", "missing", "ambiguous")
    ready: Final[bool]
    has_legacy: Final[bool]
    legacy_live: Final[bool]
    present: Final[tuple[_WorkerType, ...]]
    missing: Final[tuple[_WorkerType, ...]]
    ambiguous: Final[tuple[_WorkerType, ...]]
    def __new__(
        cls,
        ready: bool,
        has_legacy: bool,
        legacy_live: bool,
        present: tuple[_WorkerType, ...],
        missing: tuple[_WorkerType, ...],
        ambiguous: tuple[_WorkerType, ...],
    ) -> Self: ...

def evaluate_readiness(units: Sequence[ReadinessUnit]) -> Readiness:
    """Evaluate units in any order (clause Y2). Cost: linear in units and their needs."""
