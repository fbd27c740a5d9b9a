"""One look at a live backend: its records, and what a frontend that started now would make of them."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import TYPE_CHECKING

import click

from workerset import discovery
from workerset._native import AdmissionController, Filtered, ModelCard, StartBuild
from workerset.cli import _exact
from workerset.cli._output import fail, write_error
from workerset.discovery import FileDiscovery, FilterReporting
from workerset.errors import CardError, ConfigError, DiscoveryError, ModelNotFound, NotReady

if TYPE_CHECKING:
    from workerset._native import AdmissionConfig, Apply, Inventory, Reset
    from workerset.discovery import Discovery

CARDS = "v1/mdc/"
ENDPOINTS = "v1/instances/"


@dataclass(frozen=True)
class Look:
    """A listing and the controller that took it in. Its builds all succeeded at once.

    Attributes:
        records: the records by path.
        controller: at time 0.
        inventory: of the controller.
        dated: whether `created` is a time, in nanoseconds since 1970.

    """

    records: dict[str, Apply]
    controller: AdmissionController
    inventory: Inventory
    dated: bool

    def endpoints_without_card(self) -> list[str]:
        """Keys of endpoint records that no card record stands beside, ascending."""
        keys = (path[len(ENDPOINTS) :] for path in self.records if path.startswith(ENDPOINTS))
        return sorted(key for key in keys if CARDS + key not in self.records)

    def adapters(self, keys: tuple[str, ...]) -> list[str]:
        """Keys of the adapter records of these instances, ascending."""
        return sorted(adapter for key in keys for adapter in self._adapters.get(key, ()))

    @cached_property
    def _adapters(self) -> dict[str, list[str]]:
        """Keys of adapter records by the instance key that they extend."""
        found: dict[str, list[str]] = {}
        for path in self.records:
            if path.startswith(CARDS):
                key = path[len(CARDS) :]
                found.setdefault(key.rpartition("/")[0], []).append(key)
        return found

    def registered(self, keys: tuple[str, ...]) -> str | None:
        """When the first of these instances registered, ISO 8601 in UTC; None where the backend does not say."""
        created = [record.created for key in keys if (record := self.records.get(CARDS + key)) and record.created]
        if not self.dated or not created:
            return None
        return datetime.fromtimestamp(min(created) / 1e9, timezone.utc).isoformat(timespec="milliseconds")

    def card(self, key: str, profile: str) -> ModelCard:
        """The card of an instance, as admission sees it.

        Raises:
            CardError: there is no such record, or no card in it.

        """
        record = self.records.get(CARDS + key)
        if record is None or record.value is None:
            raise CardError((record is not None and record.refused) or f"there is no card record {key}")
        return card_of_record(record.value, profile).normalized()


def look(url: str | None, config: AdmissionConfig) -> Look:
    """List a backend once. On failure says why and exits."""
    try:
        source = discovery.from_environment() if url is None else discovery.open(url)
    except ConfigError as error:
        hint = "" if url is not None else "; or name a backend with --discovery"
        raise click.UsageError(f"{error}{hint}") from error
    try:
        reset, filtered = asyncio.run(_snapshot(source))
    except DiscoveryError as error:
        fail(str(error), "check the URL, and that this user may read there")
    if isinstance(source, FileDiscovery) and not source.root.exists():
        write_error(f"workerset: {source.root} does not exist: taken as an empty store")
    controller = AdmissionController(config)
    controller.apply([reset], now=0.0)
    while (output := controller.poll()) is not None:
        if isinstance(output, StartBuild):
            controller.build_succeeded(output.spec.token, now=0.0)
    records = {entry.path: entry for entry in reset.entries}
    inventory = controller.inventory(now=0.0, filtered=filtered)
    return Look(records, controller, inventory, isinstance(source, FileDiscovery))


def why_not_ready(controller: AdmissionController, model: str) -> str:
    """Why a request for the model cannot be routed; empty if it can."""
    try:
        controller.route(model)
    except NotReady as error:
        return "; ".join(error.reasons)
    except ModelNotFound as error:
        return str(error)
    return ""


def card_of_record(raw: bytes | str, profile: str) -> ModelCard:
    """The card in a discovery record, read as discovery reads it.

    Raises:
        CardError: the text is no record, or its card cannot be decoded.

    """
    try:
        record = _exact.loads(raw)
    except ValueError as error:
        raise CardError(f"not JSON: {error}") from error
    if not isinstance(record, dict) or not isinstance(record.get("card_json"), dict):
        raise CardError("not a model record: it has no card_json")
    return ModelCard.from_json(_exact.dumps(record["card_json"]), profile=profile)


async def _snapshot(source: Discovery) -> tuple[Reset, list[Filtered]]:
    """A listing, and what was kept back from it, on a clock that is at 0 now."""
    try:
        reset, now = await source.snapshot(), time.monotonic()
        filtered = source.filtered() if isinstance(source, FilterReporting) else ()
        return reset, [Filtered(one.key, one.reason, min(0.0, one.since - now)) for one in filtered]
    finally:
        await source.aclose()
