//! What became of a reported build.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::convert::Seconds;
use crate::record::record;

record! {
    /// The pipeline serves.
    Committed["kind"] {
        /// Generation of the binding.
        generation: u64,
    }
}

record! {
    /// The result came too late, twice, or to the wrong controller.
    Fenced["kind"] {
        /// Why.
        reason: String,
    }
}

record! {
    /// The card claims a name that another model holds.
    Blocked["kind"] {
        /// Names the owner.
        reason: String,
    }
}

record! {
    /// The failure is noted; another build follows.
    Retry["kind"] {
        /// Failures in a row, from 1.
        attempt: u32,
        /// When the next build is queued at the latest.
        deadline: Seconds,
    }
}

record! {
    /// The build was still wanted and is queued again.
    Requeued["kind"] {}
}

/// The Python object of a verdict.
pub(crate) fn verdict(py: Python<'_>, verdict: workerset_core::BuildVerdict) -> PyResult<Bound<'_, PyAny>> {
    use workerset_core::BuildVerdict;

    match verdict {
        BuildVerdict::Committed { generation } => Committed { generation }.into_bound_py_any(py),
        BuildVerdict::Fenced { reason } => Fenced { reason }.into_bound_py_any(py),
        BuildVerdict::Blocked { reason } => Blocked { reason }.into_bound_py_any(py),
        BuildVerdict::Retry { attempt, deadline } => {
            Retry { attempt, deadline: Seconds(deadline) }.into_bound_py_any(py)
        }
        BuildVerdict::Requeued => Requeued {}.into_bound_py_any(py),
    }
}
