//! What discovery saw, as an adapter hands it over: the stored bytes, not yet looked at.

use std::sync::Arc;

/// One observation of one key, or of everything below a prefix.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A key was written or confirmed.
    Apply(Apply),
    /// A key is gone.
    Delete {
        /// Full path, bucket included.
        path: String,
        /// Where in the source's order this was seen; 0 when unknown.
        revision: u64,
    },
    /// A full listing (clause D2).
    Reset(Reset),
}

/// A key and its value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Apply {
    /// Full path, bucket included: `v1/mdc/ns/component/endpoint/1f`.
    pub path: String,
    /// The record's JSON as the backend stores it. None, in a listing only: still there, unchanged since last applied.
    pub value: Option<Arc<[u8]>>,
    /// Where in the source's order this was seen; 0 when unknown.
    pub revision: u64,
    /// When the key was created, in any unit that orders the keys of one source (clause R6).
    pub created: Option<i64>,
    /// Identity of the registration behind the key, where the source has one (clause I8).
    pub incarnation: Option<String>,
    /// Why the source does not hand the value over, which is none then: the record is refused (clause R7).
    pub refused: Option<String>,
}

/// Everything that the source holds below a prefix.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reset {
    /// The keys, in any order; of a key that stands twice the last counts.
    pub entries: Vec<Apply>,
    /// The revision at which the listing was taken, at the latest: what was seen later is not undone by it.
    pub as_of: u64,
    /// Start of all paths that the listing covers; empty for everything.
    pub prefix: String,
}
