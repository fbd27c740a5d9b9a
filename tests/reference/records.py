"""What a stored record says: the path, the envelope, the card behind it (WIRE 0, clauses R7 and L4)."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import NamedTuple

from .cards import CardFacts, facts

CARDS = "v1/mdc/"
INSTANCES = "v1/instances/"


class SetKey(NamedTuple):
    """Identity of a WorkerSet (clause I1), in the order in which inventories list them."""

    model: str
    namespace: str
    component: str
    endpoint: str
    types: str
    role: str

    @property
    def text(self) -> str:
        """Dynamo's key text (WIRE 5)."""
        return json_array(self[1:])

    @property
    def group(self) -> str:
        """The group id that logs show."""
        return json_array((self.model, self.text))


class Base(NamedTuple):
    """A worker's registration."""

    key: str
    instance_id: int
    worker_set: SetKey
    checksum: str
    card: CardFacts

    @property
    def identity(self) -> tuple[SetKey, str]:
        """What no apply changes in place (I8)."""
        return self.worker_set, self.checksum


class Adapter(NamedTuple):
    """A LoRA adapter that a worker carries."""

    key: str
    base: str
    instance_id: int
    name: str


class Endpoint(NamedTuple):
    """An instance that can be reached."""

    key: str
    instance_id: int
    transport: str

    @property
    def kind(self) -> str:
        """The one kind that the transport names (R8)."""
        (kind,) = json.loads(self.transport)
        return str(kind)


class Refused(NamedTuple):
    """A value that says nothing usable."""


Content = Base | Adapter | Endpoint


@lru_cache(maxsize=10_000)
def json_array(parts: tuple[str, ...]) -> str:
    """Write texts as a compact JSON array (WIRE 5)."""
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=False)


def shown(path: str) -> str:
    """The key of a path as logs and inventories show it."""
    return path.removeprefix(CARDS)


@lru_cache(maxsize=100_000)
def read(path: str, value: str | bytes) -> Content | Refused:
    """Read the record that a backend stores under a path."""
    bucket = CARDS if path.startswith(CARDS) else INSTANCES
    parts = path.removeprefix(bucket).split("/")
    if len(parts) not in {4, 5} or not all(parts) or not re.fullmatch("0|[1-9a-f][0-9a-f]{0,15}", parts[3]):
        return Refused()
    suffix = parts[4] if len(parts) == 5 else None
    try:
        record = json.loads(value)
    except ValueError:
        return Refused()
    if not isinstance(record, dict):
        return Refused()
    instance_id = int(parts[3], 16)
    place = {"namespace": parts[0], "component": parts[1], "endpoint": parts[2], "instance_id": instance_id}
    if any(record.get(name) != expected for name, expected in place.items()):
        return Refused()
    key = "/".join(parts[:4])
    if bucket == INSTANCES:
        transport = record.get("transport")
        usable = suffix is None and record.get("type") == "Endpoint" and _can_be_dialled(transport)
        return Endpoint(key, instance_id, json.dumps(transport)) if usable else Refused()
    if record.get("type") != "Model" or record.get("model_suffix") != suffix or "card_json" not in record:
        return Refused()
    card = facts(record["card_json"])
    if card.checksum is None or card.is_adapter != (suffix is not None):
        return Refused()
    if suffix is not None:
        return Adapter(f"{key}/{suffix}", key, instance_id, card.display_name)
    worker_set = SetKey(card.display_name, parts[0], parts[1], parts[2], card.types, card.role)
    return Base(key, instance_id, worker_set, card.checksum, card)


def _can_be_dialled(transport: object) -> bool:
    """Tell whether it is one kind with an address (R8)."""
    if not isinstance(transport, dict) or len(transport) != 1:
        return False
    (address,) = transport.values()
    return isinstance(address, str) and address != ""
