//! JSON values to Python objects and back.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value};

/// `None`, `bool`, `int`, `float`, `str`, `list` or `dict`.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Number(number) => number_to_python(py, number),
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(items) => {
            let items = items.iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            items.into_bound_py_any(py)
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            for (key, value) in entries {
                dict.set_item(key, to_python(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// The JSON value of what [`to_python`] gives; tuples count as lists.
pub(crate) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(object, MAX_DEPTH)
}

fn number_to_python<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    if let Some(integer) = number.as_u64() {
        integer.into_bound_py_any(py)
    } else if let Some(integer) = number.as_i64() {
        integer.into_bound_py_any(py)
    } else {
        number.as_f64().into_bound_py_any(py)
    }
}

fn nested(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    let deeper = depth.checked_sub(1).ok_or_else(|| PyValueError::new_err("nested too deeply"))?;
    if object.is_none() {
        Ok(Value::Null)
    } else if let Ok(flag) = object.cast::<PyBool>() {
        Ok(flag.is_true().into())
    } else if object.is_instance_of::<PyInt>() {
        object.extract::<u64>().map(Value::from).or_else(|_| object.extract::<i64>().map(Value::from))
    } else if let Ok(float) = object.cast::<PyFloat>() {
        Number::from_f64(float.value())
            .map(Value::Number)
            .ok_or_else(|| PyValueError::new_err("JSON has no infinite number and no NaN"))
    } else if let Ok(text) = object.cast::<PyString>() {
        Ok(text.to_str()?.into())
    } else if let Ok(entries) = object.cast::<PyDict>() {
        let mut map = Map::new();
        for (key, value) in entries {
            map.insert(key.extract()?, nested(&value, deeper)?);
        }
        Ok(map.into())
    } else if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        object.try_iter()?.map(|item| nested(&item?, deeper)).collect()
    } else {
        Err(PyTypeError::new_err(format!("{} has no JSON form", object.get_type().name()?)))
    }
}

/// As deep as the JSON parser reads.
const MAX_DEPTH: usize = 128;
