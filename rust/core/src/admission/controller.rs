//! The state machine: the only mutable whole. Every method says what it does in terms of the contract; the chapters
//! live in the files beside this one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::adapters::AdapterNames;
use super::fence::Fence;
use super::group::{Group, GroupId, State};
use super::keys::Key;
use super::names::{Claims, KnownNames};
use super::observation::Past;
use super::registry::WorkerState;
use super::time::Time;
use crate::HashMap;
use crate::command::{BuildToken, BuildVerdict, Command};
use crate::config::AdmissionConfig;
use crate::identity::SharedKey;
use crate::inventory::Inventory;
use crate::notice::Notice;
use crate::record::{Decoder, Observation, Observed};
use crate::routing::{Changes, NamespaceRoutes, Pipeline, RouteTable, ServingSet};

/// What [`Controller::poll`] hands out.
#[derive(Clone, Debug)]
pub enum Output {
    /// To be carried out.
    Command(Command),
    /// To be told.
    Notice(Notice),
}

/// State of the connection to discovery (clause D3).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SourceState {
    /// Nothing was heard yet, or the connection broke: what was admitted stays.
    #[default]
    Lost,
    /// Events arrive.
    Live,
    /// The stream is over: what was admitted stays.
    Ended,
}

impl SourceState {
    /// The name that inventories show.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Live => "live",
            Self::Ended => "ended",
        }
    }
}

/// Decides who is admitted. No I/O, no clock, no threads; never calls back.
///
/// `now` is in seconds of any monotonic clock; a value before the last one counts as the last one. Each call with `now`
/// first lets what is due fall due, then does its work, then publishes routes, commands and notices in one step
/// (clause D5).
#[derive(Debug)]
pub struct Controller {
    pub(super) config: Arc<AdmissionConfig>,
    pub(super) decoder: Arc<Decoder>,
    pub(super) routes: Arc<RouteTable>,
    pub(super) now: f64,
    pub(super) closed: bool,

    pub(super) source: SourceState,
    pub(super) snapshot_at: Option<f64>,
    pub(super) revision: u64,

    /// Every path that exists in the source, whatever is stored for it.
    pub(super) keys: HashMap<Box<str>, Key>,
    pub(super) refused: BTreeSet<Box<str>>,
    pub(super) past: Past,
    /// By instance key: endpoint record, base registration and adapters of one worker.
    pub(super) workers: HashMap<Box<str>, WorkerState>,
    pub(super) registrations: u64,

    pub(super) groups: HashMap<GroupId, Group>,
    pub(super) group_ids: HashMap<SharedKey, GroupId>,
    pub(super) next_group: u64,
    pub(super) fence: Fence,
    /// Retries by deadline, then order of failure.
    pub(super) due: BTreeMap<(Time, u64), GroupId>,
    pub(super) failures: u64,
    /// Groups that wait for a name, in order of failure.
    pub(super) blocked: BTreeMap<u64, GroupId>,
    pub(super) claims: Claims,
    pub(super) known: KnownNames,
    pub(super) adapter_names: AdapterNames,
    /// Committed sets by model, then namespace.
    pub(super) serving: BTreeMap<(String, String), BTreeMap<SharedKey, Arc<ServingSet>>>,
    /// What each of them offers, as published.
    pub(super) namespaces: BTreeMap<(String, String), NamespaceRoutes>,

    pub(super) call: Call,
    pub(super) output: VecDeque<Output>,
}

/// What the current call has touched; empty between calls.
#[derive(Debug, Default)]
pub(super) struct Call {
    /// In the order in which they were first touched.
    pub(super) groups: Vec<GroupId>,
    /// Workers whose place in the incumbent cohort may have changed: whether they were in it when the call began.
    pub(super) admitted_before: BTreeMap<(GroupId, u64), bool>,
    /// Workers whose hops must be looked at again.
    pub(super) workers: BTreeSet<(GroupId, u64)>,
    /// Models and namespaces whose routes must be made again.
    pub(super) namespaces: BTreeSet<(String, String)>,
    /// Names that models took or gave back.
    pub(super) claimed: BTreeSet<Box<str>>,
    pub(super) changes: Changes,
}

impl Controller {
    /// A controller that has observed nothing. `max_concurrent_builds` counts as at least 1.
    pub fn new(config: AdmissionConfig) -> Self {
        let config = Arc::new(config);
        Self {
            decoder: Arc::new(Decoder::new(Arc::clone(&config))),
            routes: Arc::default(),
            now: f64::NEG_INFINITY,
            closed: false,
            source: SourceState::default(),
            snapshot_at: None,
            revision: 0,
            keys: HashMap::default(),
            refused: BTreeSet::new(),
            past: Past::default(),
            workers: HashMap::default(),
            registrations: 0,
            groups: HashMap::default(),
            group_ids: HashMap::default(),
            next_group: 0,
            fence: Fence::new(config.controller_id, config.max_concurrent_builds.max(1)),
            due: BTreeMap::new(),
            failures: 0,
            blocked: BTreeMap::new(),
            claims: Claims::default(),
            known: KnownNames::default(),
            adapter_names: AdapterNames::default(),
            serving: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            call: Call::default(),
            output: VecDeque::new(),
            config,
        }
    }

