"""Everything that workerset raises.

::

    WorkerSetError
    +-- ConfigError (ValueError)             the caller: an option is out of range
    +-- CardError (ValueError)               the input: a card that cannot be decoded
    +-- ControllerClosed (RuntimeError)      the caller: used after ``close()``
    +-- RoutingError
    |   +-- ModelNotFound (LookupError)      the caller: no worker ever offered that name
    |   +-- NotReady                         the world: known, but nothing is committed that can serve it
    |   |   +-- NoRoutableWorkers            the world: committed, but no worker can take a request now
    |   +-- BindingRetired                   the world: this hop's generation is over
    +-- DiscoveryError (ConnectionError)     the world: the discovery backend cannot be reached or read
    |   +-- DiscoveryAuthError (PermissionError)
    |   +-- DiscoveryTimeout (TimeoutError)
    +-- InternalError (RuntimeError)         workerset itself: a broken invariant

What the admission contract calls normal (a rejected worker, a fenced build, a model that is not ready in an inventory)
is a value and never one of these. Every class says in ``caused_by`` whose doing it is and in ``retryable`` whether the
same call may succeed later without a change by its caller. All of them pickle with their attributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from ._text import clip, duration, named

if TYPE_CHECKING:
    from ._native import WorkerSetEntry, _Asked

    _Cause: TypeAlias = Literal["caller", "input", "world", "library"]

__all__ = [
    "BindingRetired",
    "CardError",
    "ConfigError",
    "ControllerClosed",
    "DiscoveryAuthError",
    "DiscoveryError",
    "DiscoveryTimeout",
    "InternalError",
    "ModelNotFound",
    "NoRoutableWorkers",
    "NotReady",
    "RoutingError",
    "WorkerSetError",
]


class WorkerSetError(Exception):
    """Base of all exceptions of this library.

    Never raised itself.

    Attributes:
        caused_by: ``"caller"``, ``"input"``, ``"world"`` or ``"library"``.
        retryable: whether the same call may succeed later.

    """

    caused_by: ClassVar[_Cause] = "library"
    retryable: ClassVar[bool] = False


class ConfigError(WorkerSetError, ValueError):
    """An option has a value that it cannot have.

    Caused by the caller; a retry does not help.

    Attributes:
        field: name of the option.
        reason: what was given and what is allowed.

    """

    caused_by: ClassVar[_Cause] = "caller"

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field = field
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


class CardError(WorkerSetError, ValueError):
    """A card cannot be decoded, or two cards cannot be compared.

    Caused by the input; a retry does not help.

    Attributes:
        reason: what is wrong, with the value where it is short.
        field: path in the card's JSON, dots between names, ``[n]`` for list items; empty when the whole text is at
            fault.

    """

    caused_by: ClassVar[_Cause] = "input"

    def __init__(self, reason: str, field: str = "") -> None:
        super().__init__(reason, field)
        self.reason = reason
        self.field = field

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}" if self.field else self.reason


class ControllerClosed(WorkerSetError, RuntimeError):
    """The controller was closed, by ``close()`` or by an :class:`InternalError`.

    Caused by the caller; a retry does not help.
    """

    caused_by: ClassVar[_Cause] = "caller"

    def __init__(self, reason: str = "the controller is closed") -> None:
        super().__init__(reason)


class RoutingError(WorkerSetError):
    """Base of what ``route()`` and picks raise.

    Raised itself by a pick on a hop whose router mode is ``direct``: there the caller chooses, with ``pick_direct``.
    Caused by the world, except then; see the classes for whether a retry helps.

    Attributes:
        model: the name that was asked for, or the model of the hop.

    """

    caused_by: ClassVar[_Cause] = "world"

    def __init__(self, model: str, *args: object) -> None:
        super().__init__(model, *args)
        self.model = model

    def __str__(self) -> str:
        return ": ".join(clip(str(part)) for part in self.args)


class ModelNotFound(RoutingError, LookupError):
    """No model, alias or adapter has that name.

    Caused by the caller; a retry helps only once such a worker registers.

    Attributes:
        model: the name that was asked for.

    """

    caused_by: ClassVar[_Cause] = "caller"

    def __init__(self, model: str) -> None:
        super().__init__(model)

    def __str__(self) -> str:
        return f"no model, alias or adapter is named {named(self.model)}"


class NotReady(RoutingError):
    """The model is known and cannot serve a request now.

    Caused by the world; a retry helps.

    Attributes:
        model: the model that the asked name stands for, or the model of the hop.

    """

    retryable = True

    def __init__(
        self, model: str, reasons: tuple[str, ...] | _Asked, worker_sets: tuple[WorkerSetEntry, ...] = ()
    ) -> None:
        super().__init__(model)
        self._reasons = reasons
        self._worker_sets = worker_sets if isinstance(reasons, tuple) else reasons

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, a sentence each; never empty.

        A failing ``route()`` costs no texts: they are made when this or the message is read first, as things are then.
        """
        if not isinstance(self._reasons, tuple):
            self._reasons = self._reasons.reasons() or ("it was not when it was asked for, and is by now",)
        return self._reasons

    @property
    def worker_sets(self) -> tuple[WorkerSetEntry, ...]:
        """The inventory entries of that model, in inventory order; empty where it has none, and for hops.

        ``route()`` never waits for the controller, so they are taken when this is first read, which costs an inventory.
        """
        if not isinstance(self._worker_sets, tuple):
            self._worker_sets = self._worker_sets.worker_sets()
        return self._worker_sets

    def __str__(self) -> str:
        return f"model {named(self.model)} is not ready: {'; '.join(self.reasons)}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({named(self.model)}, {self.reasons!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        read = {"_reasons": self.reasons, "_worker_sets": self.worker_sets}
        return type(self), (self.model, self.reasons), vars(self) | read


