//! What a failed `route()` leaves behind, so that its texts are made only when somebody reads them.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::controller::AdmissionController;

/// A request that found no route.
#[pyclass(module = "workerset._native", name = "_Asked", frozen)]
pub(crate) struct Asked {
    controller: Py<AdmissionController>,
    name: String,
    model: String,
    model_type: Option<String>,
    namespace: Option<String>,
}

impl Asked {
    pub(crate) fn new(
        controller: Py<AdmissionController>,
        name: &str,
        model: String,
        model_type: Option<&str>,
        namespace: Option<&str>,
    ) -> Self {
        let (model_type, namespace) = (model_type.map(Into::into), namespace.map(Into::into));
        Self { controller, name: name.into(), model, model_type, namespace }
    }
}

#[pymethods]
impl Asked {
    /// Why there is no route now, a sentence each; empty if there is one by now.
    fn reasons<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let controller = self.controller.get();
        let reasons = controller.reasons(py, &self.name, self.model_type.as_deref(), self.namespace.as_deref())?;
        PyTuple::new(py, reasons)
    }

    /// The inventory entries of the model.
    fn worker_sets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.controller.get().worker_sets(py, &self.model)
    }
}
