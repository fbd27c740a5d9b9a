//! Commands and the tokens that tie results to them.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::card::Card;
use crate::convert::{Checksum, Key, Ref};
use crate::record::record;

record! {
    /// Names one build.
    BuildToken {
        /// Display name of the model.
        model: String,
        /// The set that is built for.
        worker_set: Key,
        /// The incumbent's checksum when the build was issued.
        mdc_checksum: Checksum,
        /// Never used twice by one controller, strictly growing.
        generation: u64,
    }
    hidden controller_id: u64 = 0;
    check check_token;
}

record! {
    /// What to build.
    BuildSpec {
        /// To be handed back with the result.
        token: Ref<BuildToken>,
        /// Display name of the model.
        model: String,
        /// The set that is built for.
        worker_set: Key,
        /// The incumbent's checksum when the build was issued.
        mdc_checksum: Checksum,
        /// The token's generation.
        generation: u64,
        /// The selected card for the whole generation.
        card: Card,
        /// Instance key of the member whose card it is.
        representative: String,
    }
    check check_spec;
}

record! {
    /// Build a pipeline and report the result once.
    StartBuild["kind"] {
        /// What to build.
        spec: Ref<BuildSpec>,
    }
}

record! {
    /// Stop that build if it still runs, and report it in any case.
    CancelBuild["kind"] {
        /// The build.
        token: Ref<BuildToken>,
    }
}

record! {
    /// Drop the pipeline that this build committed.
    Withdraw["kind"] {
        /// The build.
        token: Ref<BuildToken>,
    }
}

impl BuildToken {
    pub(crate) fn from_core(token: &workerset_core::BuildToken) -> Self {
        Self {
            model: token.worker_set.model.clone(),
            worker_set: Key(Arc::clone(&token.worker_set)),
            mdc_checksum: Checksum(token.mdc_checksum),
            generation: token.generation,
            controller_id: token.controller_id,
        }
    }

    pub(crate) fn to_core(&self) -> workerset_core::BuildToken {
        workerset_core::BuildToken {
            worker_set: Arc::clone(&self.worker_set.0),
            mdc_checksum: self.mdc_checksum.0,
            generation: self.generation,
            controller_id: self.controller_id,
        }
    }
}

/// The Python object of a command.
pub(crate) fn command(py: Python<'_>, command: workerset_core::Command) -> PyResult<Bound<'_, PyAny>> {
    use workerset_core::Command;

    let token = |token| Ref::new(py, BuildToken::from_core(&token));
    Ok(match command {
        Command::StartBuild(spec) => {
            Bound::new(py, StartBuild { spec: Ref::new(py, build_spec(py, spec)?)? })?.into_any()
        }
        Command::CancelBuild(build) => Bound::new(py, CancelBuild { token: token(build)? })?.into_any(),
        Command::Withdraw(build) => Bound::new(py, Withdraw { token: token(build)? })?.into_any(),
    })
}

fn build_spec(py: Python<'_>, spec: workerset_core::BuildSpec) -> PyResult<BuildSpec> {
    let token = BuildToken::from_core(&spec.token);
    Ok(BuildSpec {
        model: token.model.clone(),
        worker_set: token.worker_set.clone(),
        mdc_checksum: token.mdc_checksum,
        generation: token.generation,
        token: Ref::new(py, token)?,
        card: Card(spec.card),
        representative: spec.representative,
    })
}

fn check_token(token: &BuildToken) -> PyResult<()> {
    if token.model != token.worker_set.0.model {
        return Err(PyValueError::new_err("model is not the worker_set's"));
    }
    Ok(())
}

fn check_spec(spec: &BuildSpec) -> PyResult<()> {
    let token = &*spec.token;
    let named = (&spec.model, &spec.worker_set, spec.mdc_checksum, spec.generation);
    if named != (&token.model, &token.worker_set, token.mdc_checksum, token.generation) {
        return Err(PyValueError::new_err("model, worker_set, mdc_checksum and generation must be the token's"));
    }
    Ok(())
}
