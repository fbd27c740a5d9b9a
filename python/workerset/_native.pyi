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
from typing import Any, Final, Literal, final

from typing_extensions import Self

from workerset._cards import CardDifference, ModelCard, explain
from workerset._inventory import (
    BuildsEntry,
    CohortEntry,
    Filtered,
    HopEntry,
    Inventory,
    RefusedEntry,
    RejectedEntry,
    RetryEntry,
    SourceEntry,
    WorkerSetEntry,
)
from workerset._notices import (
    BuildBlocked,
    BuildCommitted,
    BuildRetry,
    CohortRejected,
    HopChanged,
    InPlaceChangeRefused,
    MembersChanged,
    ModelNotReady,
    ModelReady,
    Notice,
    RecordRefused,
    Succession,
)
from workerset._values import (
    Apply,
    Blocked,
    BuildSpec,
    BuildToken,
    BuildVerdict,
    CancelBuild,
    Command,
    Committed,
    Delete,
    Event,
    Fenced,
    NamespaceFilter,
    Requeued,
    Reset,
    Retry,
    StartBuild,
    Withdraw,
    WorkerSetKey,
    _Json,
    _Profile,
    _Record,
    _RouterMode,
    _WorkerType,
)

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
    "BuildsEntry",
    "CancelBuild",
    "CardDifference",
    "CohortEntry",
    "CohortRejected",
    "Command",
    "Committed",
    "Delete",
    "Event",
    "Fenced",
    "Filtered",
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

def _duration(seconds: float, /) -> str:
    """A duration for people: ``1.0 s``, ``12 s``, ``5 min``, ``3.5 h``, ``2.5 days``."""

build_profile: Literal["release", "debug"]
"""How the native code was built. Timings of a debug build mean nothing."""

# The controller.

@final
class AdmissionConfig(_Record):
    """Everything that a controller is told when it is made.

    Raises :class:`ConfigError` for a value out of range.

    - ``checksum_profile``: the release whose checksum is computed (clause I7)
    - ``max_concurrent_builds``: builds that run at once, 1 to 1,000,000 (clause S7)
    - ``max_record_bytes``: a larger record is refused without a look at it, 1 to 1 GiB; default 4 MiB (etcd takes 1.5)
    - ``namespaces``: which namespaces are looked at; default all
    - ``linger_seconds``: how long a model whose last worker left stays known, 0 to 1e9 (clause Y6)
    - ``tokenizer_backend``, ``tokenizer_fallback``: overwrite every card's, never a checksum (WIRE 4 b)
    - ``router_policy_files``: cards may name a policy file that Dynamo would open on the frontend's own disk.
      ``"refuse"`` such cards, ``"accept"`` them, or accept those that name one of a set of paths
    - ``default_router_mode``: the router mode where the selected card advertises none
    """

    __match_args__ = ()
    checksum_profile: Final[_Profile]
    max_concurrent_builds: Final[int]
    max_record_bytes: Final[int]
    namespaces: Final[NamespaceFilter]
    linger_seconds: Final[float]
    tokenizer_backend: Final[str | None]
    tokenizer_fallback: Final[bool | None]
    router_policy_files: Final[Literal["refuse", "accept"] | frozenset[str]]
    default_router_mode: Final[_RouterMode]
    def __new__(
        cls,
        *,
        checksum_profile: str = "1.6",
        max_concurrent_builds: int = 8,
        max_record_bytes: int = 4_194_304,
        namespaces: NamespaceFilter = ...,
        linger_seconds: float = 60.0,
        tokenizer_backend: str | None = None,
        tokenizer_fallback: bool | None = None,
        router_policy_files: str | frozenset[str] | set[str] = "refuse",
        default_router_mode: str = "round_robin",
    ) -> Self: ...

