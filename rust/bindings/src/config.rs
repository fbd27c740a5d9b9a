//! `AdmissionConfig`: what a controller is told once.

use std::hash::{Hash, Hasher};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFrozenSet, PySet, PyString};
use workerset_core::card::{RouterMode, is_tokenizer_backend};
use workerset_core::{NamespaceFilter, Profile, RouterPolicyFiles};

use crate::convert::{Field, Seconds, abridged};
use crate::error;
use crate::identity::Filter;
use crate::record::record;
use crate::text::shown;

record! {
    /// Everything that a controller is told when it is made.
    AdmissionConfig {
        /// The release whose checksum is computed.
        checksum_profile: ProfileName => ProfileName(Profile::V1_6),
        /// How many builds run at once.
        max_concurrent_builds: i64 = 8,
        /// Bytes of a record.
        max_record_bytes: i64 = 4_194_304,
        /// Which namespaces are looked at.
        namespaces: Filter => Filter(NamespaceFilter::All),
        /// How long a model whose last worker left stays known.
        linger_seconds: Seconds => Seconds(60.0),
        /// Overwrites the tokenizer backend of every card.
        tokenizer_backend: Option<String> = None,
        /// Overwrites the tokenizer fallback of every card.
        tokenizer_fallback: Option<bool> = None,
        /// Which router policy files cards may name.
        router_policy_files: PolicyFiles => PolicyFiles(RouterPolicyFiles::Refuse),
        /// The router mode where the selected card advertises none.
        default_router_mode: Mode => Mode(RouterMode::RoundRobin),
    }
    by_name *;
    signature "(*, checksum_profile='1.6', max_concurrent_builds=8, max_record_bytes=4194304, namespaces=..., linger_seconds=60.0, \
        tokenizer_backend=None, tokenizer_fallback=None, \
        router_policy_files='refuse', default_router_mode='round_robin')";
    check AdmissionConfig::check;
}

impl AdmissionConfig {
    /// The core's configuration; the controller that gets it has yet to give itself an identity.
    pub(crate) fn to_core(&self) -> PyResult<workerset_core::AdmissionConfig> {
        Ok(workerset_core::AdmissionConfig {
            checksum_profile: self.checksum_profile.0,
            max_concurrent_builds: self.builds()?,
            max_record_bytes: self.record_bytes()?,
            namespaces: self.namespaces.0.clone(),
            linger_seconds: self.linger_seconds.0,
            tokenizer_backend: self.tokenizer_backend.clone(),
            tokenizer_fallback: self.tokenizer_fallback,
            router_policy_files: self.router_policy_files.0.clone(),
            default_router_mode: self.default_router_mode.0,
            ..workerset_core::AdmissionConfig::default()
        })
    }

    fn check(&self) -> PyResult<()> {
        self.builds()?;
        self.record_bytes()?;
        let seconds = self.linger_seconds.0;
        if !(0.0..=MAX_SECONDS).contains(&seconds) {
            return Err(error::config("linger_seconds", format!("{seconds} is not from 0 to {MAX_SECONDS} seconds")));
        }
        let profile = self.checksum_profile.0;
        if let Some(backend) = self.tokenizer_backend.as_deref().filter(|name| !is_tokenizer_backend(name, profile)) {
            let reason = format!("{:?} is no tokenizer backend of {}", abridged(backend), profile.as_str());
            return Err(error::config("tokenizer_backend", reason));
        }
        Ok(())
    }

    fn builds(&self) -> PyResult<usize> {
        bounded("max_concurrent_builds", self.max_concurrent_builds, MAX_BUILDS)
    }

    fn record_bytes(&self) -> PyResult<usize> {
        bounded("max_record_bytes", self.max_record_bytes, MAX_BYTES)
    }
}

/// An option that is from 1 to a maximum.
fn bounded(field: &'static str, value: i64, most: usize) -> PyResult<usize> {
    let valid = usize::try_from(value).ok().filter(|value| (1..=most).contains(value));
    valid.ok_or_else(|| error::config(field, format!("{value} is not from 1 to {most}")))
}

/// A checksum profile by its name.
#[derive(Clone, Copy, Debug, Hash, PartialEq)]
pub(crate) struct ProfileName(pub(crate) Profile);

impl ProfileName {
    pub(crate) fn parse(field: &'static str, name: &str) -> PyResult<Self> {
        Profile::from_name(name).map(Self).ok_or_else(|| {
            let known = Profile::ALL.map(Profile::as_str).join(", ");
            error::config(field, format!("{:?} is none of {known}", abridged(name)))
        })
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for ProfileName {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Self::parse("checksum_profile", &shown(&*object.cast::<PyString>()?)?)
    }
}

impl Field for ProfileName {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.as_str().into_bound_py_any(py)
    }
}

/// `"refuse"`, `"accept"` or a set of paths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PolicyFiles(pub(crate) RouterPolicyFiles);

impl Hash for PolicyFiles {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            RouterPolicyFiles::Refuse => state.write_u8(0),
            RouterPolicyFiles::Accept => state.write_u8(1),
            RouterPolicyFiles::Paths(paths) => paths.hash(state),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for PolicyFiles {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(word) = object.cast::<PyString>() {
            return match &*shown(&word)? {
                "refuse" => Ok(Self(RouterPolicyFiles::Refuse)),
                "accept" => Ok(Self(RouterPolicyFiles::Accept)),
                other => Err(error::config(
                    "router_policy_files",
                    format!("{:?} is neither refuse nor accept nor a set of paths", abridged(other)),
                )),
            };
        }
        if object.cast::<PyFrozenSet>().is_ok() || object.cast::<PySet>().is_ok() {
            let paths = object.try_iter()?.map(|path| path?.extract()).collect::<PyResult<_>>()?;
            return Ok(Self(RouterPolicyFiles::Paths(paths)));
        }
        Err(PyTypeError::new_err(format!(
            "expected \"refuse\", \"accept\" or a set, not {}",
            object.get_type().name()?
        )))
    }
}

impl Field for PolicyFiles {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            RouterPolicyFiles::Refuse => "refuse".into_bound_py_any(py),
            RouterPolicyFiles::Accept => "accept".into_bound_py_any(py),
            RouterPolicyFiles::Paths(paths) => PyFrozenSet::new(py, paths)?.into_bound_py_any(py),
        }
    }

    /// Paths ascending.
    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0 {
            RouterPolicyFiles::Paths(paths) => paths.iter().collect::<Vec<_>>().into_bound_py_any(py),
            RouterPolicyFiles::Refuse | RouterPolicyFiles::Accept => self.attribute(py),
        }
    }
}

/// A router mode by its wire name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mode(pub(crate) RouterMode);

impl Hash for Mode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_str().hash(state);
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Mode {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let name = object.cast::<PyString>()?;
        let name = shown(&name)?;
        RouterMode::from_name(&name)
            .map(Self)
            .ok_or_else(|| error::config("default_router_mode", format!("{:?} is no router mode", abridged(&name))))
    }
}

impl Field for Mode {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.as_str().into_bound_py_any(py)
    }
}

/// More than any frontend can build at once; keeps sums of it far from overflow.
const MAX_BUILDS: usize = 1_000_000;

/// A gibibyte.
const MAX_BYTES: usize = 1 << 30;

/// About thirty years.
const MAX_SECONDS: f64 = 1e9;
