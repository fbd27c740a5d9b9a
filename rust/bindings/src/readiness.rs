//! The shared readiness evaluator.

use pyo3::prelude::*;
use workerset_core::WorkerType;
use workerset_core::readiness as core;

use crate::convert::{Items, Ref, Role};
use crate::error::guarded;
use crate::record::record;

record! {
    /// One registered set, as a readiness evaluation sees it.
    ReadinessUnit {
        /// Effective worker type; None for a legacy card.
        worker_type: Option<Role>,
        /// Workers that serve now, a count.
        live: usize,
        /// Alternatives of worker types, one of which must be wholly present.
        needs: Items<Items<Role>> => Items(Vec::new()),
    }
    signature "(worker_type, live, needs=())";
}

record! {
    /// The verdict over all units of one model and namespace.
    Readiness {
        /// Somebody is live and nothing is missing.
        ready: bool,
        /// Whether a legacy unit is registered.
        has_legacy: bool,
        /// Whether a legacy unit is live.
        legacy_live: bool,
        /// Types with a live unit, ascending.
        present: Items<Role>,
        /// Types without which requests cannot be served, ascending.
        missing: Items<Role>,
        /// Types other than aggregated with more than one live unit, ascending.
        ambiguous: Items<Role>,
    }
}

/// Evaluate units in any order.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "arguments come by value")]
pub(crate) fn evaluate_readiness(units: Vec<Ref<ReadinessUnit>>) -> PyResult<Readiness> {
    guarded(|| {
        let alternative = |roles: &Items<Role>| roles.0.iter().map(|role| role.0).collect();
        let units: Vec<core::ReadinessUnit> = units
            .iter()
            .map(|unit| core::ReadinessUnit {
                worker_type: unit.worker_type.map(|role| role.0),
                live: unit.live,
                needs: unit.needs.0.iter().map(alternative).collect(),
            })
            .collect();
        let core::Readiness { ready, has_legacy, legacy_live, present, missing, ambiguous } = core::evaluate(&units);
        let roles = |roles: std::collections::BTreeSet<WorkerType>| Items(roles.into_iter().map(Role).collect());
        Ok(Readiness {
            ready,
            has_legacy,
            legacy_live,
            present: roles(present),
            missing: roles(missing),
            ambiguous: roles(ambiguous),
        })
    })
}
