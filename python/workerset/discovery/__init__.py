"""Sources of discovery records: the protocol, its adapters, and how to open one."""

from workerset.discovery._open import from_environment, open  # noqa: A004  # always used as discovery.open
from workerset.discovery.base import Discovery, Event, SourceReporting, SourceState
from workerset.discovery.file import FileDiscovery
from workerset.discovery.memory import MemoryDiscovery

__all__ = [
    "Discovery",
    "Event",
    "FileDiscovery",
    "MemoryDiscovery",
    "SourceReporting",
    "SourceState",
    "from_environment",
    "open",
]
