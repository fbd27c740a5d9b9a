//! `WorkerSetKey` and `NamespaceFilter`.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use workerset_core::EndpointId;

use crate::convert::{Field, Role, abridged};
use crate::record::{self, record};

record! {
    /// Identity of a `WorkerSet`.
    WorkerSetKey {
        /// Display name of the model.
        model: String,
        /// Namespace.
        namespace: String,
        /// Component.
        component: String,
        /// Endpoint.
        endpoint: String,
        /// Model types in bit order, joined with `|`.
        model_types: String,
        /// Effective role.
        worker_type: Role,
    }
    ordered WorkerSetKey::order;
    methods {
        /// Dynamo's key text.
        #[getter]
        fn key_text(&self) -> String {
            self.to_core().key_text()
        }

        fn __str__(&self) -> String {
            self.to_core().to_string()
        }
    }
}

impl WorkerSetKey {
    /// The order of inventories: by model, then by key text.
    fn order(&self, other: &Self) -> Ordering {
        self.model.cmp(&other.model).then_with(|| self.key_text().cmp(&other.key_text()))
    }

    pub(crate) fn from_core(key: &workerset_core::WorkerSetKey) -> Self {
        Self {
            model: key.model.clone(),
            namespace: key.endpoint.namespace.clone(),
            component: key.endpoint.component.clone(),
            endpoint: key.endpoint.endpoint.clone(),
            model_types: key.model_types.clone(),
            worker_type: Role(key.worker_type),
        }
    }

    pub(crate) fn to_core(&self) -> Arc<workerset_core::WorkerSetKey> {
        Arc::new(workerset_core::WorkerSetKey {
            model: self.model.clone(),
            endpoint: EndpointId {
                namespace: self.namespace.clone(),
                component: self.component.clone(),
                endpoint: self.endpoint.clone(),
            },
            model_types: self.model_types.clone(),
            worker_type: self.worker_type.0,
        })
    }
}

record! {
    /// Which namespaces a controller looks at.
    NamespaceFilter {
        /// `all`, `exact` or `prefix`.
        rule: String,
        /// The namespace or the prefix; empty for `all`.
        text: String,
        /// With `prefix`: only the plain name and its worker-generation names.
        strict: bool,
    }
    check NamespaceFilter::check;
    methods {
        /// Every namespace.
        #[staticmethod]
        fn all() -> Self {
            Self { rule: "all".into(), text: String::new(), strict: false }
        }

        /// One namespace.
        #[staticmethod]
        fn exact(namespace: String) -> Self {
            Self { rule: "exact".into(), text: namespace, strict: false }
        }

        /// Namespaces that start with a text.
        #[staticmethod]
        #[pyo3(signature = (prefix, strict = false))]
        fn prefix(prefix: String, strict: bool) -> Self {
            Self { rule: "prefix".into(), text: prefix, strict }
        }

        /// Whether records of the namespace are looked at.
        fn admits(&self, namespace: &str) -> bool {
            self.to_core().admits(namespace)
        }
    }
}

impl NamespaceFilter {
    fn from_core(filter: &workerset_core::NamespaceFilter) -> Self {
        match filter {
            workerset_core::NamespaceFilter::All => Self::all(),
            workerset_core::NamespaceFilter::Exact(namespace) => Self::exact(namespace.clone()),
            workerset_core::NamespaceFilter::Prefix { prefix, strict } => Self::prefix(prefix.clone(), *strict),
        }
    }

    fn to_core(&self) -> workerset_core::NamespaceFilter {
        match self.rule.as_str() {
            "exact" => workerset_core::NamespaceFilter::Exact(self.text.clone()),
            "prefix" => workerset_core::NamespaceFilter::Prefix { prefix: self.text.clone(), strict: self.strict },
            _ => workerset_core::NamespaceFilter::All,
        }
    }

    fn check(&self) -> PyResult<()> {
        match (self.rule.as_str(), self.text.is_empty(), self.strict) {
            ("all", true, false) | ("exact", _, false) | ("prefix", _, _) => Ok(()),
            ("all", ..) => Err(PyValueError::new_err("the rule all takes no text and is not strict")),
            ("exact", ..) => Err(PyValueError::new_err("the rule exact is not strict")),
            _ => Err(PyValueError::new_err(format!("a rule is all, exact or prefix, not {:?}", abridged(&self.rule)))),
        }
    }
}

/// A filter in another record: the Python object is made when the attribute is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Filter(pub(crate) workerset_core::NamespaceFilter);

impl Hash for Filter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        NamespaceFilter::from_core(&self.0).hash(state);
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Filter {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.cast::<NamespaceFilter>()?.get().to_core()))
    }
}

impl Field for Filter {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        NamespaceFilter::from_core(&self.0).into_bound_py_any(py)
    }

    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        record::plain(&NamespaceFilter::from_core(&self.0), py)?.into_bound_py_any(py)
    }
}
