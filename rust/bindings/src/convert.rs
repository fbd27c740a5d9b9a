//! The one place where values change between Python's and the core's shape.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyMapping, PyString, PyTuple};
use serde_json::Value;
use workerset_core::{MdcChecksum, WorkerType};

use crate::identity::WorkerSetKey;
use crate::json;
use crate::record::{self, Record};
use crate::text::encoded;

/// A duration in seconds as people read it.
#[pyfunction(name = "_duration")]
#[pyo3(signature = (seconds, /))]
pub(crate) fn duration(seconds: f64) -> String {
    workerset_core::text::duration(seconds)
}

/// A type that a record's field may have. Its constructor argument is read with [`FromPyObject`].
pub(crate) trait Field {
    /// The value of the attribute, and of the constructor's argument.
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>>;

    /// The value in `to_dict()`.
    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.attribute(py)
    }
}

macro_rules! plain_field {
    ($($type:ty),*) => {
        $(
            impl Field for $type {
                fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
                    self.into_bound_py_any(py)
                }
            }
        )*
    };
}

plain_field!(String, bool, u32, u64, usize, i64);

impl<T: Field> Field for Option<T> {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_ref().map_or_else(|| Ok(py.None().into_bound(py)), |value| value.attribute(py))
    }

    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.as_ref().map_or_else(|| Ok(py.None().into_bound(py)), |value| value.plain(py))
    }
}

/// Any sequence on the way in, a tuple as an attribute, a list in `to_dict()`.
#[derive(Clone, Debug, Default, Hash, PartialEq)]
pub(crate) struct Items<T>(pub(crate) Vec<T>);

impl<'a, 'py, T: pyo3::conversion::FromPyObjectOwned<'py>> FromPyObject<'a, 'py> for Items<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        object.extract().map(Self)
    }
}

impl<T: Field> Field for Items<T> {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let items = self.0.iter().map(|item| item.attribute(py)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, items)?.into_bound_py_any(py)
    }

    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.iter().map(|item| item.plain(py)).collect::<PyResult<Vec<_>>>()?.into_bound_py_any(py)
    }
}

/// A record in a record: one object, however often the attribute is read.
#[derive(Debug)]
pub(crate) struct Ref<T>(pub(crate) Py<T>);

impl<T: Record + pyo3::PyClass + Into<pyo3::PyClassInitializer<T>>> Ref<T> {
    pub(crate) fn new(py: Python<'_>, record: T) -> PyResult<Self> {
        Py::new(py, record).map(Self)
    }
}

impl<T: Record> std::ops::Deref for Ref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.get()
    }
}

impl<T: Record + PartialEq> PartialEq for Ref<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Record + Hash> Hash for Ref<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<'a, 'py, T: Record> FromPyObject<'a, 'py> for Ref<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.cast::<T>()?.to_owned().unbind()))
    }
}

impl<T: Record> Field for Ref<T> {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.0.bind(py).clone().into_any())
    }

    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        record::plain(&**self, py)?.into_bound_py_any(py)
    }
}

/// Records by name: a dict on the way in, a new dict as an attribute.
#[derive(Debug)]
pub(crate) struct Named<T>(pub(crate) BTreeMap<String, Ref<T>>);

impl<T: Record + PartialEq> PartialEq for Named<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Record + Hash> Hash for Named<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<'a, 'py, T: Record> FromPyObject<'a, 'py> for Named<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let items = object.cast::<PyMapping>()?.items()?;
        items.iter().map(|item| item.extract::<(String, Ref<T>)>()).collect::<PyResult<_>>().map(Self)
    }
}

impl<T: Record> Field for Named<T> {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dict = PyDict::new(py);
        for (name, record) in &self.0 {
            dict.set_item(name, record.attribute(py)?)?;
        }
        Ok(dict.into_any())
    }

    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let dict = PyDict::new(py);
        for (name, record) in &self.0 {
            dict.set_item(name, record.plain(py)?)?;
        }
        Ok(dict.into_any())
    }
}

/// A time or a duration in seconds, a `float` in Python.
#[derive(Clone, Copy, Debug, FromPyObject, PartialEq)]
#[pyo3(transparent)]
pub(crate) struct Seconds(pub(crate) f64);

