//! The state machine driven by scripts under a manual clock: events in, the full command and notice sequence out.

mod adapters;
mod observation;
mod reservation;
mod routing;
mod succession;
mod support;
