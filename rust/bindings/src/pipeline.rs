//! Pipelines: Python objects that the core keeps, and may drop while the controller is locked.

use std::cell::RefCell;
use std::sync::Arc;

use pyo3::prelude::*;
use workerset_core::routing::Pipeline;

/// A Python object for the core to keep; `None` is no pipeline.
pub(crate) fn hold(object: Option<Py<PyAny>>) -> Option<Pipeline> {
    object.map(|object| -> Pipeline { Arc::new(Held(Some(object))) })
}

/// The Python object behind a pipeline.
pub(crate) fn reveal(py: Python<'_>, pipeline: Option<&Pipeline>) -> Option<Py<PyAny>> {
    pipeline?.downcast_ref::<Held>()?.0.as_ref().map(|object| object.clone_ref(py))
}

/// While it lives, pipelines that this thread drops for the last time are kept, and dropped with it. Dropping one may run
/// Python code, which may call the controller again: so this must outlive the lock.
pub(crate) struct DeferredDrops(());

impl DeferredDrops {
    pub(crate) fn begin() -> Self {
        DEFERRED.set(Some(Vec::new()));
        Self(())
    }
}

impl Drop for DeferredDrops {
    fn drop(&mut self) {
        // Taken out first: code that runs now defers nothing.
        drop(DEFERRED.take());
    }
}

/// Holds its object until it is dropped.
struct Held(Option<Py<PyAny>>);

impl Drop for Held {
    fn drop(&mut self) {
        let object = self.0.take();
        // Where the thread is at its end and has no list any more, the object goes at once, with the closure.
        let undeferred = DEFERRED.try_with(move |deferred| match &mut *deferred.borrow_mut() {
            Some(kept) => {
                kept.extend(object);
                None
            }
            None => object,
        });
        drop(undeferred);
    }
}

thread_local! {
    static DEFERRED: RefCell<Option<Vec<Py<PyAny>>>> = const { RefCell::new(None) };
}