@final
class AdmissionController:
    """Decides who is admitted.

    No I/O, no clock, no threads; never calls back. For any number of threads.

    ``now`` is finite seconds of any one monotonic clock; a value before the last one counts as the last one. Each call
    with ``now`` first lets what is due fall due, by deadline, then order of failure; then does its work; then publishes
    routes, commands and notices in one step (clause D5). Commands are carried out, and builds reported, by the caller.
    Until :meth:`close` the controller keeps committed pipelines alive. ``build_timeout``: seconds after which the
    caller ends a build, for the texts about one that runs.
    """

    def __new__(cls, config: AdmissionConfig | None = None, *, build_timeout: float | None = None) -> Self: ...
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
        """A build failed: :class:`Retry` or :class:`Fenced` (clause S7). Lone surrogates in the reason are escaped."""

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

    def inventory(self, *, now: float, filtered: Sequence[Filtered] = ()) -> Inventory:
        """Everything that is held, at one moment, and what the source did not pass on.

        Cost: linear in workers; other Python threads run for the larger part of it.
        """

    def route(self, model: str, model_type: str | None = None, namespace: str | None = None) -> Route:
        """One consistent view for a request for a model, alias or adapter.

        Optionally of one model type, such as ``"chat"``, and of one namespace. Among several serving sets one is drawn,
        weighted by routable workers. Never waits for :meth:`apply`. Cost: about 1 us, linear in the namespaces of the
        model that can serve; about as much, whatever the size, when there is no route.

        A text with a lone surrogate equals no name, model type or namespace. Raises :class:`ModelNotFound`,
        :class:`NotReady` (always, not the former, until the first snapshot; clause Y6), :class:`ControllerClosed`.
        """

    def models(self) -> tuple[str, ...]:
        """Names of ready models: display names, their aliases and projected adapters; sorted.

        An adapter whose carriers are gone for the moment, or missing on a required hop, is listed and not ready.
        """

    def _set_reason(self, worker_set: WorkerSetKey, /) -> str | None:
        """Why a set serves nothing now; None if it serves, or is unknown."""

    def _begin_wait(self, model: str, model_type: str | None, namespace: str | None, unknown_ok: bool, /) -> int:
        """Begin to wait for a route, and return a ticket. Ask for the route afterwards: nothing falls between.

        Cost of a change: O(log waits) for each wait that it may end, whoever else waits.
        """

    def _give_up_wait(self, ticket: int, /) -> None:
        """End a wait; a ticket that was told has no effect."""

    def _ended_waits(self) -> list[int]:
        """Tickets whose route is there now, or whose name is unknown (unless `unknown_ok`); each is told once."""

    def _abandon(self, reason: str, /) -> None:
        """End everything in a forked child: every call raises, every hop is retired. Waits for no lock."""

    def source_changed(self, state: str, *, now: float) -> None:
        """The connection to discovery is ``live``, ``lost`` or ``ended`` now; nothing is removed (clause D3)."""

    def close(self) -> None:
        """Retire every channel and ask for every pipeline to be dropped.

        Again: no effect. Afterwards :meth:`apply`, :meth:`advance`, :meth:`source_changed`, :meth:`inventory` and
        :meth:`route` raise :class:`ControllerClosed`.
        """

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called, or an :class:`InternalError` had the same effect."""

# Routing. Nothing here waits for a controller.

@final
class _Asked:
    """A request that found no route."""

    def reasons(self) -> tuple[str, ...]:
        """Why there is none now; empty if there is one by now. Cost: linear in the sets of the model."""

    def worker_sets(self) -> tuple[WorkerSetEntry, ...]:
        """The inventory entries of the model."""

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
        """One id: at random where :attr:`router_mode` is ``random``, else round robin. Cost: O(1), no lock.

        Modes that weigh workers by load (``least_loaded``, ``power_of_two_choices``, ``k_v``,
        ``device_aware_weighted``) go round robin too: this release counts no requests in flight. Raises
        :class:`RoutingError` itself where the mode is ``direct``.
        """

    def pick_except(self, ids: Iterable[int]) -> int:
        """One id that is not among these: for a retry elsewhere. An integer that is no id excludes nobody.

        Cost: linear in these, times the workers when most are excluded.
        """

    def pick_direct(self, id: int) -> int:
        """The id that the caller chose elsewhere, if it is routable here; any integer may be asked for."""

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
