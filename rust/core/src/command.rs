//! What a controller asks its driver to do, and what it answers to a reported build.

use std::sync::Arc;

use crate::card::ModelCard;
use crate::identity::{MdcChecksum, SharedKey};

/// Names one build: a late result counts only if all of it is still the selected one (clauses S3, S4).
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct BuildToken {
    /// The set that is built for.
    pub worker_set: SharedKey,
    /// The incumbent's checksum when the build was issued.
    pub mdc_checksum: MdcChecksum,
    /// Never used twice by one controller, strictly growing across all sets.
    pub generation: u64,
    /// The controller that issued it.
    pub controller_id: u64,
}

/// What to build.
#[derive(Clone, Debug)]
pub struct BuildSpec {
    /// To be handed back with the result.
    pub token: BuildToken,
    /// The selected card for the whole generation (clause S8).
    pub card: Arc<ModelCard>,
    /// Instance key of the member whose card it is: the smallest in byte order when the build was issued.
    pub representative: String,
}

/// An instruction for the driver. Commands come in the order in which they are to be carried out.
#[derive(Clone, Debug)]
pub enum Command {
    /// Build a pipeline and report the result once.
    StartBuild(BuildSpec),
    /// Stop that build if it still runs, and report it in any case: it counts as running until then (clause S7).
    CancelBuild(BuildToken),
    /// Drop the pipeline that this build committed.
    Withdraw(BuildToken),
}

/// What became of a reported build. After `Fenced` and `Blocked` the caller drops the pipeline that it handed in.
#[derive(Clone, Debug, PartialEq)]
pub enum BuildVerdict {
    /// The pipeline serves.
    Committed {
        /// Generation of the binding.
        generation: u64,
    },
    /// The result came too late, twice, or to the wrong controller (clause S4).
    Fenced {
        /// Why.
        reason: String,
    },
    /// The card claims a name that another model holds (clause S9).
    Blocked {
        /// Names the owner.
        reason: String,
    },
    /// The failure is noted; another build follows (clause S7).
    Retry {
        /// Failures in a row, from 1.
        attempt: u32,
        /// When the next build is queued at the latest, in seconds of the caller's clock.
        deadline: f64,
    },
    /// The build was still wanted and is queued again (clause S7).
    Requeued,
}
