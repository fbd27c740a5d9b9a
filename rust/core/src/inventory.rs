//! A picture of everything that a controller holds, for people and tools.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::identity::MdcChecksum;

/// Everything, at one moment. Times are seconds of the caller's clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inventory {
    /// The checksum profile.
    pub profile: &'static str,
    /// Where the records come from.
    pub source: SourceEntry,
    /// The sets that have members, in the order of (model, key text).
    pub worker_sets: Vec<WorkerSetEntry>,
    /// Keys whose newest record is not usable, ascending, until a valid apply or a removal.
    pub refused: Vec<RefusedEntry>,
    /// How many builds run and wait.
    pub builds: BuildsEntry,
}

/// How many builds run and wait (clause S7).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BuildsEntry {
    /// Builds whose end was not reported, cancelled ones included.
    pub running: usize,
    /// Sets that wait for a place.
    pub waiting: usize,
    /// How many may run at once.
    pub places: usize,
}

/// State of the source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SourceEntry {
    /// `live`, `lost` or `ended`.
    pub state: &'static str,
    /// Seconds since the last snapshot; none before the first.
    pub snapshot_age: Option<f64>,
    /// Newest revision seen; 0 before the first.
    pub revision: u64,
}

/// A record that is not usable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefusedEntry {
    /// Instance key of a card record, full path of any other.
    pub key: String,
    /// What is wrong with it.
    pub reason: String,
}

/// What a set is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Waits for one of the build places.
    Queued,
    /// A build runs.
    Building,
    /// A pipeline is committed.
    Ready,
    /// A build failed and waits for its retry.
    Retrying,
    /// A pipeline was built and may not commit (clause S9).
    Blocked,
}

/// One set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkerSetEntry {
    /// Display name of the model.
    pub model: String,
    /// Namespace.
    pub namespace: String,
    /// Component.
    pub component: String,
    /// Endpoint.
    pub endpoint: String,
    /// Model types, joined with `|`.
    pub model_types: String,
    /// Effective role.
    pub worker_type: &'static str,
    /// What the set is doing.
    pub phase: Phase,
    /// Generation of the committed binding.
    pub generation: Option<u64>,
    /// Generation of the build that runs.
    pub building_generation: Option<u64>,
    /// The cohort that holds the set.
    pub incumbent: CohortEntry,
    /// The others, in first-observation order.
    pub rejected: Vec<RejectedEntry>,
    /// Ids of the incumbent cohort.
    pub admitted: Vec<u64>,
    /// Admitted and discovered ids; empty while nothing is committed.
    pub routable: Vec<u64>,
    /// Ids that are temporarily taken out.
    pub inhibited: Vec<u64>,
    /// Whether ids exist and all are inhibited.
    pub unreachable: bool,
    /// Kinds of transport that the admitted workers' endpoint records name, ascending (clause R8).
    pub transports: Vec<String>,
    /// Instance keys of the adapters that apply (clause L2).
    pub adapters: Vec<String>,
    /// Adapters that would apply but may not: their name is taken (clause S9).
    pub unprojected: Vec<RefusedEntry>,
    /// The retry that is due, while retrying or blocked.
    pub retry: Option<RetryEntry>,
    /// The model that holds the name, while blocked.
    pub blocked_by: Option<String>,
    /// State of the prefill and encode hops of this set's model and namespace.
    pub hops: BTreeMap<&'static str, HopEntry>,
}

/// A cohort.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CohortEntry {
    /// Its checksum.
    #[serde(serialize_with = "as_text")]
    pub mdc_checksum: MdcChecksum,
    /// Instance keys, ascending.
    pub members: Vec<String>,
    /// When it was first observed.
    pub since: f64,
}

/// A cohort that does not serve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RejectedEntry {
    /// The cohort.
    #[serde(flatten)]
    pub cohort: CohortEntry,
    /// Names of the card fields that differ from the incumbent's.
    pub differs: Vec<String>,
}

/// A failed build's next try.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RetryEntry {
    /// Failures in a row.
    pub attempt: u32,
    /// When the next build is queued at the latest.
    pub deadline: f64,
    /// Why the last one failed.
    pub reason: String,
}

/// A prefill or encode hop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HopEntry {
    /// `active` or `absent`.
    pub state: &'static str,
    /// Why it is absent; empty when active.
    pub reason: String,
}

fn as_text<S: serde::Serializer>(checksum: &MdcChecksum, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(checksum)
}
