//! The controller, its driver, and what must hold after every call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arbitrary::Arbitrary;
use workerset_core::routing::{Hop, PickError};
use workerset_core::{
    AdmissionConfig, BuildToken, BuildVerdict, Command, Controller, Event, Inventory, Notice, Output,
};

/// How a build ends.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Outcome {
    /// A pipeline.
    Succeeded,
    /// A reason.
    Failed,
    /// Stopped.
    Cancelled,
}

/// One controller and everything that it has handed out.
pub struct World {
    /// The controller.
    pub controller: Controller,
    /// Its clock.
    pub now: f64,
    limit: usize,
    /// Every build that was started, oldest first.
    tokens: Vec<BuildToken>,
    /// Generations of builds that were not reported yet.
    running: BTreeSet<u64>,
    /// Those of them that were asked to stop.
    cancelled: BTreeSet<u64>,
    committed: BTreeSet<u64>,
    withdrawn: BTreeSet<u64>,
    /// Every hop that a route has shown, by generation and name asked for: a caller may keep it for ever.
    hops: BTreeMap<(u64, String), Arc<Hop>>,
}

impl World {
    /// A controller that has observed nothing and runs so many builds at once.
    pub fn new(limit: usize) -> Self {
        let config =
            AdmissionConfig { max_concurrent_builds: limit, linger_seconds: 2.0, ..AdmissionConfig::default() };
        Self {
            controller: Controller::new(config),
            now: 0.0,
            limit,
            tokens: Vec::new(),
            running: BTreeSet::new(),
            cancelled: BTreeSet::new(),
            committed: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
            hops: BTreeMap::new(),
        }
    }

    /// One call.
    pub fn apply(&mut self, events: Vec<Event>) {
        let decoder = self.controller.decoder();
        let observations: Vec<_> = events.into_iter().map(|event| decoder.decode(event)).collect();
        self.controller.apply(observations, self.now);
        self.check();
    }

    /// Let time pass.
    pub fn advance(&mut self, now: f64) {
        self.now = self.now.max(now);
        self.controller.advance(self.now);
        self.check();
        let overdue = self.controller.next_deadline().filter(|deadline| *deadline <= self.now);
        assert_eq!(overdue, None, "what is due was done");
    }

    /// Let every build that runs succeed, also those that start then.
    pub fn succeed_all(&mut self) {
        while let Some(generation) = self.running.first().copied() {
            // A blocked build is queued again in time only, so this ends.
            let token = self.tokens.iter().find(|token| token.generation == generation).cloned();
            self.report_token(&token.expect("only started builds run"), Outcome::Succeeded);
        }
    }

    /// Report one of the newest sixteen builds, perhaps again.
    pub fn report(&mut self, build: u8, outcome: Outcome) {
        if let Some(token) = self.nth(build) {
            self.report_token(&token, outcome);
        }
    }

    /// Report a build with a token that was never handed out. It is fenced, and nothing changes.
    pub fn report_altered(&mut self, build: u8, part: u8) {
        let Some(mut token) = self.nth(build) else { return };
        match part % 4 {
            0 => token.mdc_checksum.0[0] ^= 1,
            1 => token.controller_id ^= 1,
            2 => token.generation += 1_000_000,
            _ => {
                let mut key = (*token.worker_set).clone();
                key.model.push('?');
                token.worker_set = Arc::new(key);
            }
        }
        let before = self.controller.inventory(self.now);
        self.drain();
        let verdict = self.controller.build_succeeded(&token, None, self.now);
        assert!(matches!(verdict, BuildVerdict::Fenced { .. }), "{verdict:?}");
        assert!(self.controller.poll().is_none());
        assert_eq!(self.controller.inventory(self.now), before);
    }

    /// What the controller holds.
    pub fn inventory(&mut self) -> Inventory {
        self.controller.inventory(self.now)
    }

    /// The end: nothing that was handed out yields an id any more.
    pub fn close(&mut self) {
        self.controller.close();
        self.drain();
        assert_eq!(self.committed, self.withdrawn, "every pipeline is dropped");
        assert_eq!(self.running, self.cancelled, "every build is asked to stop");
        for hop in self.hops.values() {
            assert_gives_nothing(hop);
        }
        for token in self.tokens.clone() {
            self.report_token(&token, Outcome::Succeeded);
        }
        assert!(self.controller.routes().models().is_empty());
    }

    fn nth(&self, build: u8) -> Option<BuildToken> {
        self.tokens.iter().rev().take(16).rev().nth(usize::from(build % 16)).cloned()
    }

    fn report_token(&mut self, token: &BuildToken, outcome: Outcome) {
        let generation = token.generation;
        let was_running = self.running.remove(&generation);
        let was_wanted = was_running && !self.cancelled.remove(&generation) && !self.controller.is_closed();
        let verdict = match outcome {
            Outcome::Succeeded => self.controller.build_succeeded(token, None, self.now),
            Outcome::Failed => self.controller.build_failed(token, "broken", self.now),
            Outcome::Cancelled => self.controller.build_cancelled(token, self.now),
        };
        match (&verdict, outcome) {
            (BuildVerdict::Fenced { .. }, _) => assert!(!was_wanted, "{verdict:?}"),
            (BuildVerdict::Committed { generation: bound }, Outcome::Succeeded) => {
                assert!(was_wanted && *bound == generation && self.committed.insert(generation), "{verdict:?}");
            }
            (BuildVerdict::Blocked { .. }, Outcome::Succeeded) | (BuildVerdict::Requeued, Outcome::Cancelled) => {
                assert!(was_wanted, "{verdict:?}");
            }
            (BuildVerdict::Retry { attempt, deadline }, Outcome::Failed) => {
                assert!(was_wanted && *attempt >= 1 && *deadline > self.now, "{verdict:?}");
            }
            _ => panic!("{outcome:?} gives {verdict:?}"),
        }
        self.check();
    }

