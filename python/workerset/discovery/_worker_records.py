"""The records that a worker publishes, as Dynamo writes them, and what the contract says to them beforehand."""

from __future__ import annotations

import json
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workerset._native import (
    AdmissionConfig,
    AdmissionController,
    Apply,
    InPlaceChangeRefused,
    ModelCard,
    RecordRefused,
    explain,
)
from workerset._text import is_encodable, named
from workerset.errors import CardError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Place:
    """Where a worker serves.

    Raises:
        ConfigError: a part is empty or holds a slash.

    """

    namespace: str
    component: str
    endpoint: str

    def __post_init__(self) -> None:
        for name, part in (("namespace", self.namespace), ("component", self.component), ("endpoint", self.endpoint)):
            if not part or "/" in part or not is_encodable(part):
                raise ConfigError(name, f"{named(part)} is not a text without slashes, at least one character long")

    def key(self, instance_id: int, suffix: str | None = None) -> str:
        """The instance key."""
        base = f"{self.namespace}/{self.component}/{self.endpoint}/{instance_id:x}"
        return base if suffix is None else f"{base}/{suffix}"

    def endpoint_record(self, instance_id: int, transport: Mapping[str, object], more: Mapping[str, str]) -> bytes:
        """The record below `v1/instances/`."""
        record = {
            "type": "Endpoint",
            "component": self.component,
            "endpoint": self.endpoint,
            "namespace": self.namespace,
            "instance_id": instance_id,
            "transport": dict(transport),
        }
        return compact(record | dict(more))

    def card_record(self, instance_id: int, card: bytes, suffix: str | None = None) -> bytes:
        """The record below `v1/mdc/`. The card's text is embedded as it is, so that all hash the same digits."""
        head = {
            "type": "Model",
            "namespace": self.namespace,
            "component": self.component,
            "endpoint": self.endpoint,
            "instance_id": instance_id,
        }
        tail = b"}" if suffix is None else b',"model_suffix":' + compact(suffix) + b"}"
        return compact(head)[:-1] + b',"card_json":' + card + tail


def compact(value: object) -> bytes:
    """Compact JSON, not ASCII alone, as Dynamo writes it.

    Raises:
        TypeError: something in it has no JSON form.
        ValueError: a number is not finite.

    """
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")  # a lone surrogate is for the decoder to refuse


def read_card(card: ModelCard | Mapping[str, Any] | str | bytes, profile: str) -> ModelCard:
    """Decode a card, given in any form. A mapping is written as compact JSON first.

    Raises:
        CardError: it is none.

    """
    if isinstance(card, ModelCard):
        raw = card.raw
    elif isinstance(card, str | bytes):
        raw = card.encode("utf-8", "surrogatepass") if isinstance(card, str) else card
    else:
        try:
            raw = compact(dict(card))
        except (TypeError, ValueError) as error:
            raise CardError(str(error)) from error
    return ModelCard.from_json(raw, profile, router_policy_files="accept")


def with_taints(card: ModelCard, taints: Sequence[str]) -> ModelCard:
    """The same card with other taints; every number keeps its digits.

    Raises:
        CardError: `runtime_config` has the form of a list.

    """
    # A number becomes a text that can be told from all others, and a number again when everything is written.
    mark = secrets.token_hex(16)
    tree = json.loads(card.raw, parse_int=lambda digits: mark + digits, parse_float=lambda digits: mark + digits)
    config = tree.setdefault("runtime_config", {}) if isinstance(tree, dict) else None
    if not isinstance(config, dict):
        raise CardError("taints can be set in an object only", "runtime_config")
    config["taints"] = list(taints)
    text = re.sub(f'"{mark}([^"]*)"', r"\1", compact(tree).decode("utf-8", "surrogatepass"))
    return read_card(text, card.profile)


def adapter_suffix(card: ModelCard) -> str:
    """The last part of an adapter's key: the slug of its name (WIRE 6).

    Raises:
        CardError: the card has no `lora`.

    """
    if card.lora is None:
        raise CardError("an adapter's card says which adapter it is", "lora")
    return re.sub(r"[^a-z0-9_-]", "_", card.lora["name"].lower()).lstrip("_")


def check_card(place: Place, card: ModelCard, *, suffix: str | None = None, replaces: ModelCard | None = None) -> None:
    """Ask the contract what a frontend of the card's release would say to a record.

    Args:
        place: where.
        card: of the record.
        suffix: of an adapter.
        replaces: the card that stands under the same live key.

    Raises:
        CardError: it would be refused (clauses R7, L4).
        ConfigError: it would change the checksum or the WorkerSet of a live instance (clause I8).

    """
    path = f"v1/mdc/{place.key(1, suffix)}"
    cards = [card] if replaces is None else [replaces, card]
    records = [Apply(path, place.card_record(1, each.raw, suffix)) for each in cards]
    for notice in _notices(card.profile, records):
        if isinstance(notice, RecordRefused):
            raise CardError(notice.reason)
        if isinstance(notice, InPlaceChangeRefused) and replaces is not None:
            fields = [difference.field for difference in explain(replaces.normalized(), card.normalized())]
            what = f" ({', '.join(fields)})" if fields else ""
            raise ConfigError(
                "card",
                f"a live instance may not change what its WorkerSet is admitted by{what}: {notice.reason}; withdraw "
                "the worker and register it anew (clause I8)",
            )


def check_endpoint(place: Place, profile: str, transport: Mapping[str, object], more: Mapping[str, str]) -> None:
    """Ask the same about an endpoint record.

    Raises:
        ConfigError: it has no JSON form, or a frontend would refuse it.

    """
    try:
        record = place.endpoint_record(1, transport, more)
    except (TypeError, ValueError) as error:
        raise ConfigError("transport", str(error)) from error
    for notice in _notices(profile, [Apply(f"v1/instances/{place.key(1)}", record)]):
        if isinstance(notice, RecordRefused):
            raise ConfigError("transport", notice.reason)


def _notices(profile: str, records: list[Apply]) -> list[object]:
    # A controller of its own each time: what is refused is told only once.
    controller = AdmissionController(AdmissionConfig(checksum_profile=profile, router_policy_files="accept"))
    controller.apply(records, now=0.0)
    notices: list[object] = []
    while (output := controller.poll()) is not None:
        notices.append(output)
    return notices
