"""Which LLM workers may serve together: Dynamo's WorkerSet admission contract as a library."""

from .errors import (
    BindingRetired,
    CardError,
    ConfigError,
    ControllerClosed,
    DiscoveryAuthError,
    DiscoveryError,
    DiscoveryTimeout,
    InternalError,
    ModelNotFound,
    NoRoutableWorkers,
    NotReady,
    RoutingError,
    WorkerSetError,
)

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
