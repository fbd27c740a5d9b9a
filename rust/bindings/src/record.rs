//! The one shape of all value classes: frozen, compared by value, hashable, matchable, picklable, printable as plain data.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyNotImplemented, PyTuple};
use pyo3::{IntoPyObjectExt, PyClass};

/// What [`record!`] knows about a class.
pub(crate) trait Record:
    Hash + PartialEq + Sync + PyClass<Frozen = pyo3::pyclass::boolean_struct::True>
{
    /// The fields, in the order of the constructor.
    const FIELDS: &'static [&'static str];
    /// Whether the constructor takes its fields by name only.
    const BY_NAME: bool;
    /// Key of `to_dict()` under which the class name stands, if any.
    const TAG: Option<&'static str>;

    /// Values of the fields as attributes.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>>;

    /// Values of the fields as data that `json.dumps` takes.
    fn plain_values<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>>;

    /// Where the record stands beside another, if the class has an order.
    fn order(&self, other: &Self) -> Option<Ordering>;

    /// Value of the field, if any, that only equality, hash and pickle see.
    fn hidden<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>>;
}

/// The record as data that `json.dumps` takes.
pub(crate) fn plain<'py, T: Record>(record: &T, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let Some(tag) = T::TAG {
        dict.set_item(tag, T::type_object(py).name()?)?;
    }
    for (field, value) in T::FIELDS.iter().zip(record.plain_values(py)?) {
        dict.set_item(field, value)?;
    }
    Ok(dict)
}

/// `Name(field=value, ...)`: the constructor call that makes the record.
pub(crate) fn repr<T: Record>(record: &T, py: Python<'_>) -> PyResult<String> {
    let mut text = T::type_object(py).name()?.to_string();
    text.push('(');
    for (index, (field, value)) in T::FIELDS.iter().zip(record.values(py)?).enumerate() {
        text.push_str(if index == 0 { "" } else { ", " });
        text.push_str(field);
        text.push('=');
        text.push_str(value.repr()?.to_str()?);
    }
    text.push(')');
    Ok(text)
}

/// `==` and, where the class has an order, `<` and the like; only with records of the same class.
pub(crate) fn compare<T: Record>(record: &T, other: &Bound<'_, PyAny>, comparison: CompareOp) -> PyResult<Py<PyAny>> {
    let py = other.py();
    let answer = other.cast::<T>().ok().and_then(|other| match comparison {
        CompareOp::Eq => Some(record == other.get()),
        CompareOp::Ne => Some(record != other.get()),
        _ => record.order(other.get()).map(|order| comparison.matches(order)),
    });
    answer.map_or_else(|| PyNotImplemented::get(py).into_py_any(py), |answer| answer.into_py_any(py))
}

/// Equal for equal records.
pub(crate) fn hash<T: Record>(record: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    record.hash(&mut hasher);
    hasher.finish()
}

/// What pickle needs to call the constructor again.
pub(crate) fn reduce<'py, T: Record>(record: &T, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
    let class = T::type_object(py);
    let mut values = record.values(py)?;
    if T::BY_NAME {
        let named = PyDict::new(py);
        for (field, value) in T::FIELDS.iter().zip(values) {
            named.set_item(field, value)?;
        }
        let make = py.import("copyreg")?.getattr("__newobj_ex__")?;
        return (make, (class, PyTuple::empty(py), named)).into_pyobject(py);
    }
    values.extend(record.hidden(py)?);
    (class, PyTuple::new(py, values)?).into_pyobject(py)
}

