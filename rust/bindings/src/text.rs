//! Texts that Python hands in. They may hold lone surrogates, as undecodable file names and some JSON do, and cannot be
//! encoded then. Nothing that was read from a record has one, so such a text equals no name.

use std::borrow::Cow;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

/// For people: what cannot be encoded is escaped.
pub(crate) fn shown<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    text.to_str().map(Cow::Borrowed).or_else(|_| escaped(text).map(Cow::Owned))
}

/// To look up a namespace or a model type, none of which holds a slash.
pub(crate) fn part<'a>(text: &'a Bound<'_, PyString>) -> PyResult<Cow<'a, str>> {
    text.to_str().map(Cow::Borrowed).or_else(|_| Ok(Cow::Owned(format!("/{}", escaped(text)?))))
}

/// The text in UTF-8; a lone surrogate comes out as what no decoder takes.
pub(crate) fn encoded<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(text.call_method1("encode", ("utf-8", "surrogatepass"))?.cast_into()?)
}

fn escaped(text: &Bound<'_, PyString>) -> PyResult<String> {
    let bytes = text.call_method1("encode", ("utf-8", "backslashreplace"))?;
    Ok(String::from_utf8_lossy(bytes.cast::<PyBytes>()?.as_bytes()).into_owned())
}

/// An instance id that came with a request: none for an integer that no id can be.
pub(crate) fn instance_id(object: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    match object.extract() {
        Ok(id) => Ok(Some(id)),
        Err(error) if error.is_instance_of::<PyOverflowError>(object.py()) => Ok(None),
        Err(error) => Err(error),
    }
}
