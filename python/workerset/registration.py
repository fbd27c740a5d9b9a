"""Publishing a worker, beside a process that does not speak Dynamo or in a test."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, final

from workerset._log import Log
from workerset._native import ModelCard
from workerset.discovery._open import publisher
from workerset.discovery._worker_records import (
    Place,
    adapter_suffix,
    check_card,
    check_endpoint,
    read_card,
    with_taints,
)
from workerset.errors import ConfigError, DiscoveryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from workerset.discovery.base import Publisher
    from workerset.discovery.memory import MemoryDiscovery

Card: TypeAlias = ModelCard | Mapping[str, Any] | str | bytes
Transport: TypeAlias = str | Mapping[str, object] | Callable[[int], Mapping[str, object]]

_log = Log("workerset.registration")


@asynccontextmanager
async def register(
    url: str | MemoryDiscovery,
    *,
    card: Card,
    namespace: str,
    component: str,
    endpoint: str,
    transport: Transport,
    ttl: float = 10.0,
    device_type: str | None = None,
    request_plane_codec: str | None = None,
) -> AsyncIterator[RegisteredWorker]:
    """Publish a worker for as long as the block runs, with the records that a Dynamo worker writes.

    The endpoint record appears before the card and goes after it. Every third of `ttl` the worker gives a sign of life
    and looks whether its records are still there; when somebody swept one, it takes back the rest and publishes
    everything under a new instance id (see `RegisteredWorker.renewed`), for a key names one incarnation only (clause
    I8). A process that dies leaves files behind, which expire: readers and Dynamo's own processes see to that.

    Args:
        url: as for `discovery.open`: `file:///dir`, or `memory:name` in the same process. Or a `MemoryDiscovery`.
        card: a `ModelCard`, a mapping, or JSON text, of a base model. It is published as the text it is; a mapping as
            compact JSON. Read as release 1.6, a `ModelCard` as its own profile.
        namespace: where the worker serves, as are `component` and `endpoint`: texts without slashes.
        component: see `namespace`.
        endpoint: see `namespace`.
        transport: how to reach it, as clients of the request plane expect it: the record's JSON object; or a function
            that makes it from an instance id; or `host:port`, for what Dynamo writes for TCP, an object `tcp` with
            `host:port/<id in hex>/namespace/component/endpoint`.
        ttl: seconds without a sign of life after which readers take the worker for gone. Dynamo's own processes take
            10, whatever is said here, so more is of no use in a store that they share.
        device_type: written into the endpoint record if given; Dynamo writes `cuda`.
        request_plane_codec: likewise; Dynamo writes `msgpack`.

    Raises:
        CardError: no frontend would take the card. Nothing is written.
        ConfigError: another argument is at fault. Nothing is written.
        DiscoveryError: the backend cannot be written.

    """
    if not 0.0 < ttl < float("inf"):
        raise ConfigError("ttl", f"{ttl!r} is not a positive number of seconds")
    writer = publisher(url, ttl) if isinstance(url, str) else url.publisher(ttl)
    place = Place(namespace, component, endpoint)
    profile = card.profile if isinstance(card, ModelCard) else "1.6"
    more = {"device_type": device_type, "request_plane_codec": request_plane_codec}
    worker = RegisteredWorker(
        writer, place, read_card(card, profile), transport, {k: v for k, v in more.items() if v is not None}
    )
    try:
        await worker._start()  # noqa: SLF001  # made here, and used up here
        yield worker
    finally:
        await worker._stop()  # noqa: SLF001


@final
class RegisteredWorker:
    """A worker while it is published; `register` makes it. Belongs to one event loop."""

    def __init__(
        self, writer: Publisher, place: Place, card: ModelCard, transport: Transport, more: Mapping[str, str]
    ) -> None:
        check_card(place, card)
        self._writer = writer
        self._place = place
        self._card = card
        self._transport = transport
        self._more = more
        check_endpoint(place, card.profile, self._transport_of(1), more)
        self._adapters: dict[str, ModelCard] = {}
        self._instance_id = 0
        self._published = False  # whole, as far as is known
        self._ended = False
        self._changed = asyncio.Event()  # replaced at every new id
        self._lock = asyncio.Lock()
        self._keeper: asyncio.Task[None] | None = None
        self._told = ""

    @property
    def instance_id(self) -> int:
        """The id that was published last, 0 to 2**64 - 1. A new one after somebody swept a record."""
        return self._instance_id

    @property
    def instance_key(self) -> str:
        """`namespace/component/endpoint/<id in hex>`."""
        return self._place.key(self._instance_id)

    @property
    def card(self) -> ModelCard:
        """The card as it is published."""
        return self._card

    async def renewed(self, since: int) -> int:
        """Wait until the worker has another id than `since`, and return that.

        Raises:
            ConfigError: the worker is withdrawn, also while waiting.

        """
        while self._instance_id == since:
            self._alive()
            await self._changed.wait()
        return self._instance_id

    async def update(self, card: Card | None = None, *, taints: Sequence[str] | None = None) -> None:
        """Publish another card under the same id: taints, sizes, whatever a live instance may change (clause I8).

        Args:
            card: the whole new card; default: the one before.
            taints: `runtime_config.taints` to write into it; all else stays, digit by digit.

        Raises:
            CardError: no frontend would take the card. The old one stays.
            ConfigError: it has another checksum or WorkerSet, or the worker is withdrawn. The old one stays.
            DiscoveryError: the backend cannot be written. The old one stays.

        """
        async with self._lock:
            self._alive()
            new = self._card if card is None else read_card(card, self._card.profile)
            if taints is not None:
                new = with_taints(new, taints)
            check_card(self._place, new, replaces=self._card)
            old, self._card = self._card, new
            try:
                if await self._kept():
                    await self._writer.replace(*self._card_record(self._instance_id, new))
                else:
                    await self._publish()
            except DiscoveryError:
                self._card = old
                raise

    async def add_adapter(self, card: Card) -> str:
        """Publish a LoRA adapter of this worker, or publish another card for it. Returns its suffix (clause L1).

        Args:
            card: with `lora`, whose `name` makes the suffix: lower case, with `_` for what is not `a-z 0-9 - _`.

        Raises:
            CardError: no frontend would take the card.
            ConfigError: the worker is withdrawn.
            DiscoveryError: the backend cannot be written.

        """
        async with self._lock:
            self._alive()
            adapter = read_card(card, self._card.profile)
            suffix = adapter_suffix(adapter)
            check_card(self._place, adapter, suffix=suffix)
            if not await self._kept():
                await self._publish()
            record = self._card_record(self._instance_id, adapter, suffix)
            if suffix in self._adapters:
                await self._writer.replace(*record)
            else:
                await self._writer.create(*record)
            self._adapters[suffix] = adapter
            return suffix

    async def remove_adapter(self, suffix: str) -> None:
        """Take an adapter back; an unknown one is none.

        Raises:
            ConfigError: the worker is withdrawn.
            DiscoveryError: the backend cannot be written.

        """
        async with self._lock:
            self._alive()
            if self._adapters.pop(suffix, None) is not None:
                await self._writer.remove(f"v1/mdc/{self._place.key(self._instance_id, suffix)}")

    async def _start(self) -> None:
        await self._publish()
        self._keeper = asyncio.create_task(self._keep())
        self._keeper.add_done_callback(_stopped)

    async def _stop(self) -> None:
        self._ended = True
        self._changed.set()
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
        try:
            await self._writer.withdraw(last=True)
        except DiscoveryError as error:
            _log.write(logging.WARNING, "%s could not be withdrawn and is left to expire: %s", self.instance_key, error)

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._writer.interval)
            async with self._lock:
                try:
                    if not await self._kept():
                        await self._publish()
                    self._told = ""
                except DiscoveryError as error:
                    if self._told != str(error):
                        self._told = str(error)
                        _log.write(logging.WARNING, "no sign of life for %s: %s; tried again", self.instance_key, error)

    async def _kept(self) -> bool:
        """Give the sign of life. False: the worker is not, or no longer, published whole."""
        self._published = self._published and await self._writer.keep()
        return self._published

    async def _publish(self) -> None:
        """Publish everything under a new id, after what is left of the one before is taken back."""
        self._published = False
        await self._writer.withdraw()
        new = await self._writer.identity()
        transport = self._transport_of(new)
        check_endpoint(self._place, self._card.profile, transport, self._more)  # a function may give another each time
        endpoint = self._place.endpoint_record(new, transport, self._more)
        await self._writer.create(f"v1/instances/{self._place.key(new)}", endpoint)
        await self._writer.create(*self._card_record(new, self._card))
        for suffix, adapter in self._adapters.items():
            await self._writer.create(*self._card_record(new, adapter, suffix))
        if self._keeper is not None:
            _log.write(
                logging.WARNING,
                "a record of %s is gone; the worker goes on as %s",
                self.instance_key,
                self._place.key(new),
            )
        self._published, self._instance_id = True, new
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _card_record(self, instance_id: int, card: ModelCard, suffix: str | None = None) -> tuple[str, bytes]:
        path = f"v1/mdc/{self._place.key(instance_id, suffix)}"
        return path, self._place.card_record(instance_id, card.raw, suffix)

    def _transport_of(self, instance_id: int) -> Mapping[str, object]:
        if self._transport == "":
            return {"tcp": ""}  # for the contract to refuse (clause R8)
        if isinstance(self._transport, str):
            place = self._place
            path = f"{instance_id:x}/{place.namespace}/{place.component}/{place.endpoint}"
            return {"tcp": f"{self._transport}/{path}"}
        return self._transport(instance_id) if callable(self._transport) else self._transport

    def _alive(self) -> None:
        if self._ended:
            raise ConfigError("worker", "is withdrawn; register it anew")


def _stopped(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.write(logging.CRITICAL, "a worker gives no signs of life any more: %r", error, error=error)
