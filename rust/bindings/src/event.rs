//! Events: what discovery saw.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use workerset_core::Event;

use crate::convert::{Items, Ref, Stored};
use crate::record::record;

record! {
    /// A key was written or confirmed.
    Apply {
        /// Full path, bucket included.
        path: String,
        /// The record's JSON as the backend stores it.
        value: Stored,
        /// Where in the source's order this was seen; 0 when unknown.
        revision: u64 = 0,
        /// When the key was created, in any unit that orders the keys of one source.
        created: Option<i64> = None,
        /// Identity of the registration behind the key.
        incarnation: Option<String> = None,
        /// Why the source does not hand the value over.
        refused: Option<String> = None,
    }
    check Apply::check;
}

record! {
    /// A key is gone.
    Delete {
        /// Full path, bucket included.
        path: String,
        /// Where in the source's order this was seen; 0 when unknown.
        revision: u64 = 0,
    }
}

record! {
    /// Everything that the source holds below a prefix.
    Reset {
        /// The keys.
        entries: Items<Ref<Apply>>,
        /// The revision at which the listing was taken, at the latest.
        as_of: u64,
        /// Start of all paths that the listing covers; empty for everything.
        prefix: String => String::new(),
    }
    signature "(entries, as_of, prefix='')";
}

impl Apply {
    fn check(&self) -> PyResult<()> {
        if self.refused.is_some() && self.value != Stored::Unchanged {
            return Err(PyValueError::new_err("what the source refused has no value: value has to be None"));
        }
        Ok(())
    }

    fn to_core(&self) -> workerset_core::Apply {
        workerset_core::Apply {
            path: self.path.clone(),
            value: self.value.to_core(),
            revision: self.revision,
            created: self.created,
            incarnation: self.incarnation.clone(),
            refused: self.refused.clone(),
        }
    }
}

impl Reset {
    fn to_core(&self) -> workerset_core::Reset {
        workerset_core::Reset {
            entries: self.entries.0.iter().map(|entry| entry.to_core()).collect(),
            as_of: self.as_of,
            prefix: self.prefix.clone(),
        }
    }
}

/// The events of any iterable, and how many records they carry. Values are shared, not copied.
pub(crate) fn events(iterable: &Bound<'_, PyAny>) -> PyResult<(Vec<Event>, usize)> {
    let mut events = Vec::new();
    let mut records = 0;
    for (index, object) in iterable.try_iter()?.enumerate() {
        let object = object?;
        if let Ok(apply) = object.cast::<Apply>() {
            let apply = apply.get();
            if apply.value == Stored::Unchanged && apply.refused.is_none() {
                return Err(PyValueError::new_err(format!(
                    "events[{index}]: value=None is for the entries of a Reset and for refused records only"
                )));
            }
            records += 1;
            events.push(Event::Apply(apply.to_core()));
        } else if let Ok(delete) = object.cast::<Delete>() {
            let Delete { path, revision } = delete.get();
            records += 1;
            events.push(Event::Delete { path: path.clone(), revision: *revision });
        } else if let Ok(reset) = object.cast::<Reset>() {
            let reset = reset.get();
            records += reset.entries.0.len();
            events.push(Event::Reset(reset.to_core()));
        } else {
            let found = object.get_type();
            return Err(PyTypeError::new_err(format!(
                "events[{index}]: expected Apply, Delete or Reset, not {}",
                found.name()?
            )));
        }
    }
    Ok((events, records))
}
