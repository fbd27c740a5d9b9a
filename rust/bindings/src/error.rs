//! From the core's errors to Python's exceptions, which `workerset.errors` defines.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::asked::Asked;

/// The exceptions, looked up when the first of them is raised.
mod exceptions {
    pyo3::import_exception!(workerset.errors, BindingRetired);
    pyo3::import_exception!(workerset.errors, CardError);
    pyo3::import_exception!(workerset.errors, ConfigError);
    pyo3::import_exception!(workerset.errors, ControllerClosed);
    pyo3::import_exception!(workerset.errors, InternalError);
    pyo3::import_exception!(workerset.errors, ModelNotFound);
    pyo3::import_exception!(workerset.errors, NoRoutableWorkers);
    pyo3::import_exception!(workerset.errors, NotReady);
    pyo3::import_exception!(workerset.errors, RoutingError);
}

/// Runs an entry point; a panic in it becomes `InternalError`. What it had locked is the caller's to condemn.
pub(crate) fn guarded<T>(entry: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(entry)).unwrap_or_else(|panic| Err(internal(panic.as_ref())))
}

/// A panic, with its message.
pub(crate) fn internal(panic: &(dyn Any + Send)) -> PyErr {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
    broken(message.unwrap_or("a panic without a message").to_owned())
}

/// An invariant of ours that does not hold.
pub(crate) fn broken(reason: String) -> PyErr {
    exceptions::InternalError::new_err(reason)
}

/// A card that cannot be decoded.
pub(crate) fn card(error: workerset_core::CardError) -> PyErr {
    exceptions::CardError::new_err((error.reason, error.field))
}

/// An option that is out of range: its name, and what was given and is allowed.
pub(crate) fn config(field: &'static str, reason: String) -> PyErr {
    exceptions::ConfigError::new_err((field, reason))
}

pub(crate) fn controller_closed() -> PyErr {
    exceptions::ControllerClosed::new_err(())
}

pub(crate) fn abandoned(reason: &str) -> PyErr {
    exceptions::ControllerClosed::new_err(reason.to_owned())
}

pub(crate) fn model_not_found(model: &Bound<'_, PyString>) -> PyErr {
    exceptions::ModelNotFound::new_err(model.clone().unbind())
}

/// `asked`: tells the reasons and the worker sets when the exception's attributes are read.
pub(crate) fn not_ready(model: String, asked: Asked) -> PyErr {
    exceptions::NotReady::new_err((model, asked))
}

pub(crate) fn binding_retired(model: &str, generation: u64) -> PyErr {
    exceptions::BindingRetired::new_err((model.to_owned(), generation))
}

pub(crate) fn direct_only(model: &str) -> PyErr {
    exceptions::RoutingError::new_err((
        model.to_owned(),
        "the selected card routes directly: choose a worker and call pick_direct",
    ))
}

/// `routable`: how many workers are, none of which may be picked.
pub(crate) fn no_routable_workers(
    py: Python<'_>,
    model: &str,
    reason: String,
    admitted: usize,
    routable: usize,
) -> PyErr {
    let raise = || {
        let counts = PyDict::new(py);
        counts.set_item("admitted", admitted)?;
        counts.set_item("discovered", routable)?;
        counts.set_item("routable", routable)?;
        py.get_type::<exceptions::NoRoutableWorkers>().call((model, (reason,)), Some(&counts))
    };
    raise().map_or_else(|error| error, PyErr::from_value)
}
