"""Sources of discovery records: the protocol, its adapters, how to open one, and how to publish a worker."""

from workerset.discovery._open import from_environment, open  # noqa: A004  # always used as discovery.open
from workerset.discovery.base import Discovery, FilterReporting, SourceReporting, SourceState
from workerset.discovery.file import FileDiscovery
from workerset.discovery.memory import MemoryDiscovery
from workerset.registration import RegisteredWorker, register

__all__ = [
    "Discovery",
    "FileDiscovery",
    "FilterReporting",
    "MemoryDiscovery",
    "RegisteredWorker",
    "SourceReporting",
    "SourceState",
    "from_environment",
    "open",
    "register",
]
