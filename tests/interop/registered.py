"""Workers that `register` publishes into a file store, where real Dynamo looks."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import workerset.discovery
from tests.interop.side_by_side import Place

# Nobody listens there: not every worker is asked.
NOWHERE = "127.0.0.1:9"


@dataclass(frozen=True)
class Registered:
    """One such worker, as it was published first."""

    instance_id: int
    instance: str
    card: str


@contextlib.asynccontextmanager
async def registered(
    store: Path, place: Place, card: str, transport: str | Mapping[str, object] = NOWHERE
) -> AsyncIterator[Registered]:
    """A worker for the time of the block."""
    async with workerset.discovery.register(
        f"file://{store}",
        card=card,
        namespace=place.namespace,
        component=place.component,
        endpoint="generate",
        transport=transport,
    ) as worker:
        yield Registered(worker.instance_id, worker.instance_key, card)
