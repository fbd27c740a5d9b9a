//! `AdmissionController`: one mutex around the core's controller, and a table of routes beside it.

use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyString, PyTuple};
use workerset_core::routing::{RouteError, RouteTable, Wanted};
use workerset_core::{Controller, Decoder, Output, SourceState};

use crate::asked::Asked;
use crate::command::{BuildToken, command};
use crate::config::AdmissionConfig;
use crate::convert::{Ref, abridged};
use crate::error;
use crate::event::events;
use crate::identity::WorkerSetKey;
use crate::inventory::{Filtered, Inventory};
use crate::notice::notice;
use crate::pipeline::{self, DeferredDrops};
use crate::random::random;
use crate::routing::Route;
use crate::text::{part, shown};
use crate::verdict::verdict;

/// Decides who is admitted.
#[pyclass(module = "workerset._native", frozen, weakref)]
pub(crate) struct AdmissionController {
    /// Held for one call of the core at a time; no Python code runs meanwhile.
    core: Mutex<Controller>,
    decoder: Arc<Decoder>,
    routes: Arc<RouteTable>,
    closed: AtomicBool,
    /// Why, once it is.
    abandoned: OnceLock<String>,
}

#[pymethods]
impl AdmissionController {
    #[new]
    #[pyo3(signature = (config = None, *, build_timeout = None))]
    fn new(config: Option<Ref<AdmissionConfig>>, build_timeout: Option<f64>) -> PyResult<Self> {
        error::guarded(|| {
            let config =
                config.map_or_else(|| Ok(workerset_core::AdmissionConfig::default()), |given| given.to_core())?;
            let controller_id = fresh_identity();
            let core = Controller::new(workerset_core::AdmissionConfig { controller_id, build_timeout, ..config });
            Ok(Self {
                decoder: core.decoder(),
                routes: core.routes(),
                core: Mutex::new(core),
                closed: AtomicBool::new(false),
                abandoned: OnceLock::new(),
            })
        })
    }