class NoRoutableWorkers(NotReady):
    """The hop is live and none of its workers can take the request.

    Caused by the world; a retry helps.

    Attributes:
        admitted: workers of the incumbent cohort, a count.
        discovered: how many of them have an endpoint record.
        routable: how many of those are not inhibited; not 0 where all of them were excluded, or the chosen one is not
            among them.
        next_release: when the next inhibition ends, in seconds of the controller's clock; None if none is running.
        release_in: how long that is from now, in seconds.

    """

    def __init__(
        self,
        model: str,
        reasons: tuple[str, ...],
        worker_sets: tuple[WorkerSetEntry, ...] = (),
        *,
        admitted: int = 0,
        discovered: int = 0,
        routable: int = 0,
        next_release: float | None = None,
        release_in: float | None = None,
    ) -> None:
        super().__init__(model, reasons, worker_sets)
        self.admitted = admitted
        self.discovered = discovered
        self.routable = routable
        self.next_release = next_release
        self.release_in = release_in

    def __str__(self) -> str:
        release = "" if self.release_in is None else f", next release in {duration(self.release_in)}"
        counts = f"admitted {self.admitted}, discovered {self.discovered}, routable {self.routable}{release}"
        return f"model {named(self.model)} has no routable worker: {'; '.join(self.reasons)} ({counts})"


class BindingRetired(RoutingError):
    """The hop's generation is over: succession, withdrawal or close (clause S5).

    Caused by the world; the same hop never works again, a new ``route()`` may.

    Attributes:
        model: the model of the hop.
        generation: the generation that is over.

    """

    def __init__(self, model: str, generation: int) -> None:
        super().__init__(model, generation)
        self.generation = generation

    def __str__(self) -> str:
        return f"generation {self.generation} of model {named(self.model)} is retired: ask for a new route"


class DiscoveryError(WorkerSetError, ConnectionError):
    """The discovery backend cannot be reached, or answers what cannot be read.

    Caused by the world; a retry helps.

    Attributes:
        reason: what happened.
        url: the backend, without credentials; empty when unknown.

    """

    caused_by: ClassVar[_Cause] = "world"
    retryable = True

    def __init__(self, reason: str, *, url: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.url = url

    def __str__(self) -> str:
        return f"{self.url}: {self.reason}" if self.url else self.reason


class DiscoveryAuthError(DiscoveryError, PermissionError):
    """The backend refuses our credentials or rights.

    Caused by the world; a retry needs a person first.

    Attributes:
        reason: what was refused.
        url: the backend, without credentials; empty when unknown.

    """

    retryable = False


class DiscoveryTimeout(DiscoveryError, TimeoutError):
    """The backend did not answer in time.

    Caused by the world; a retry helps.

    Attributes:
        reason: what was waited for, and how long.
        url: the backend, without credentials; empty when unknown.

    """


class InternalError(WorkerSetError, RuntimeError):
    """workerset broke one of its own invariants.

    Please report it. The controller that raised it is closed; a retry does not help, a new controller may.

    Attributes:
        reason: the broken invariant.

    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
