//! Notices: what happened, for logs and metrics.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use workerset_core::Notice;

use crate::command::BuildToken;
use crate::convert::{Checksum, Items, Key, Ref, Seconds};
use crate::record::record;

record! {
    /// A cohort is rejected, or still is under a new incumbent.
    CohortRejected["kind"] {
        /// Display name of the model.
        model: String,
        /// The set.
        worker_set: Key,
        /// Checksum of the cohort that serves.
        incumbent_checksum: Checksum,
        /// Checksum of the cohort that does not.
        rejected_checksum: Checksum,
        /// Instance key of a representative member.
        instance: String,
        /// Members of the rejected cohort, a count.
        members: u64,
        /// Names of the card fields that differ.
        differs: Items<String>,
    }
    check CohortRejected::check;
}

record! {
    /// A record is not usable.
    RecordRefused["kind"] {
        /// Instance key of a card record, full path of any other.
        key: String,
        /// What is wrong with it.
        reason: String,
    }
}

record! {
    /// A live instance published another checksum or `WorkerSet` under its key.
    InPlaceChangeRefused["kind"] {
        /// Display name of the model.
        model: String,
        /// The instance key.
        key: String,
        /// The set it stays in.
        worker_set: Key,
        /// The checksum that stays.
        stored_checksum: Checksum,
        /// The checksum that is refused.
        refused_checksum: Checksum,
        /// What would have changed.
        reason: String,
    }
    check InPlaceChangeRefused::check;
}

record! {
    /// A build committed: the set serves through a new binding.
    BuildCommitted["kind"] {
        /// Display name of the model.
        model: String,
        /// The build.
        token: Ref<BuildToken>,
    }
    check BuildCommitted::check;
}

record! {
    /// A build failed and is tried again.
    BuildRetry["kind"] {
        /// Display name of the model.
        model: String,
        /// The build that failed.
        token: Ref<BuildToken>,
        /// Failures in a row, from 1.
        attempt: u32,
        /// When the next build is queued at the latest.
        deadline: Seconds,
        /// The driver's reason.
        reason: String,
    }
    check BuildRetry::check;
    methods {
        /// Seconds from the failure to the next try.
        #[getter]
        fn delay(&self) -> f64 {
            workerset_core::retry_delay(self.attempt)
        }
    }
}

record! {
    /// A built pipeline may not commit: a name that it claims is another model's.
    BuildBlocked["kind"] {
        /// Display name of the model.
        model: String,
        /// The build.
        token: Ref<BuildToken>,
        /// The model that holds the name.
        owner: String,
        /// The name.
        name: String,
        /// Failures in a row, from 1.
        attempt: u32,
        /// When the next build is queued at the latest.
        deadline: Seconds,
    }
    check BuildBlocked::check;
    methods {
        /// Seconds from the failure to the next try.
        #[getter]
        fn delay(&self) -> f64 {
            workerset_core::retry_delay(self.attempt)
        }
    }
}

record! {
    /// The incumbent cohort gained or lost workers.
    MembersChanged["kind"] {
        /// Display name of the model.
        model: String,
        /// The set.
        worker_set: Key,
        /// The incumbent's checksum afterwards; None when nobody is left.
        mdc_checksum: Option<Checksum>,
        /// Ids that are admitted now and were not.
        joined: Items<u64>,
        /// Ids that were admitted and are not any more.
        left: Items<u64>,
    }
    check MembersChanged::check;
}

record! {
    /// The incumbent cohort emptied and the next one took the set.
    Succession["kind"] {
        /// Display name of the model.
        model: String,
        /// The set.
        worker_set: Key,
        /// Checksum of the cohort that is gone.
        retired_checksum: Checksum,
        /// Generation of the binding that was retired, if one was committed.
        retired_generation: Option<u64>,
        /// Checksum of the cohort that took over.
        incumbent_checksum: Checksum,
        /// Its members, a count.
        members: u64,
    }
    check Succession::check;
}

record! {
    /// A prefill or encode hop of a model came or went.
    HopChanged["kind"] {
        /// Display name of the model.
        model: String,
        /// The namespace.
        namespace: String,
        /// `prefill` or `encode`.
        hop: String,
        /// Whether it is there now.
        active: bool,
        /// Why it is absent; empty when active.
        reason: String,
    }
}

record! {
    /// A request for the model can be routed now.
    ModelReady["kind"] {
        /// Display name of the model.
        model: String,
    }
}

