//! The table that requests are routed by. A controller changes it once per call; readers hold it for one look-up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::hop::{Binding, Hop, scale};
use super::topology::{NamespaceRoutes, ServingSet};
use crate::HashMap;

/// Where one request may go: one consistent view.
#[derive(Clone, Debug)]
pub struct Route {
    /// Display name of the model.
    pub model: String,
    /// Namespace of the set.
    pub namespace: String,
    /// The binding that serves.
    pub binding: Arc<Binding>,
    /// The adapter, when its name was asked for.
    pub adapter: Option<String>,
    /// Decode or aggregated workers.
    pub decode: Arc<Hop>,
    /// Prefill workers, when the hop exists.
    pub prefill: Option<Arc<Hop>>,
    /// Encode workers, when the hop exists.
    pub encode: Option<Arc<Hop>>,
}

/// Why there is no route.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum RouteError {
    /// Nobody registered that name.
    NotFound,
    /// The name is known, or nothing has been observed yet, but no request can be served.
    NotReady {
        /// The model that the name stands for, or the name itself.
        model: String,
        /// Why not, one sentence each.
        reasons: Vec<String>,
    },
    /// The controller is closed.
    Closed,
}

/// Names to sets. Shared between a controller and everybody who routes; see [`RouteTable::route`].
#[derive(Debug, Default)]
pub struct RouteTable(RwLock<Table>);

/// Namespaces of one model, by name.
pub(crate) type ModelRoutes = BTreeMap<String, NamespaceRoutes>;

#[derive(Debug, Default)]
struct Table {
    observed: bool,
    closed: bool,
    /// Display names and aliases of committed models, to the model.
    names: HashMap<Box<str>, Arc<str>>,
    /// Projected adapters, to the base model.
    adapters: HashMap<Box<str>, Arc<str>>,
    /// Names that are not unknown, committed or not.
    known: BTreeSet<Box<str>>,
    models: HashMap<Box<str>, ModelRoutes>,
}

/// What one call of a controller changes, published in one step (clause D5).
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) observed: bool,
    pub(crate) closed: bool,
    pub(crate) names: BTreeMap<Box<str>, Option<Arc<str>>>,
    pub(crate) adapters: BTreeMap<Box<str>, Option<Arc<str>>>,
    pub(crate) known: BTreeMap<Box<str>, bool>,
    pub(crate) namespaces: Vec<(String, String, Option<NamespaceRoutes>)>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        let Self { observed, closed, names, adapters, known, namespaces } = self;
        !observed && !closed && names.is_empty() && adapters.is_empty() && known.is_empty() && namespaces.is_empty()
    }
}

impl RouteTable {
    /// Route a request for a model, alias or adapter, optionally of one model type (`chat`) and namespace.
    ///
    /// Among several serving sets one is drawn, weighted by routable workers; `random` is a fresh uniform number.
    /// Cost: O(sets of the model). Waits only while a change of this table is written, never for an `apply`.
    pub fn route(
        &self,
        name: &str,
        model_type: Option<&str>,
        namespace: Option<&str>,
        random: u64,
    ) -> Result<Route, RouteError> {
        let table = self.read();
        if table.closed {
            return Err(RouteError::Closed);
        }
        let (model, adapter) = match (table.names.get(name), table.adapters.get(name)) {
            (Some(model), _) => (model, None),
            (None, Some(model)) => (model, Some(name)),
            (None, None) => return Err(table.unroutable(name)),
        };
        let empty = ModelRoutes::new();
        let routes = table.models.get(&**model).unwrap_or(&empty);
        let mut reasons = Vec::new();
        let mut candidates: Vec<(usize, Route)> = Vec::new();
        for (name, routes) in routes.iter().filter(|(name, _)| namespace.is_none_or(|wanted| wanted == *name)) {
            if !routes.obstacles.is_empty() {
                reasons.extend(routes.obstacles.iter().map(|obstacle| format!("namespace {name}: {obstacle}")));
                continue;
            }
            for server in &routes.servers {
                match candidate(model, routes, server, model_type, adapter) {
                    Ok(route) => candidates.push((route.decode.len(), route)),
                    Err(reason) => reasons.push(reason),
                }
            }
        }
        if reasons.is_empty() && candidates.is_empty() {
            reasons.push(format!(
                "no committed set{}",
                namespace.map(|wanted| format!(" in namespace {wanted}")).unwrap_or_default()
            ));
        }
        draw(candidates, random).ok_or_else(|| RouteError::NotReady { model: model.to_string(), reasons })
    }

