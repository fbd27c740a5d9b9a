//! Python bindings: registers names. What they mean stands in `python/workerset/_native.pyi`.

mod card;
mod command;
mod config;
mod controller;
mod convert;
mod error;
mod event;
mod identity;
mod inventory;
mod json;
mod notice;
mod pipeline;
mod random;
mod readiness;
mod record;
mod routing;
mod verdict;

/// The native part of workerset.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use crate::card::{CardDifference, ModelCard, explain};
    #[pymodule_export]
    use crate::command::{BuildSpec, BuildToken, CancelBuild, StartBuild, Withdraw};
    #[pymodule_export]
    use crate::config::AdmissionConfig;
    #[pymodule_export]
    use crate::controller::AdmissionController;
    #[pymodule_export]
    use crate::event::{Apply, Delete, Reset};
    #[pymodule_export]
    use crate::identity::{NamespaceFilter, WorkerSetKey};
    #[pymodule_export]
    use crate::inventory::{
        CohortEntry, HopEntry, Inventory, RefusedEntry, RejectedEntry, RetryEntry, SourceEntry, WorkerSetEntry,
    };
    #[pymodule_export]
    use crate::notice::{
        BuildBlocked, BuildCommitted, BuildRetry, CohortRejected, HopChanged, InPlaceChangeRefused, MembersChanged,
        ModelNotReady, ModelReady, RecordRefused, Succession,
    };
    #[pymodule_export]
    use crate::readiness::{Readiness, ReadinessUnit, evaluate_readiness};
    #[pymodule_export]
    use crate::routing::{Hop, Route, WorkerInfo};
    #[pymodule_export]
    use crate::verdict::{Blocked, Committed, Fenced, Requeued, Retry};

    /// The version of the library.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// `release` or `debug`.
    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "a Python name")]
    const build_profile: &str = if cfg!(debug_assertions) { "debug" } else { "release" };
}
