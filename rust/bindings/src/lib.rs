//! Python bindings: registers names. What they mean stands in `python/workerset/_native.pyi`.

#![allow(clippy::needless_pass_by_value, reason = "arguments come from Python by value")]

mod asked;
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
mod text;
mod verdict;

/// The native part of workerset.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    use pyo3::prelude::*;

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
        BuildsEntry, CohortEntry, Filtered, HopEntry, Inventory, RefusedEntry, RejectedEntry, RetryEntry, SourceEntry,
        WorkerSetEntry,
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

    /// What is not public, and unions of classes to annotate with.
    #[pymodule_init]
    fn rest(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.setattr("_duration", wrap_pyfunction!(crate::convert::duration, module)?)?;
        for (name, members) in [
            ("Event", &["Apply", "Delete", "Reset"][..]),
            ("BuildVerdict", &["Committed", "Fenced", "Blocked", "Retry", "Requeued"]),
            ("Command", &["StartBuild", "CancelBuild", "Withdraw"]),
            ("Notice", crate::notice::CLASSES),
        ] {
            let classes = members.iter().map(|member| module.getattr(*member));
            if let Some(union) = classes.reduce(|union, class| union?.bitor(class?)).transpose()? {
                module.add(name, union)?;
            }
        }
        Ok(())
    }
}