    /// Names of ready models: display names, their aliases and projected adapters; sorted. Cost: O(names).
    pub fn models(&self) -> Vec<String> {
        let table = self.read();
        let is_ready = |model: &Arc<str>| {
            table.models.get(&**model).is_some_and(|routes| routes.values().any(|routes| routes.obstacles.is_empty()))
        };
        let names = table.names.iter().chain(&table.adapters).filter(|(_, model)| is_ready(model));
        let names: BTreeSet<String> = names.map(|(name, _)| name.to_string()).collect();
        names.into_iter().collect()
    }

    pub(crate) fn publish(&self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        table.observed |= changes.observed;
        table.closed |= changes.closed;
        replace(&mut table.names, changes.names);
        replace(&mut table.adapters, changes.adapters);
        for (name, known) in changes.known {
            if known {
                table.known.insert(name)
            } else {
                table.known.remove(&name)
            };
        }
        for (model, namespace, routes) in changes.namespaces {
            let of_model = table.models.entry(model.as_str().into()).or_default();
            match routes {
                Some(routes) => drop(of_model.insert(namespace, routes)),
                None => drop(of_model.remove(&namespace)),
            }
            if of_model.is_empty() {
                table.models.remove(model.as_str());
            }
        }
    }

    /// A panic under this lock is caught at the boundary and closes the controller; readers go on with what is there.
    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// Clause Y6: before the first snapshot nothing is unknown, only not ready.
    fn unroutable(&self, name: &str) -> RouteError {
        let reason = if self.known.contains(name) {
            "no pipeline is committed for it now"
        } else if !self.observed {
            "discovery has not delivered its first snapshot"
        } else {
            return RouteError::NotFound;
        };
        RouteError::NotReady { model: name.into(), reasons: vec![reason.into()] }
    }
}

fn candidate(
    model: &str,
    routes: &NamespaceRoutes,
    server: &ServingSet,
    model_type: Option<&str>,
    adapter: Option<&str>,
) -> Result<Route, String> {
    if let Some(wanted) = model_type
        && !server.key.model_types.split('|').any(|offered| offered == wanted)
    {
        return Err(format!("{} does not offer {wanted}", server.key));
    }
    if let Some(obstacle) = routes.server_obstacle(server) {
        return Err(obstacle);
    }
    let limited = |set: &Arc<ServingSet>| carriers(set, adapter).map(Some);
    Ok(Route {
        model: model.into(),
        namespace: server.key.endpoint.namespace.clone(),
        binding: Arc::clone(server.binding()),
        adapter: adapter.map(Into::into),
        decode: carriers(server, adapter)?,
        prefill: routes.prefill_for(server).map_or(Ok(None), limited)?,
        encode: routes.encode_for(server).map_or(Ok(None), limited)?,
    })
}

fn carriers(set: &ServingSet, adapter: Option<&str>) -> Result<Arc<Hop>, String> {
    let hop = set.hop_for(adapter).filter(|hop| adapter.is_none() || !hop.is_empty());
    hop.ok_or_else(|| format!("no routable worker of {} carries the adapter", set.key))
}

fn draw(mut candidates: Vec<(usize, Route)>, random: u64) -> Option<Route> {
    if candidates.len() < 2 {
        return candidates.pop().map(|(_, route)| route);
    }
    let total: usize = candidates.iter().map(|(weight, _)| weight).sum();
    let mut ticket = scale(random, total);
    let chosen = candidates.iter().position(|(weight, _)| {
        let chosen = ticket < *weight;
        ticket = ticket.saturating_sub(*weight);
        chosen
    });
    chosen.map(|chosen| candidates.swap_remove(chosen).1)
}

fn replace<V>(map: &mut HashMap<Box<str>, V>, changes: impl IntoIterator<Item = (Box<str>, Option<V>)>) {
    for (name, value) in changes {
        match value {
            Some(value) => drop(map.insert(name, value)),
            None => drop(map.remove(&name)),
        }
    }
}
