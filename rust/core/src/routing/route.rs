//! The table that requests are routed by. A controller changes it once per call; readers hold it for one look-up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};

use super::hop::{Binding, Hop};
use super::table::{Asked, Table};
use super::topology::NamespaceRoutes;
use super::waits::{Touched, Waits, Wanted};

/// Where one request may go: one consistent view.
#[derive(Clone, Debug)]
pub struct Route {
    /// Display name of the model.
    pub model: String,
    /// Namespace of the set.
    pub namespace: String,
    /// The binding that serves.
    pub binding: Arc<Binding>,
    /// The adapter, when its name was asked for.
    pub adapter: Option<String>,
    /// Decode or aggregated workers.
    pub decode: Arc<Hop>,
    /// Prefill workers, when the hop exists.
    pub prefill: Option<Arc<Hop>>,
    /// Encode workers, when the hop exists.
    pub encode: Option<Arc<Hop>>,
}

/// Why there is no route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RouteError {
    /// Nobody registered that name.
    NotFound,
    /// The name is known, or nothing has been observed yet, but no request can be served: see [`crate::Controller::reasons`].
    NotReady {
        /// The model that the name stands for, or the name itself.
        model: String,
    },
    /// The controller is closed.
    Closed,
}

/// Names to sets. Shared between a controller and everybody who routes; see [`RouteTable::route`].
#[derive(Debug, Default)]
pub struct RouteTable {
    table: RwLock<Table>,
    /// Taken before the table, never while it is held.
    waits: Mutex<Waits>,
    abandoned: Arc<AtomicBool>,
}

/// What one call of a controller changes, published in one step (clause D5).
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) observed: bool,
    pub(crate) closed: bool,
    pub(crate) names: BTreeMap<Box<str>, Option<Arc<str>>>,
    pub(crate) adapters: BTreeMap<Box<str>, Option<Arc<str>>>,
    pub(crate) known: BTreeMap<Box<str>, bool>,
    pub(crate) namespaces: Vec<(String, String, Option<NamespaceRoutes>)>,
    /// In how many sets more, or less, an adapter has a routable carrier.
    pub(crate) carried: BTreeMap<Box<str>, isize>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        let Self { observed, closed, names, adapters, known, namespaces, carried } = self;
        let lists_are_empty = names.is_empty() && adapters.is_empty() && known.is_empty() && namespaces.is_empty();
        !observed && !closed && lists_are_empty && carried.is_empty()
    }
}

impl RouteTable {
    /// Route a request for a model, alias or adapter, optionally of one model type (`chat`) and namespace.
    ///
    /// Among several serving sets one is drawn, weighted by routable workers; `random` is a fresh uniform number.
    /// Cost: O(serving sets of the model). Waits only while a change of this table is written, never for an `apply`.
    pub fn route(
        &self,
        name: &str,
        model_type: Option<&str>,
        namespace: Option<&str>,
        random: u64,
    ) -> Result<Route, RouteError> {
        if self.is_abandoned() {
            return Err(RouteError::Closed);
        }
        self.read().route(&Asked { name, model_type, namespace }, random)
    }

    /// Whether a model stands behind the name now: something is committed for it.
    pub(crate) fn names_model(&self, name: &str) -> bool {
        self.read().model(name).is_some()
    }

    /// The model that stands behind the name, or the name itself, and what is in the way of its committed sets, one
    /// sentence each; nothing if a request can be routed. Cost: O(sets of the model).
    pub(crate) fn obstacles(
        &self,
        name: &str,
        model_type: Option<&str>,
        namespace: Option<&str>,
    ) -> (Arc<str>, Vec<String>) {
        let table = self.read();
        let model = table.model(name).cloned().unwrap_or_else(|| name.into());
        let obstacles = table.obstacles(&model, &Asked { name, model_type, namespace });
        (model, obstacles)
    }

    /// Names of ready models: display names, their aliases and projected adapters; sorted. Cost: O(names).
    pub fn models(&self) -> Vec<String> {
        self.read().ready_names().into_iter().map(Into::into).collect()
    }

    /// Begin to wait for a route. The ticket is told once by [`RouteTable::ended_waits`], after the change that made the
    /// route possible, or its name unknown. Ask for the route after this call and before waiting: nothing falls between.
    ///
    /// What a change costs does not depend on who waits for what it does not touch.
    pub fn begin_wait(&self, wanted: Wanted) -> u64 {
        let mut waits = self.waits();
        let table = self.read();
        waits.begin(wanted, &table)
    }

    /// Give a wait up. One that has ended is none.
    pub fn give_up_wait(&self, ticket: u64) {
        self.waits().give_up(ticket);
    }

    /// Tickets of the waits that have ended since the last call.
    pub fn ended_waits(&self) -> Vec<u64> {
        self.waits().take_ended()
    }

    /// Give everything up at once: from here on there is no route, and no binding of this table yields an id.
    ///
    /// For a forked process, where nothing keeps the table up to date. Waits for no lock: whoever holds one may not exist
    /// there. No other method may be called afterwards but [`RouteTable::route`] and [`RouteTable::is_abandoned`].
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }

    /// Whether [`RouteTable::abandon`] was called.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }

    pub(crate) fn abandonment(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.abandoned)
    }

    pub(crate) fn publish(&self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        // Held throughout: a wait that begins meanwhile would miss the change.
        let mut waits = self.waits();
        let touched = (!waits.is_empty()).then(|| Touched::by(&changes));
        self.table.write().unwrap_or_else(PoisonError::into_inner).take(changes);
        if let Some(touched) = touched {
            waits.look(&touched, &self.read());
        }
    }

    // A panic under these locks is caught at the boundary and closes the controller; readers go on with what is there.

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