    /// What turns events into observations for this controller, usable without it.
    pub fn decoder(&self) -> Arc<Decoder> {
        Arc::clone(&self.decoder)
    }

    /// The table that requests are routed by, usable without this controller.
    pub fn routes(&self) -> Arc<RouteTable> {
        Arc::clone(&self.routes)
    }

    /// Whether [`Controller::close`] was called.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Take observations, in their order, as one step (clause D5). Without effect once closed.
    ///
    /// Cost: O(log members) an event; a listing costs that per entry, and one pass over the keys below its prefix.
    pub fn apply(&mut self, observations: impl IntoIterator<Item = Observation>, now: f64) {
        if !self.begin(now) {
            return;
        }
        for observation in observations {
            match observation.0 {
                Observed::Apply(seen) => self.observe_apply(seen),
                Observed::Delete { path, revision } => self.observe_delete(&path, revision),
                Observed::Reset { entries, as_of, prefix } => self.observe_reset(entries, as_of, &prefix),
                Observed::Ignored => {}
            }
        }
        self.publish();
    }

    /// A build produced a pipeline. It commits, or is fenced or blocked (clauses S4, S9).
    pub fn build_succeeded(&mut self, token: &BuildToken, pipeline: Option<Pipeline>, now: f64) -> BuildVerdict {
        self.report(now, |controller| controller.succeeded(token, pipeline))
    }

    /// A build failed; it is tried again unless it is fenced (clause S7).
    pub fn build_failed(&mut self, token: &BuildToken, reason: &str, now: f64) -> BuildVerdict {
        self.report(now, |controller| controller.failed(token, reason))
    }

    /// A build was stopped, asked for or not (clause S7).
    pub fn build_cancelled(&mut self, token: &BuildToken, now: f64) -> BuildVerdict {
        self.report(now, |controller| controller.cancelled(token))
    }

    /// Let time pass.
    pub fn advance(&mut self, now: f64) {
        if self.begin(now) {
            self.publish();
        }
    }

    /// When [`Controller::advance`] has something to do next.
    pub fn next_deadline(&self) -> Option<f64> {
        let retry = self.due.keys().next().map(|(deadline, _)| deadline.0);
        retry.into_iter().chain(self.known.next_expiry()).min_by(f64::total_cmp)
    }

    /// The next command or notice, in order.
    pub fn poll(&mut self) -> Option<Output> {
        self.output.pop_front()
    }

    /// The connection to discovery changed; nothing is removed (clause D3).
    pub fn source_changed(&mut self, state: SourceState, now: f64) {
        if self.begin(now) {
            self.source = state;
            self.publish();
        }
    }

    /// Everything that is held, at one moment. Cost: linear in workers.
    pub fn inventory(&mut self, now: f64) -> Inventory {
        self.advance(now);
        self.take_inventory()
    }

    /// End every admission channel and ask for every pipeline to be dropped. Later calls have no effect.
    pub fn close(&mut self) {
        if self.closed {
            return;
        }
        let mut groups: Vec<GroupId> = self.groups.keys().copied().collect();
        groups.sort_unstable();
        for id in groups {
            self.end_incumbent(id);
        }
        self.call.changes.closed = true;
        self.closed = true;
        self.groups.values_mut().for_each(|group| group.cohorts = super::cohort::Cohorts::default());
        self.publish();
        self.keys.clear();
        self.refused.clear();
        self.workers.clear();
    }

    /// Start a call: let what is due fall due, by deadline, then order of failure. False once closed.
    fn begin(&mut self, now: f64) -> bool {
        if now > self.now {
            self.now = now;
        }
        if self.closed {
            return false;
        }
        self.past.expire(self.now);
        for name in self.known.expire(self.now) {
            self.call.changes.known.insert(name, false);
        }
        self.fall_due();
        true
    }

    fn report(&mut self, now: f64, report: impl FnOnce(&mut Self) -> BuildVerdict) -> BuildVerdict {
        if !self.begin(now) {
            return BuildVerdict::Fenced { reason: "the controller is closed".into() };
        }
        let verdict = report(self);
        self.publish();
        verdict
    }

    /// Move the retries whose time has come to the end of the queue.
    pub(super) fn fall_due(&mut self) {
        while let Some(entry) = self.due.first_entry()
            && entry.key().0.0 <= self.now
        {
            let id = entry.remove();
            self.requeue(id);
        }
    }

    /// Queue a group at the end, whatever it waited for.
    pub(super) fn requeue(&mut self, id: GroupId) {
        self.stop_waiting(id);
        if let Some(group) = self.groups.get_mut(&id) {
            group.state = State::Queued(self.fence.enqueue(id, self.now));
        }
    }

    /// Take a group off the lists of those that wait for a time or a name.
    pub(super) fn stop_waiting(&mut self, id: GroupId) {
        if let Some(retry) = self.groups.get(&id).and_then(Group::retry) {
            self.due.remove(&(Time(retry.deadline), retry.order));
            self.blocked.remove(&retry.order);
        }
    }

    pub(super) fn command(&mut self, command: Command) {
        self.output.push_back(Output::Command(command));
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.output.push_back(Output::Notice(notice));
    }
}