impl Hash for Seconds {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // The sum makes one bit pattern of the two zeros, which are equal.
        (self.0 + 0.0).to_bits().hash(state);
    }
}

impl Field for Seconds {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.into_bound_py_any(py)
    }
}

/// A checksum: 64 lower-case hex digits in Python.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Checksum(pub(crate) MdcChecksum);

impl<'a, 'py> FromPyObject<'a, 'py> for Checksum {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>()?;
        let text = text.to_str()?;
        checksum(text).map(Self).ok_or_else(|| {
            PyValueError::new_err(format!("a checksum is 64 lower-case hex digits, not {:?}", abridged(text)))
        })
    }
}

impl Field for Checksum {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.to_string().into_bound_py_any(py)
    }
}

/// A worker's role by its wire name.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Role(pub(crate) WorkerType);

impl Role {
    pub(crate) fn from_name(name: &str) -> PyResult<Self> {
        [WorkerType::Aggregated, WorkerType::Decode, WorkerType::Encode, WorkerType::Prefill]
            .into_iter()
            .find(|role| role.as_str() == name)
            .map(Self)
            .ok_or_else(|| {
                let expected = "a worker type is aggregated, decode, encode or prefill";
                PyValueError::new_err(format!("{expected}, not {:?}", abridged(name)))
            })
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Role {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Self::from_name(object.cast::<PyString>()?.to_str()?)
    }
}

impl Field for Role {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.as_str().into_bound_py_any(py)
    }
}

/// A set's key, shared with the core: the Python object is made when the attribute is read. `to_dict()` shows its `str()`.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Key(pub(crate) Arc<workerset_core::WorkerSetKey>);

impl<'a, 'py> FromPyObject<'a, 'py> for Key {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(object.cast::<WorkerSetKey>()?.get().to_core()))
    }
}

impl Field for Key {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        WorkerSetKey::from_core(&self.0).into_bound_py_any(py)
    }

    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.to_string().into_bound_py_any(py)
    }
}

/// A stored record's JSON, which keeps whether it came as `bytes` or `str`. The bytes are copied once, on the way in.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Stored {
    Bytes(Arc<[u8]>),
    Text(Arc<str>),
    Unchanged,
}

impl Stored {
    pub(crate) fn to_core(&self) -> Option<Arc<[u8]>> {
        match self {
            Self::Bytes(bytes) => Some(Arc::clone(bytes)),
            Self::Text(text) => Some(Arc::from(Arc::clone(text))),
            Self::Unchanged => None,
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Stored {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            Ok(Self::Bytes(bytes.as_bytes().into()))
        } else if let Ok(text) = object.cast::<PyString>() {
            match text.to_str() {
                Ok(text) => Ok(Self::Text(text.into())),
                // No record is written like that: the decoder refuses it (clause R7).
                Err(_) => Ok(Self::Bytes(encoded(&text)?.as_bytes().into())),
            }
        } else if object.is_none() {
            Ok(Self::Unchanged)
        } else {
            Err(PyTypeError::new_err(format!("expected bytes, str or None, not {}", object.get_type().name()?)))
        }
    }
}

impl Field for Stored {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Self::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
            Self::Text(text) => PyString::new(py, text).into_any(),
            Self::Unchanged => py.None().into_bound(py),
        })
    }

    /// Text in any case; bytes that are not UTF-8 become lone surrogates, which `json.dumps` escapes.
    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Bytes(bytes) => {
                let bytes = PyBytes::new(py, bytes);
                Ok(PyString::from_encoded_object(&bytes, Some(c"utf-8"), Some(c"surrogateescape"))?.into_any())
            }
            Self::Text(_) | Self::Unchanged => self.attribute(py),
        }
    }
}

/// Any JSON value as Python's own types; a list comes out as a list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Json(pub(crate) Value);

impl Hash for Json {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_string().hash(state);
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Json {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        json::from_python(&object).map(Self)
    }
}

impl Field for Json {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.0)
    }
}

/// The start of a text for a message.
pub(crate) fn abridged(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn checksum(text: &str) -> Option<MdcChecksum> {
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let pairs: &[[u8; 2]; 32] = text.as_bytes().as_chunks().0.try_into().ok()?;
    let mut sum = [0; 32];
    for (byte, [high, low]) in sum.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    (text.len() == 2 * sum.len()).then_some(MdcChecksum(sum))
}