    /// Take events, in their order, as one step.
    #[pyo3(signature = (events, *, now))]
    fn apply(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = events)] events: (Vec<workerset_core::Event>, usize),
        now: Now,
    ) -> PyResult<()> {
        self.entry(py, || {
            self.check_open()?;
            let (events, records) = events;
            let _after_the_lock = DeferredDrops::begin();
            if records < LARGE_BATCH {
                let observations: Vec<_> = events.into_iter().map(|event| self.decoder.decode(event)).collect();
                self.lock(py).apply(observations, now.0);
            } else {
                py.detach(|| {
                    let observations: Vec<_> = events.into_iter().map(|event| self.decoder.decode(event)).collect();
                    self.lock_detached().apply(observations, now.0);
                });
            }
            Ok(())
        })
    }

    /// A build produced a pipeline.
    #[pyo3(signature = (token, pipeline = None, *, now))]
    fn build_succeeded<'py>(
        &self,
        py: Python<'py>,
        token: Ref<BuildToken>,
        pipeline: Option<Py<PyAny>>,
        now: Now,
    ) -> PyResult<Bound<'py, PyAny>> {
        let token = token.to_core();
        self.report(py, |core| core.build_succeeded(&token, pipeline::hold(pipeline), now.0))
    }

    /// A build failed.
    #[pyo3(signature = (token, reason, *, now))]
    fn build_failed<'py>(
        &self,
        py: Python<'py>,
        token: Ref<BuildToken>,
        reason: &Bound<'_, PyString>,
        now: Now,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (token, reason) = (token.to_core(), shown(reason)?);
        self.report(py, |core| core.build_failed(&token, &reason, now.0))
    }

    /// A build was stopped.
    #[pyo3(signature = (token, *, now))]
    fn build_cancelled<'py>(&self, py: Python<'py>, token: Ref<BuildToken>, now: Now) -> PyResult<Bound<'py, PyAny>> {
        let token = token.to_core();
        self.report(py, |core| core.build_cancelled(&token, now.0))
    }

    /// Let time pass.
    #[pyo3(signature = (*, now))]
    fn advance(&self, py: Python<'_>, now: Now) -> PyResult<()> {
        self.entry(py, || {
            self.check_open()?;
            let _after_the_lock = DeferredDrops::begin();
            self.lock(py).advance(now.0);
            Ok(())
        })
    }

    /// When `advance` has something to do next.
    #[getter]
    fn next_deadline(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.entry(py, || Ok(self.lock(py).next_deadline()))
    }

    /// The next command or notice, in order.
    fn poll<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.entry(py, || {
            let output = self.lock(py).poll();
            let object = output.map(|output| match output {
                Output::Command(asked) => command(py, asked),
                Output::Notice(told) => notice(py, told),
            });
            // An output that found no memory is lost, and with it the order of commands.
            object.transpose().inspect_err(|_| self.condemn(py))
        })
    }

    /// The connection to discovery changed.
    #[pyo3(signature = (state, *, now))]
    fn source_changed(&self, py: Python<'_>, state: Source, now: Now) -> PyResult<()> {
        self.entry(py, || {
            self.check_open()?;
            let _after_the_lock = DeferredDrops::begin();
            self.lock(py).source_changed(state.0, now.0);
            Ok(())
        })
    }

    /// Everything that is held, at one moment.
    #[pyo3(signature = (*, now, filtered = Vec::new()), text_signature = "($self, *, now, filtered=())")]
    fn inventory(&self, py: Python<'_>, now: Now, filtered: Vec<Ref<Filtered>>) -> PyResult<Inventory> {
        self.entry(py, || {
            self.check_open()?;
            self.take_inventory(py, now.0, filtered)
        })
    }

    /// One consistent view for a request.
    #[pyo3(signature = (model, model_type = None, namespace = None))]
    fn route(
        slf: &Bound<'_, Self>,
        model: &Bound<'_, PyString>,
        model_type: Option<&Bound<'_, PyString>>,
        namespace: Option<&Bound<'_, PyString>>,
    ) -> PyResult<Route> {
        let controller = slf.get();
        controller.entry(slf.py(), || {
            let Ok(name) = model.to_str() else { return Err(error::model_not_found(model)) };
            let model_type = model_type.map(part).transpose()?;
            let namespace = namespace.map(part).transpose()?;
            let (model_type, namespace) = (model_type.as_deref(), namespace.as_deref());
            controller.routes.route(name, model_type, namespace, random()).map(Route).map_err(|failed| match failed {
                RouteError::NotFound => error::model_not_found(model),
                RouteError::NotReady { model: stands_for } => {
                    let asked = Asked::new(slf.clone().unbind(), name, stands_for.clone(), model_type, namespace);
                    error::not_ready(stands_for, asked)
                }
                RouteError::Closed => error::controller_closed(),
            })
        })
    }

    /// Names of ready models, sorted.
    fn models<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.entry(py, || PyTuple::new(py, self.routes.models()))
    }

    /// Retire every channel.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.entry(py, || {
            self.closed.store(true, Ordering::Release);
            let _after_the_lock = DeferredDrops::begin();
            self.lock(py).close();
            Ok(())
        })
    }

    /// Whether the controller is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// End everything in a forked child, without waiting for a lock.
    #[pyo3(signature = (reason, /))]
    fn _abandon(&self, reason: String) {
        self.closed.store(true, Ordering::Release);
        self.routes.abandon();
        self.abandoned.get_or_init(|| reason);
    }

    /// Why a set serves nothing now; None if it serves.
    #[pyo3(signature = (worker_set, /))]
    fn _set_reason(&self, py: Python<'_>, worker_set: Ref<WorkerSetKey>) -> PyResult<Option<String>> {
        self.entry(py, || Ok(self.lock(py).set_reason(&worker_set.to_core())))
    }

    /// Begin to wait for a route; the ticket.
    #[pyo3(signature = (model, model_type, namespace, unknown_ok, /))]
    fn _begin_wait(
        &self,
        py: Python<'_>,
        model: &Bound<'_, PyString>,
        model_type: Option<&Bound<'_, PyString>>,
        namespace: Option<&Bound<'_, PyString>>,
        unknown_ok: bool,
    ) -> PyResult<u64> {
        self.entry(py, || {
            let wanted = Wanted {
                name: model.to_str().ok().map(Into::into),
                model_type: model_type.map(part).transpose()?.map(Into::into),
                namespace: namespace.map(part).transpose()?.map(Into::into),
                unknown_ok,
            };
            Ok(self.routes.begin_wait(wanted))
        })
    }

    /// Give a wait up.
    #[pyo3(signature = (ticket, /))]
    fn _give_up_wait(&self, py: Python<'_>, ticket: u64) -> PyResult<()> {
        self.entry(py, || {
            self.routes.give_up_wait(ticket);
            Ok(())
        })
    }

    /// Tickets of the waits that have ended since the last call.
    fn _ended_waits(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.entry(py, || Ok(self.routes.ended_waits()))
    }
}

