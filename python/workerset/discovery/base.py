"""What a source of discovery records offers.

An adapter hands on what the backend stores: paths and bytes. It never looks into a card (the controller decodes), never
reorders, and never decides that a worker is gone because the backend cannot be reached. A value that is too large is
handed on as refused (`Apply.refused`), unread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from workerset.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from workerset._native import Event, Filtered, Reset

MAX_RECORD_BYTES = 4 << 20
"""What an adapter reads of a record at most, unless it is told otherwise: as `AdmissionConfig.max_record_bytes`."""


def too_large(size: int, limit: int) -> str:
    """Why a record is refused by its size. In the words of the controller, which has the same bound."""
    return f"it has {size} bytes, more than the {limit} of max_record_bytes"


def check_limit(max_record_bytes: int) -> None:
    """Raise ConfigError unless the bound lets something through."""
    if max_record_bytes < 1:
        raise ConfigError("max_record_bytes", f"{max_record_bytes} is less than 1")


class Discovery(Protocol):
    """A source of records.

    One object may be iterated more than once, also at the same time; every iteration tells the whole story from its own
    first `Reset` on. All methods belong to one event loop.
    """

    def batches(self) -> AsyncIterator[Sequence[Event]]:
        """Yield what is seen, in order; each item is meant for one `AdmissionController.apply` call.

        The first item that holds events holds a `Reset`, and so does the first one after any gap (clause D4). An empty
        item says that nothing changed but the state of the source (see `SourceReporting`). The iterator never ends on
        an error of its own: it reports the loss, keeps trying, and comes back with a `Reset`. A regular end means that
        nothing will ever follow.
        """
        ...

    async def snapshot(self) -> Reset:
        """List everything once, every value included. Its `as_of` is taken before the listing starts (clause D2).

        Raises:
            DiscoveryError: the source cannot be read now; a later call may succeed.

        """
        ...

    async def aclose(self) -> None:
        """Free what the adapter holds, and end its iterations. Calling it twice is harmless."""
        ...


@dataclass(frozen=True, slots=True)
class SourceState:
    """Whether the source can be read.

    Attributes:
        state: `lost` before the first listing and while the source cannot be read; then nothing is removed (clause D3).
        reason: why it is lost, for people; empty when live.

    """

    state: Literal["live", "lost"]
    reason: str = ""


@runtime_checkable
class SourceReporting(Protocol):
    """An adapter that tells when its source is lost.

    Optional: a driver takes a `Discovery` without it to be live as long as its iterator neither raises nor ends. With
    it, the driver looks at `source` after every item of `batches`, empty ones included, and tells the controller.
    """

    @property
    def source(self) -> SourceState:
        """The state as of the newest item that `batches` yielded."""
        ...


@runtime_checkable
class FilterReporting(Protocol):
    """An adapter that tells what it saw and did not pass on. Optional; `Frontend.inventory` shows it."""

    def filtered(self) -> tuple[Filtered, ...]:
        """What is kept back now, by key, with the reason; `since` in seconds of `time.monotonic`. From any thread."""
        ...


class Publisher(Protocol):
    """What writes the records of one worker into a backend. `register` drives it; one call at a time.

    Attributes:
        interval: seconds from one sign of life to the next.

    """

    interval: float

    async def identity(self) -> int:
        """An instance id that nobody had before, for everything that is created next."""
        ...

    async def create(self, path: str, value: bytes) -> None:
        """Write a new record. From now on it belongs to this publisher.

        Raises:
            DiscoveryError: the backend refuses or cannot be reached, here and in the other methods.

        """
        ...

    async def replace(self, path: str, value: bytes) -> None:
        """Write another value to a record that belongs to this publisher."""
        ...

    async def remove(self, path: str) -> None:
        """Remove one record. If it is gone already, all the better."""
        ...

    async def keep(self) -> bool:
        """Give a sign of life for every record. False: one of them is gone, somebody swept it."""
        ...

    async def withdraw(self, *, last: bool = False) -> None:
        """Remove all records that belong to this publisher, the newest first.

        Args:
            last: nothing may be created any more, not even by a call that was cancelled on its way.

        """
        ...
