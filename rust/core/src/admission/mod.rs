//! Who is admitted: the contract's chapters I, R, S, L and D as one state machine.

mod adapters;
mod builds;
mod cohort;
mod controller;
mod fence;
mod group;
mod keys;
mod names;
mod observation;
mod publish;
mod reasons;
mod registry;
mod report;
mod retry;
mod time;

pub use controller::{Controller, Output, SourceState};
pub use retry::delay as retry_delay;