impl AdmissionController {
    /// Why there is no route now, a sentence each.
    pub(crate) fn reasons(
        &self,
        py: Python<'_>,
        model: &str,
        model_type: Option<&str>,
        namespace: Option<&str>,
    ) -> PyResult<Vec<String>> {
        self.entry(py, || Ok(self.lock(py).reasons(model, model_type, namespace)))
    }

    /// The inventory entries of a model.
    pub(crate) fn worker_sets<'py>(&self, py: Python<'py>, model: &str) -> PyResult<Bound<'py, PyTuple>> {
        self.entry(py, || {
            // A time that is in the past for every clock lets nothing fall due.
            let inventory = self.take_inventory(py, f64::NEG_INFINITY, Vec::new())?;
            let of_model = inventory.worker_sets.0.iter().filter(|set| set.model == model);
            PyTuple::new(py, of_model.map(|set| set.0.bind(py)).collect::<Vec<_>>())
        })
    }

    /// Runs an entry point. A panic anywhere in it becomes `InternalError` and closes the controller.
    fn entry<T>(&self, py: Python<'_>, entry: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        if let Some(reason) = self.abandoned.get() {
            return Err(error::abandoned(reason));
        }
        catch_unwind(AssertUnwindSafe(entry)).unwrap_or_else(|panic| {
            self.condemn(py);
            Err(error::internal(panic.as_ref()))
        })
    }

    /// Closes the controller and retires its channels, as far as a broken state allows.
    fn condemn(&self, py: Python<'_>) {
        self.closed.store(true, Ordering::Release);
        let _after_the_lock = DeferredDrops::begin();
        let _as_far_as_possible = catch_unwind(AssertUnwindSafe(|| self.lock(py).close()));
    }

    fn report<'py>(
        &self,
        py: Python<'py>,
        report: impl FnOnce(&mut Controller) -> workerset_core::BuildVerdict,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.entry(py, || {
            let _after_the_lock = DeferredDrops::begin();
            let answer = report(&mut self.lock(py));
            verdict(py, answer)
        })
    }

    fn take_inventory(&self, py: Python<'_>, now: f64, filtered: Vec<Ref<Filtered>>) -> PyResult<Inventory> {
        let _after_the_lock = DeferredDrops::begin();
        let inventory = py.detach(|| self.lock_detached().inventory(now));
        Inventory::from_core(py, inventory, filtered)
    }

    fn check_open(&self) -> PyResult<()> {
        if self.closed() { Err(error::controller_closed()) } else { Ok(()) }
    }

    // The panic that poisons the lock also closes the controller: see `entry`.

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Controller> {
        self.core.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_detached(&self) -> MutexGuard<'_, Controller> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A time: finite.
struct Now(f64);

impl<'a, 'py> FromPyObject<'a, 'py> for Now {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let now: f64 = object.extract()?;
        if now.is_finite() { Ok(Self(now)) } else { Err(PyValueError::new_err(format!("now is not a time: {now}"))) }
    }
}

/// A source state by its name.
struct Source(SourceState);

impl<'a, 'py> FromPyObject<'a, 'py> for Source {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let name = object.cast::<PyString>()?;
        let name = &*shown(&name)?;
        [SourceState::Live, SourceState::Lost, SourceState::Ended]
            .into_iter()
            .find(|state| state.as_str() == name)
            .map(Self)
            .ok_or_else(|| PyValueError::new_err(format!("a state is live, lost or ended, not {:?}", abridged(name))))
    }
}

/// Records in a batch from which on other Python threads may run meanwhile: about half a millisecond of work. Below, the
/// hand-over would cost more than it gives.
const LARGE_BATCH: usize = 64;

/// What tells tokens of one controller from those of another (clause S3): random, and another one in a forked process.
fn fresh_identity() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