/// Defines a value class from its fields, whose types are [`crate::convert::Field`]s.
///
/// The fields are, in order, the constructor's parameters, the read-only attributes, the match arguments and the keys of
/// `to_dict()`. `Name["kind"]` puts the class name under that key. A literal default is written `= 0`, a computed one
/// `=> Vec::new()`. Clauses, all optional, in this order:
/// - `by_name *;` the constructor takes its fields by name only
/// - `signature "...";` spells the constructor for `inspect`, where a default is not a literal
/// - `ordered path;` a function that orders two records
/// - `hidden name: type = default;` a last constructor parameter that only equality, hash and pickle see
/// - `check path;` a function that refuses fields which contradict each other
/// - `methods { ... }` further Python methods
macro_rules! record {
    (
        $(#[$meta:meta])*
        $name:ident $([$tag:literal])? {
            $( $(#[doc = $doc:literal])* $field:ident: $type:ty $(= $default:tt)? $(=> $computed:expr)?, )*
        }
        $(by_name $star:tt;)?
        $(signature $signature:literal;)?
        $(ordered $order:path;)?
        $(hidden $hidden:ident: $hidden_type:ty = $hidden_default:tt;)?
        $(check $check:path;)?
        $(methods { $($methods:tt)* })?
    ) => {
        $(#[$meta])*
        #[pyo3::pyclass(module = "workerset._native", frozen)]
        #[derive(Hash, PartialEq)]
        pub(crate) struct $name {
            $( $(#[doc = $doc])* pub(crate) $field: $type, )*
            $( pub(crate) $hidden: $hidden_type, )?
        }

        #[allow(unused_variables, reason = "a record may have no field")]
        impl $crate::record::Record for $name {
            const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
            const BY_NAME: bool = !<[&str]>::is_empty(&[$(stringify!($star))?]);
            const TAG: Option<&'static str> = <[&str]>::first(&[$($tag)?]).copied();

            fn values<'py>(&self, py: pyo3::Python<'py>) -> pyo3::PyResult<Vec<pyo3::Bound<'py, pyo3::PyAny>>> {
                Ok(vec![$($crate::convert::Field::attribute(&self.$field, py)?),*])
            }

            fn plain_values<'py>(&self, py: pyo3::Python<'py>) -> pyo3::PyResult<Vec<pyo3::Bound<'py, pyo3::PyAny>>> {
                Ok(vec![$($crate::convert::Field::plain(&self.$field, py)?),*])
            }

            fn order(&self, other: &Self) -> Option<std::cmp::Ordering> {
                let orders: &[fn(&Self, &Self) -> std::cmp::Ordering] = &[$($order)?];
                orders.first().map(|order| order(self, other))
            }

            fn hidden<'py>(&self, py: pyo3::Python<'py>) -> pyo3::PyResult<Vec<pyo3::Bound<'py, pyo3::PyAny>>> {
                Ok(vec![$($crate::convert::Field::attribute(&self.$hidden, py)?)?])
            }
        }

        #[pyo3::pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = ($($star,)? $($field $(= $default)? $(= $computed)?,)* $($hidden = $hidden_default)?)
                $(, text_signature = $signature)?)]
            #[allow(clippy::too_many_arguments, reason = "one a field")]
            #[allow(clippy::unnecessary_wraps, reason = "only some records have a check")]
            fn new($($field: $type,)* $($hidden: $hidden_type)?) -> pyo3::PyResult<Self> {
                let record = Self { $($field,)* $($hidden)? };
                $( $check(&record)?; )?
                Ok(record)
            }

            $(
                $(#[doc = $doc])*
                #[getter]
                fn $field<'py>(&self, py: pyo3::Python<'py>) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                    $crate::error::guarded(|| $crate::convert::Field::attribute(&self.$field, py))
                }
            )*

            $($($methods)*)?

            /// The record as data that `json.dumps` takes.
            fn to_dict<'py>(&self, py: pyo3::Python<'py>) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyDict>> {
                $crate::error::guarded(|| $crate::record::plain(self, py))
            }

            fn __richcmp__(
                &self,
                other: &pyo3::Bound<'_, pyo3::PyAny>,
                comparison: pyo3::basic::CompareOp,
            ) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                $crate::error::guarded(|| $crate::record::compare(self, other, comparison))
            }

            fn __hash__(&self) -> u64 {
                $crate::record::hash(self)
            }

            fn __repr__(&self, py: pyo3::Python<'_>) -> pyo3::PyResult<String> {
                $crate::error::guarded(|| $crate::record::repr(self, py))
            }

            fn __reduce__<'py>(&self, py: pyo3::Python<'py>) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::types::PyTuple>> {
                $crate::error::guarded(|| $crate::record::reduce(self, py))
            }

            #[classattr]
            fn __match_args__(py: pyo3::Python<'_>) -> pyo3::PyResult<pyo3::Bound<'_, pyo3::types::PyTuple>> {
                let by_position: &[&str] = if <Self as $crate::record::Record>::BY_NAME {
                    &[]
                } else {
                    <Self as $crate::record::Record>::FIELDS
                };
                pyo3::types::PyTuple::new(py, by_position)
            }
        }
    };
}

pub(crate) use record;
