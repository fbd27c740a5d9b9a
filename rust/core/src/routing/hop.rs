//! A hop: the live set of worker ids of one binding (clauses H1 to H5, S5).

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::slots::Slots;
use crate::HashMap;
use crate::card::{ModelCard, RouterMode};
use crate::command::BuildToken;

/// What the driver built, opaque to the core.
pub type Pipeline = Arc<dyn Any + Send + Sync>;

/// A committed pipeline and its admission channel: one per successful build, never reused (clause H4).
pub struct Binding {
    /// The build that succeeded; its generation is the binding's.
    pub token: BuildToken,
    /// The selected card (clauses H3, S8).
    pub card: Arc<ModelCard>,
    /// What the driver handed in.
    pub pipeline: Option<Pipeline>,
    /// The selected card's router mode, or the controller's default.
    pub router_mode: RouterMode,
    retired: AtomicBool,
    /// The controller's, see [`super::RouteTable::abandon`].
    abandoned: Arc<AtomicBool>,
    admitted: AtomicUsize,
}

impl Binding {
    pub(crate) fn new(
        token: BuildToken,
        card: Arc<ModelCard>,
        pipeline: Option<Pipeline>,
        router_mode: RouterMode,
        abandoned: Arc<AtomicBool>,
    ) -> Arc<Self> {
        let (retired, admitted) = (AtomicBool::new(false), AtomicUsize::new(0));
        Arc::new(Self { token, card, pipeline, router_mode, retired, abandoned, admitted })
    }

    /// Whether the set went over to another cohort, withdrew, or the controller closed or was abandoned.
    pub fn retired(&self) -> bool {
        self.retired.load(Ordering::Acquire) || self.abandoned.load(Ordering::Relaxed)
    }

    /// Workers of the incumbent cohort, discovered or not.
    pub fn admitted(&self) -> usize {
        self.admitted.load(Ordering::Relaxed)
    }

    pub(crate) fn set_admitted(&self, admitted: usize) {
        self.admitted.store(admitted, Ordering::Relaxed);
    }

    /// From here on no pick of any hop of this binding yields an id (clause S5).
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Release);
    }
}

impl fmt::Debug for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binding").field("token", &self.token).field("retired", &self.retired).finish_non_exhaustive()
    }
}

/// One admitted and discovered worker.
#[derive(Debug)]
pub struct Worker {
    /// Its instance id.
    pub instance_id: u64,
    /// Compact JSON: how its endpoint record says it is reached.
    pub transport: Arc<str>,
    /// Its own card: fields that the checksum does not see may differ between members.
    pub card: Arc<ModelCard>,
}

/// Why a pick gave no id.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PickError {
    /// The binding is retired: get a new route (clause S5).
    Retired,
    /// No worker is routable, or none that is not excluded.
    NoneRoutable,
    /// That id is not routable on this hop.
    NotRoutable(u64),
    /// The set routes directly: the caller names the worker.
    DirectOnly,
}

/// Ids that are admitted *and* discovered (clause H2), kept live while the binding's generation lasts.
///
/// Picks and look-ups never wait for a controller; they see single changes of a batch, listings only whole batches.
#[derive(Debug)]
pub struct Hop {
    binding: Arc<Binding>,
    slots: Slots,
    workers: RwLock<HashMap<u64, Routable>>,
    cursor: AtomicUsize,
    batch: Mutex<()>,
}

#[derive(Debug)]
struct Routable {
    position: usize,
    worker: Arc<Worker>,
}

impl Hop {
    pub(crate) fn new(binding: Arc<Binding>) -> Arc<Self> {
        Arc::new(Self {
            binding,
            slots: Slots::new(),
            workers: RwLock::default(),
            cursor: AtomicUsize::new(0),
            batch: Mutex::new(()),
        })
    }

    /// The binding that this hop belongs to.
    pub fn binding(&self) -> &Arc<Binding> {
        &self.binding
    }

    /// One id: at random in the random mode, else round robin, for no requests in flight are counted here. `random` is a
    /// fresh uniform number; only the random mode uses it. Cost: O(1), no lock.
    pub fn pick(&self, random: u64) -> Result<u64, PickError> {
        match self.binding.router_mode {
            RouterMode::Direct => Err(self.retired_or(PickError::DirectOnly)),
            RouterMode::Random => self.draw(|len| scale(random, len)),
            _ => self.draw(|len| self.cursor.fetch_add(1, Ordering::Relaxed) % len),
        }
    }

