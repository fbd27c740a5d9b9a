//! A controller whose every promise is checked after every call, and the records of a small world.

mod records;
mod world;

pub use records::{Record, calm_worker};
pub use world::{Outcome, World};
