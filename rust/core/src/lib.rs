//! Which workers may serve together, decided without I/O.
//!
//! Feed [`Event`]s in, carry [`Command`]s out, report builds, read [`Inventory`]: time is an argument everywhere.

mod admission;
pub mod card;
pub mod command;
pub mod config;
pub mod error;
pub mod event;
pub mod identity;
pub mod inventory;
pub mod notice;
pub mod readiness;
mod record;
pub mod routing;
pub mod text;

pub use admission::{Controller, Output, SourceState, retry_delay};
pub use command::{BuildSpec, BuildToken, BuildVerdict, Command};
pub use config::{AdmissionConfig, Profile, RouterPolicyFiles};
pub use error::CardError;
pub use event::{Apply, Event, Reset};
pub use identity::{EndpointId, MdcChecksum, NamespaceFilter, WorkerSetKey, WorkerType};
pub use inventory::Inventory;
pub use notice::Notice;
pub use record::{Decoder, Observation};

/// Keyed by what the network says, so the hash is seeded; never iterated where order matters.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;