    /// One id that is not excluded: for a retry elsewhere. Cost: O(excluded) expected, O(n) when most are excluded.
    pub fn pick_except(&self, excluded: &[u64], random: u64) -> Result<u64, PickError> {
        let len = self.slots.len();
        let start = if len == 0 { 0 } else { scale(random, len) };
        let found = (0..len).filter_map(|step| self.slots.get((start + step) % len)).find(|id| !excluded.contains(id));
        if self.binding.retired() {
            return Err(PickError::Retired);
        }
        found.ok_or(PickError::NoneRoutable)
    }

    /// The id that the caller chose elsewhere, if it is routable here. Cost: O(1).
    pub fn pick_direct(&self, id: u64) -> Result<u64, PickError> {
        if self.contains(id) { Ok(id) } else { Err(self.retired_or(PickError::NotRoutable(id))) }
    }

    /// Whether a pick may yield this id now. Cost: O(1).
    pub fn contains(&self, id: u64) -> bool {
        !self.binding.retired() && self.read().contains_key(&id)
    }

    /// The worker behind a routable id. Cost: O(1).
    pub fn worker(&self, id: u64) -> Option<Arc<Worker>> {
        if self.binding.retired() {
            return None;
        }
        self.read().get(&id).map(|routable| Arc::clone(&routable.worker))
    }

    /// All routable ids at a batch boundary, ascending. Cost: O(n log n).
    pub fn ids(&self) -> Vec<u64> {
        // Looked at before the lock, too: whoever holds it may not exist in this process any more.
        let whole = (!self.binding.retired()).then(|| self.batch());
        if whole.is_none() || self.binding.retired() {
            return Vec::new();
        }
        let mut ids: Vec<u64> = self.read().keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// How many ids are routable now.
    pub fn len(&self) -> usize {
        if self.binding.retired() { 0 } else { self.slots.len() }
    }

    /// Whether no id is routable now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Apply one call's net difference: what comes first, then what goes, so that a hop that is non-empty before and
    /// after never looks empty in between (clause D5). A worker that stays is replaced in place.
    pub(crate) fn update(&self, present: Vec<Arc<Worker>>, absent: &[u64]) {
        let _whole = self.batch();
        for worker in present {
            let id = worker.instance_id;
            let mut workers = self.write();
            if let Some(known) = workers.get_mut(&id) {
                known.worker = worker;
            } else {
                let position = self.slots.push(id);
                workers.insert(id, Routable { position, worker });
            }
        }
        for id in absent {
            let mut workers = self.write();
            if let Some(gone) = workers.remove(id)
                && let Some(moved) = self.slots.swap_remove(gone.position)
                && let Some(moved) = workers.get_mut(&moved)
            {
                moved.position = gone.position;
            }
        }
    }

    /// Drop every id: the binding is retired already, this frees what it held.
    pub(crate) fn empty(&self) {
        let _whole = self.batch();
        self.slots.clear();
        self.write().clear();
    }

    fn draw(&self, index: impl FnOnce(usize) -> usize) -> Result<u64, PickError> {
        let len = self.slots.len();
        let id = if len == 0 { None } else { self.slots.get(index(len)) };
        if self.binding.retired() {
            return Err(PickError::Retired);
        }
        id.ok_or(PickError::NoneRoutable)
    }

    fn retired_or(&self, error: PickError) -> PickError {
        if self.binding.retired() { PickError::Retired } else { error }
    }

    // A panic under these locks is caught at the boundary and closes the controller; readers go on with what is there.

    fn batch(&self) -> MutexGuard<'_, ()> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<u64, Routable>> {
        self.workers.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<u64, Routable>> {
        self.workers.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A uniform number below `len` from a uniform u64.
pub(super) fn scale(random: u64, len: usize) -> usize {
    // The product's upper half is below `len`, so it fits.
    usize::try_from((u128::from(random) * len as u128) >> 64).unwrap_or_default()
}
