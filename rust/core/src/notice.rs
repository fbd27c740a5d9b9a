//! What happened, for logs and metrics. Notices never ask for anything.

use crate::command::BuildToken;
use crate::identity::{MdcChecksum, SharedKey};

/// A fact worth telling. Lists are ascending and without repeats.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A cohort is rejected, or still is under a new incumbent (clause S6). Once per cohort and incumbent.
    CohortRejected {
        /// The set.
        worker_set: SharedKey,
        /// Checksum of the cohort that serves.
        incumbent_checksum: MdcChecksum,
        /// Checksum of the cohort that does not.
        rejected_checksum: MdcChecksum,
        /// Key of a representative member: the smallest.
        instance: String,
        /// Members of the rejected cohort.
        members: u64,
        /// Names of the card fields that differ.
        differs: Vec<String>,
    },
    /// A record is not usable (clause R7). Once per key and value.
    RecordRefused {
        /// Instance key of a card record, full path of any other.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A live instance published another checksum or `WorkerSet` under its key (clause I8). Once per key and value.
    InPlaceChangeRefused {
        /// The instance key.
        key: String,
        /// The set it stays in.
        worker_set: SharedKey,
        /// The checksum that stays.
        stored_checksum: MdcChecksum,
        /// The checksum that is refused.
        refused_checksum: MdcChecksum,
        /// What would have changed.
        reason: String,
    },
    /// A build committed: the set serves through a new binding.
    BuildCommitted {
        /// The build.
        token: BuildToken,
    },
    /// A build failed and is tried again (clause S7).
    BuildRetry {
        /// The build that failed.
        token: BuildToken,
        /// Failures in a row, from 1.
        attempt: u32,
        /// When the next build is queued at the latest, in seconds.
        deadline: f64,
        /// The driver's reason.
        reason: String,
    },
    /// A built pipeline may not commit: a name that it claims is another model's (clause S9).
    BuildBlocked {
        /// The build.
        token: BuildToken,
        /// The model that holds the name.
        owner: String,
        /// The name.
        name: String,
        /// Failures in a row, from 1.
        attempt: u32,
        /// When the next build is queued at the latest, in seconds.
        deadline: f64,
    },
    /// The incumbent cohort gained or lost workers, net over the call (clause H5).
    MembersChanged {
        /// The set.
        worker_set: SharedKey,
        /// The incumbent's checksum after the call; none when nobody is left.
        mdc_checksum: Option<MdcChecksum>,
        /// Ids that were not admitted before the call and are now.
        joined: Vec<u64>,
        /// Ids that were admitted before the call and are not any more.
        left: Vec<u64>,
    },
    /// The incumbent cohort emptied and the next one took the set (clauses S1 to S3).
    Succession {
        /// The set.
        worker_set: SharedKey,
        /// Checksum of the cohort that is gone.
        retired_checksum: MdcChecksum,
        /// Generation of the binding that was retired, if one was committed.
        retired_generation: Option<u64>,
        /// Checksum of the cohort that took over.
        incumbent_checksum: MdcChecksum,
        /// Its members.
        members: u64,
    },
    /// A prefill or encode hop of a model came or went (clause H7).
    HopChanged {
        /// The model.
        model: String,
        /// The namespace.
        namespace: String,
        /// `prefill` or `encode`.
        hop: &'static str,
        /// Whether it is there now.
        active: bool,
        /// Why it is absent; empty when active.
        reason: String,
    },
    /// A request for the model can be routed now.
    ModelReady {
        /// The model.
        model: String,
    },
    /// A request for the model cannot be routed any more.
    ModelNotReady {
        /// The model.
        model: String,
    },
}