    /// Carry the commands out.
    fn drain(&mut self) {
        while let Some(output) = self.controller.poll() {
            match output {
                Output::Command(Command::StartBuild(spec)) => {
                    let generation = spec.token.generation;
                    let newest = self.tokens.last().map_or(0, |token| token.generation);
                    assert!(generation > newest, "generations grow: {generation} after {newest}");
                    self.tokens.push(spec.token);
                    self.running.insert(generation);
                    assert!(self.running.len() <= self.limit, "too many builds at once");
                }
                Output::Command(Command::CancelBuild(token)) => {
                    assert!(self.running.contains(&token.generation) && self.cancelled.insert(token.generation));
                }
                Output::Command(Command::Withdraw(token)) => {
                    assert!(self.committed.contains(&token.generation) && self.withdrawn.insert(token.generation));
                }
                Output::Notice(notice) => check_notice(&notice),
            }
        }
    }

    /// What holds after every call.
    pub fn check(&mut self) {
        self.drain();
        let inventory = self.controller.inventory(self.now);
        self.drain();
        serde_json::to_string(&inventory).expect("an inventory is JSON");
        let mut admitted_by: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        let mut keys = BTreeSet::new();
        let mut everybody = BTreeSet::new();
        for set in &inventory.worker_sets {
            let key = [&set.model, &set.namespace, &set.component, &set.endpoint, &set.model_types];
            assert!(keys.insert((key, set.worker_type)), "a set stands twice");
            let mut checksums = BTreeSet::new();
            for cohort in set.rejected.iter().map(|rejected| &rejected.cohort).chain([&set.incumbent]) {
                assert!(!cohort.members.is_empty() && checksums.insert(cohort.mdc_checksum));
                assert!(cohort.members.iter().all(|member| everybody.insert(member)), "a worker is in two cohorts");
            }
            let place = format!("{}/{}/{}", set.namespace, set.component, set.endpoint);
            let members: Vec<u64> = set.incumbent.members.iter().filter_map(|key| id_of(&place, key)).collect();
            let members: BTreeSet<u64> = members.into_iter().collect();
            assert_eq!(set.admitted, members.iter().copied().collect::<Vec<u64>>(), "admitted are the incumbent's");
            assert!(set.routable.iter().all(|id| members.contains(id)), "only the incumbent's are routable");
            assert!(set.rejected.iter().all(|rejected| !rejected.differs.is_empty()), "checksums differ for a reason");
            match set.generation {
                Some(generation) => assert!(admitted_by.insert(generation, set.routable.clone()).is_none()),
                None => assert!(set.routable.is_empty()),
            }
        }
        let serving: BTreeSet<u64> = admitted_by.keys().copied().collect();
        assert_eq!(serving, &self.committed - &self.withdrawn, "what is committed serves");
        self.keep_hops();
        for ((generation, _), hop) in &self.hops {
            match admitted_by.get(generation) {
                Some(routable) => {
                    assert!(!hop.binding().retired());
                    assert!(hop.ids().iter().all(|id| routable.contains(id)), "a hop knows more than its set");
                }
                None => assert_gives_nothing(hop),
            }
        }
    }

    fn keep_hops(&mut self) {
        let routes = self.controller.routes();
        for name in routes.models() {
            let Ok(route) = routes.route(&name, None, None, 0) else { continue };
            for hop in [Some(&route.decode), route.prefill.as_ref(), route.encode.as_ref()].into_iter().flatten() {
                let place = (hop.binding().token.generation, name.clone());
                self.hops.entry(place).or_insert_with(|| Arc::clone(hop));
            }
        }
    }
}

fn id_of(place: &str, key: &str) -> Option<u64> {
    let id = key.strip_prefix(place)?.strip_prefix('/')?;
    u64::from_str_radix(id, 16).ok()
}

/// Clause S5.
fn assert_gives_nothing(hop: &Hop) {
    assert!(hop.binding().retired() && hop.is_empty() && hop.ids().is_empty());
    assert_eq!(hop.pick(0), Err(PickError::Retired));
    assert_eq!(hop.pick_except(&[], 0), Err(PickError::Retired));
    assert_eq!(hop.pick_direct(1), Err(PickError::Retired));
    assert!(!hop.contains(1) && hop.worker(1).is_none());
}

fn check_notice(notice: &Notice) {
    match notice {
        Notice::CohortRejected { incumbent_checksum, rejected_checksum, members, differs, .. } => {
            assert!(incumbent_checksum != rejected_checksum && *members > 0 && !differs.is_empty());
        }
        Notice::InPlaceChangeRefused { reason, .. } | Notice::RecordRefused { reason, .. } => {
            assert!(!reason.is_empty());
        }
        Notice::MembersChanged { joined, left, .. } => {
            assert!(joined.is_sorted() && left.is_sorted() && !(joined.is_empty() && left.is_empty()));
            assert!(!joined.iter().any(|id| left.contains(id)));
        }
        Notice::Succession { members, .. } => assert!(*members > 0),
        _ => {}
    }
}