record! {
    /// A request for the model cannot be routed any more.
    ModelNotReady["kind"] {
        /// Display name of the model.
        model: String,
    }
}

/// `model` stands beside the field that implies it; the two must agree.
macro_rules! check_model {
    ($($name:ident: $source:ident $(. $part:tt)+),*) => {
        $(
            impl $name {
                fn check(&self) -> PyResult<()> {
                    if self.model != self.$source$(.$part)+ {
                        return Err(PyValueError::new_err(concat!("model is not the ", stringify!($source), "'s")));
                    }
                    Ok(())
                }
            }
        )*
    };
}

check_model!(
    CohortRejected: worker_set.0.model,
    InPlaceChangeRefused: worker_set.0.model,
    BuildCommitted: token.model,
    BuildRetry: token.model,
    BuildBlocked: token.model,
    MembersChanged: worker_set.0.model,
    Succession: worker_set.0.model
);

/// The Python object of a notice.
pub(crate) fn notice(py: Python<'_>, notice: Notice) -> PyResult<Bound<'_, PyAny>> {
    match notice {
        Notice::CohortRejected { worker_set, incumbent_checksum, rejected_checksum, instance, members, differs } => {
            CohortRejected {
                model: worker_set.model.clone(),
                worker_set: Key(worker_set),
                incumbent_checksum: Checksum(incumbent_checksum),
                rejected_checksum: Checksum(rejected_checksum),
                instance,
                members,
                differs: Items(differs),
            }
            .into_bound_py_any(py)
        }
        Notice::RecordRefused { key, reason } => RecordRefused { key, reason }.into_bound_py_any(py),
        Notice::InPlaceChangeRefused { key, worker_set, stored_checksum, refused_checksum, reason } => {
            InPlaceChangeRefused {
                model: worker_set.model.clone(),
                key,
                worker_set: Key(worker_set),
                stored_checksum: Checksum(stored_checksum),
                refused_checksum: Checksum(refused_checksum),
                reason,
            }
            .into_bound_py_any(py)
        }
        Notice::BuildCommitted { token } => {
            let token = BuildToken::from_core(&token);
            BuildCommitted { model: token.model.clone(), token: Ref::new(py, token)? }.into_bound_py_any(py)
        }
        Notice::BuildRetry { token, attempt, deadline, reason } => {
            let token = BuildToken::from_core(&token);
            BuildRetry {
                model: token.model.clone(),
                token: Ref::new(py, token)?,
                attempt,
                deadline: Seconds(deadline),
                reason,
            }
            .into_bound_py_any(py)
        }
        Notice::BuildBlocked { token, owner, name, attempt, deadline } => {
            let token = BuildToken::from_core(&token);
            BuildBlocked {
                model: token.model.clone(),
                token: Ref::new(py, token)?,
                owner,
                name,
                attempt,
                deadline: Seconds(deadline),
            }
            .into_bound_py_any(py)
        }
        Notice::MembersChanged { worker_set, mdc_checksum, joined, left } => MembersChanged {
            model: worker_set.model.clone(),
            worker_set: Key(worker_set),
            mdc_checksum: mdc_checksum.map(Checksum),
            joined: Items(joined),
            left: Items(left),
        }
        .into_bound_py_any(py),
        Notice::Succession { worker_set, retired_checksum, retired_generation, incumbent_checksum, members } => {
            Succession {
                model: worker_set.model.clone(),
                worker_set: Key(worker_set),
                retired_checksum: Checksum(retired_checksum),
                retired_generation,
                incumbent_checksum: Checksum(incumbent_checksum),
                members,
            }
            .into_bound_py_any(py)
        }
        Notice::HopChanged { model, namespace, hop, active, reason } => {
            HopChanged { model, namespace, hop: hop.to_owned(), active, reason }.into_bound_py_any(py)
        }
        Notice::ModelReady { model } => ModelReady { model }.into_bound_py_any(py),
        Notice::ModelNotReady { model } => ModelNotReady { model }.into_bound_py_any(py),
    }
}

/// Every notice's name, in the order of the core's.
pub(crate) const CLASSES: &[&str] = &[
    "CohortRejected",
    "RecordRefused",
    "InPlaceChangeRefused",
    "BuildCommitted",
    "BuildRetry",
    "BuildBlocked",
    "MembersChanged",
    "Succession",
    "HopChanged",
    "ModelReady",
    "ModelNotReady",
];
