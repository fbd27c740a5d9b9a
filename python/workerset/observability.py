"""Notices as log records and as bounded streams."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workerset._log import Log
from workerset._native import (
    BuildBlocked,
    BuildCommitted,
    BuildRetry,
    CohortRejected,
    HopChanged,
    InPlaceChangeRefused,
    MembersChanged,
    ModelNotReady,
    ModelReady,
    RecordRefused,
    Succession,
)
from workerset._text import REASON, clip, duration, listed, named, plain

if TYPE_CHECKING:
    from workerset._native import Notice, WorkerSetKey

_log = Log("workerset.admission")


def log_notice(notice: Notice, at_most: int = logging.ERROR) -> None:
    """Log a notice to `workerset.admission` (clause S6 for rejections).

    The message tells all of it. The record also carries, always all of them and None where they do not apply: `event`
    (the notice's class name), `model`, `worker_set` (text of its key), `incumbent_checksum`, `rejected_checksum`,
    `instance`, `members` (a count), `differs` (a tuple of field names), `generation`.

    ERROR: `CohortRejected`, `InPlaceChangeRefused`, `RecordRefused`. WARNING: `BuildRetry`, `BuildBlocked`,
    `Succession`, `ModelNotReady`, an absent hop. INFO: the rest.

    Args:
        notice: the notice.
        at_most: the highest level that it is logged at; DEBUG while a frontend closes, for then it is no news.

    """
    level = min(_level(notice), at_most)
    if _log.is_enabled(level):
        _log.write(level, describe(notice), extra=_fields(notice))


def describe(notice: Notice) -> str:
    """The notice as one line, complete by itself.

    Whatever of it was written by others (keys, names, reasons) cannot begin another line: see `plain`.
    """
    return plain(_sentence(notice))


@dataclass(frozen=True, slots=True)
class Lagged:
    """Stands in a subscription for notices that were dropped because the reader was too slow.

    Attributes:
        missed: how many, at least 1. They were older than everything that follows.

    """

    missed: int


class Subscription:
    """Notices as they come, for one reader. An async iterator; ends when its frontend closes.

    Args:
        limit: how many notices wait for the reader at most; then the oldest make room, and the reader gets `Lagged`
            first.

    """

    def __init__(self, limit: int) -> None:
        self._waiting: deque[Notice] = deque()
        self._limit = limit
        self._missed = 0
        self._ended = False
        self._wake = asyncio.Event()

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Notice | Lagged:
        while not self._waiting:
            if self._ended:
                raise StopAsyncIteration
            self._wake.clear()
            await self._wake.wait()
        if self._missed:
            missed, self._missed = self._missed, 0
            return Lagged(missed)
        return self._waiting.popleft()

    def push(self, notice: Notice) -> None:
        """Hand a notice to the reader. Never waits."""
        if len(self._waiting) == self._limit:
            self._waiting.popleft()
            self._missed += 1
        self._waiting.append(notice)
        self._wake.set()

    def abandon(self) -> None:
        """End the iteration in a forked child; nobody is woken there."""
        self._waiting.clear()
        self._ended = True

    def end(self) -> None:
        """End the iteration after what is waiting."""
        self._ended = True
        self._wake.set()


def _sentence(notice: Notice) -> str:  # noqa: C901, PLR0911  # one case a notice
    match notice:
        case CohortRejected():
            differs = listed(notice.differs) or "nothing that is known"
            return (
                f"rejected {_count(notice.members, 'worker')} of model {named(notice.model)}: their cards differ from "
                f"the incumbent's in {differs}; {_set(notice.worker_set)} "
                f"incumbent_checksum={notice.incumbent_checksum} "
                f"rejected_checksum={notice.rejected_checksum} instance={clip(notice.instance)}"
            )
        case RecordRefused():
            return f"refused the record {clip(notice.key)}: {clip(notice.reason, REASON)}"
        case InPlaceChangeRefused():
            return (
                f"refused a change in place of {clip(notice.key)}: {clip(notice.reason, REASON)}; "
                "the first registration stays; "
                f"{_set(notice.worker_set)} stored_checksum={notice.stored_checksum} "
                f"refused_checksum={notice.refused_checksum}"
            )
        case BuildCommitted():
            return f"{_build(notice)} is committed; {_set(notice.token.worker_set)}"
        case BuildRetry():
            return (
                f"{_build(notice)} failed ({_count(notice.attempt, 'time')} in a row): {clip(notice.reason, REASON)}; "
                f"tried again in {duration(notice.delay)}; {_set(notice.token.worker_set)}"
            )
        case BuildBlocked():
            return (
                f"{_build(notice)} is blocked: the name {named(notice.name)} is held by model {named(notice.owner)}; "
                f"tried again in {duration(notice.delay)} (attempt {notice.attempt}); "
                f"{_set(notice.token.worker_set)}"
            )
        case MembersChanged():
            changes = [_ids(word, ids) for word, ids in (("joined", notice.joined), ("left", notice.left)) if ids]
            holder = "nobody is left" if notice.mdc_checksum is None else f"mdc_checksum={notice.mdc_checksum}"
            return f"workers of model {named(notice.model)}: {', '.join(changes)}; {holder} {_set(notice.worker_set)}"
        case Succession():
            retired = "none" if notice.retired_generation is None else str(notice.retired_generation)
            return (
                f"succession in model {named(notice.model)}: {_count(notice.members, 'worker')} took over; "
                f"{_set(notice.worker_set)} retired_checksum={notice.retired_checksum} "
                f"retired_generation={retired} incumbent_checksum={notice.incumbent_checksum}"
            )
        case HopChanged():
            state = "is active" if notice.active else f"is absent: {clip(notice.reason, REASON)}"
            return f"the {notice.hop} hop of model {named(notice.model)} in namespace {named(notice.namespace)} {state}"
        case ModelReady():
            return f"model {named(notice.model)} is ready"
        case ModelNotReady():
            return f"model {named(notice.model)} is not ready"


def _level(notice: Notice) -> int:
    match notice:
        case CohortRejected() | InPlaceChangeRefused() | RecordRefused():
            return logging.ERROR
        case BuildRetry() | BuildBlocked() | Succession() | ModelNotReady():
            return logging.WARNING
        case HopChanged():
            return logging.INFO if notice.active else logging.WARNING
        case _:
            return logging.INFO


def _fields(notice: Notice) -> dict[str, Any]:
    fields: dict[str, Any] = dict.fromkeys(
        (
            "model",
            "worker_set",
            "incumbent_checksum",
            "rejected_checksum",
            "instance",
            "members",
            "differs",
            "generation",
        )
    )
    match notice:
        case CohortRejected():
            fields |= {
                "model": notice.model,
                "worker_set": str(notice.worker_set),
                "incumbent_checksum": notice.incumbent_checksum,
                "rejected_checksum": notice.rejected_checksum,
                "instance": notice.instance,
                "members": notice.members,
                "differs": notice.differs,
            }
        case RecordRefused():
            fields |= {"instance": notice.key}
        case InPlaceChangeRefused():
            fields |= {
                "model": notice.model,
                "worker_set": str(notice.worker_set),
                "incumbent_checksum": notice.stored_checksum,
                "rejected_checksum": notice.refused_checksum,
                "instance": notice.key,
            }
        case BuildCommitted() | BuildRetry() | BuildBlocked():
            token = notice.token
            fields |= {
                "model": token.model,
                "worker_set": str(token.worker_set),
                "incumbent_checksum": token.mdc_checksum,
                "generation": token.generation,
            }
        case MembersChanged():
            fields |= {
                "model": notice.model,
                "worker_set": str(notice.worker_set),
                "incumbent_checksum": notice.mdc_checksum,
            }
        case Succession():
            fields |= {
                "model": notice.model,
                "worker_set": str(notice.worker_set),
                "incumbent_checksum": notice.incumbent_checksum,
                "members": notice.members,
                "generation": notice.retired_generation,
            }
        case HopChanged() | ModelReady() | ModelNotReady():
            fields |= {"model": notice.model}
    return {"event": type(notice).__name__} | fields


def _set(worker_set: WorkerSetKey) -> str:
    return f"worker_set={clip(str(worker_set))}"


def _build(notice: BuildCommitted | BuildRetry | BuildBlocked) -> str:
    token = notice.token
    return f"generation {token.generation} of model {named(token.model)} ({token.mdc_checksum})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _ids(word: str, ids: tuple[int, ...]) -> str:
    shown = " ".join(f"{instance_id:x}" for instance_id in ids[:_SHOWN_IDS])
    return f"{word} {shown}" if len(ids) <= _SHOWN_IDS else f"{word} {len(ids)} ({shown} ...)"


_SHOWN_IDS = 20
