//! One set: its cohorts, and what is being done for the incumbent (chapters R and S).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cohort::{CohortOrder, Cohorts};
use super::fence::QueuePlace;
use super::names::Collision;
use super::retry::Retry;
use crate::HashMap;
use crate::card::ModelCard;
use crate::command::BuildToken;
use crate::identity::{MdcChecksum, SharedKey};
use crate::inventory::Phase;
use crate::routing::ServingSet;

/// Names a set within one controller; never used twice.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct GroupId(pub(super) u64);

/// A set that has members, or had some when the current call began.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) key: SharedKey,
    pub(super) cohorts: Cohorts,
    pub(super) state: State,
    /// Failures in a row; only a success or a succession takes it back to 0 (clause S7).
    pub(super) failures: u32,
    /// Counts the incumbents of this set.
    pub(super) tenure: u64,
    /// When the incumbent took the set.
    pub(super) reserved_at: f64,
    /// The incumbent's card, whose names are known while it holds the set.
    pub(super) reserved: Option<Arc<ModelCard>>,
    /// Rejected cohorts that have not been reported under the current incumbent (clause S6).
    pub(super) unreported: BTreeSet<CohortOrder>,
    /// What this call has to tell about its beginning, once the group was touched.
    pub(super) before: Option<Before>,
}

/// What is being done for the incumbent.
#[derive(Debug)]
pub(super) enum State {
    /// No incumbent: the set is empty.
    Vacant,
    /// Waits for its turn to build.
    Queued(QueuePlace),
    /// A build runs.
    Building(Selected),
    /// A pipeline is committed.
    Ready(Committed),
    /// The last build failed.
    Retrying(Retry),
    /// The last build may not commit while another model holds a name (clause S9).
    Blocked(Blocked),
}

/// A build that was issued, and the card it was issued with (clause S8).
#[derive(Clone, Debug)]
pub(super) struct Selected {
    pub(super) token: BuildToken,
    pub(super) card: Arc<ModelCard>,
}

/// A committed pipeline and what is published for it.
#[derive(Debug)]
pub(super) struct Committed {
    pub(super) serving: Arc<ServingSet>,
    /// Per worker the adapters that it brings, by name and order of registration.
    pub(super) carried: HashMap<u64, Vec<(Box<str>, u64)>>,
}

/// A build that may not commit.
#[derive(Debug)]
pub(super) struct Blocked {
    pub(super) retry: Retry,
    pub(super) collision: Collision,
    pub(super) card: Arc<ModelCard>,
}

/// How things stood when the call began, and what it has ended since.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) tenure: u64,
    pub(super) incumbent: Option<MdcChecksum>,
    pub(super) withdrawn: Option<Committed>,
    pub(super) cancelled: Option<BuildToken>,
}

impl Group {
    pub(super) fn new(key: SharedKey) -> Self {
        Self {
            key,
            cohorts: Cohorts::default(),
            state: State::Vacant,
            failures: 0,
            tenure: 0,
            reserved_at: f64::NEG_INFINITY,
            reserved: None,
            unreported: BTreeSet::new(),
            before: None,
        }
    }

    /// Remember how things stand, once per call, before anything is changed.
    pub(super) fn touch(&mut self) -> &mut Before {
        let incumbent = self.cohorts.incumbent().map(|cohort| cohort.mdc_checksum);
        let tenure = self.tenure;
        self.before.get_or_insert_with(|| Before { tenure, incumbent, withdrawn: None, cancelled: None })
    }

    /// The build whose result counts.
    pub(super) fn selected(&self) -> Option<&BuildToken> {
        match &self.state {
            State::Building(selected) => Some(&selected.token),
            _ => None,
        }
    }

    pub(super) fn committed(&self) -> Option<&Committed> {
        match &self.state {
            State::Ready(committed) => Some(committed),
            _ => None,
        }
    }

    /// The retry that waits, with or without a name that blocks it.
    pub(super) fn retry(&self) -> Option<&Retry> {
        match &self.state {
            State::Retrying(retry) | State::Blocked(Blocked { retry, .. }) => Some(retry),
            _ => None,
        }
    }

    pub(super) fn phase(&self) -> Phase {
        match self.state {
            State::Vacant | State::Queued(_) => Phase::Queued,
            State::Building(_) => Phase::Building,
            State::Ready(_) => Phase::Ready,
            State::Retrying(_) => Phase::Retrying,
            State::Blocked(_) => Phase::Blocked,
        }
    }
}
