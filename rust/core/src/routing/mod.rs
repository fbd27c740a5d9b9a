//! What a request touches: routes, hops, and the ids that may be picked. Nothing here waits for a controller.

mod hop;
mod route;
mod slots;
mod table;
mod topology;
mod waits;

pub use hop::{Binding, Hop, PickError, Pipeline, Worker};
pub(crate) use route::Changes;
pub use route::{Route, RouteError, RouteTable};
pub(crate) use topology::{HopState, NamespaceRoutes, ServingSet};
pub use waits::Wanted;
