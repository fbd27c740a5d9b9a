//! Which workers may serve together, decided without I/O.
//!
//! Feed [`Event`]s in, carry [`Command`]s out, report builds, read [`Inventory`]: time is an argument everywhere.

pub mod card;
pub mod command;
pub mod config;
pub mod error;
pub mod event;
pub mod identity;
pub mod inventory;
pub mod notice;

pub use command::{BuildSpec, BuildToken, BuildVerdict, Command};
pub use config::{AdmissionConfig, Profile, RouterPolicyFiles};
pub use error::CardError;
pub use event::{Apply, Event, Reset};
pub use identity::{EndpointId, MdcChecksum, NamespaceFilter, WorkerSetKey, WorkerType};
pub use inventory::Inventory;
pub use notice::Notice;
