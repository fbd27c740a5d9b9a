//! What the route table knows at one moment, and how a request is answered from it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::hop::{Hop, scale};
use super::route::{Changes, Route, RouteError};
use super::topology::{NamespaceRoutes, ServingSet};
use crate::HashMap;
use crate::identity::SharedKey;
use crate::text::clipped;

/// What a request asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) name: &'a str,
    pub(super) model_type: Option<&'a str>,
    pub(super) namespace: Option<&'a str>,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    observed: bool,
    closed: bool,
    /// Display names and aliases of committed models, to the model.
    names: HashMap<Box<str>, Arc<str>>,
    /// Projected adapters, to the base model.
    adapters: HashMap<Box<str>, Arc<str>>,
    /// Adapters with a routable carrier, and in how many sets.
    carried: HashMap<Box<str>, usize>,
    /// Names that are not unknown, committed or not.
    known: BTreeSet<Box<str>>,
    models: HashMap<Box<str>, ModelRoutes>,
}

/// The namespaces of one model.
#[derive(Debug, Default)]
struct ModelRoutes {
    /// Those that can serve a request.
    open: BTreeMap<String, NamespaceRoutes>,
    /// Those that cannot.
    shut: BTreeMap<String, NamespaceRoutes>,
    /// How many sets in open namespaces offer each model type. So a request that nobody can serve is turned away at the
    /// same cost, however many namespaces there are.
    offered: HashMap<Box<str>, usize>,
}

impl ModelRoutes {
    fn put(&mut self, namespace: String, routes: Option<NamespaceRoutes>) {
        self.shut.remove(&namespace);
        if let Some(closing) = self.open.remove(&namespace) {
            for model_type in types(&closing) {
                if let Some(sets) = self.offered.get_mut(model_type) {
                    *sets -= 1;
                    if *sets == 0 {
                        self.offered.remove(model_type);
                    }
                }
            }
        }
        match routes {
            Some(routes) if routes.obstacles.is_empty() => {
                for model_type in types(&routes) {
                    *self.offered.entry(model_type.into()).or_insert(0) += 1;
                }
                self.open.insert(namespace, routes);
            }
            Some(routes) => drop(self.shut.insert(namespace, routes)),
            None => {}
        }
    }
}

impl Table {
    pub(super) fn take(&mut self, changes: Changes) {
        self.observed |= changes.observed;
        self.closed |= changes.closed;
        replace(&mut self.names, changes.names);
        replace(&mut self.adapters, changes.adapters);
        for (name, known) in changes.known {
            if known {
                self.known.insert(name)
            } else {
                self.known.remove(&name)
            };
        }
        for (name, change) in changes.carried {
            let sets = self.carried.get(&name).copied().unwrap_or(0).saturating_add_signed(change);
            if sets == 0 {
                self.carried.remove(&name);
            } else {
                self.carried.insert(name, sets);
            }
        }
        for (model, namespace, routes) in changes.namespaces {
            let of_model = self.models.entry(model.as_str().into()).or_default();
            of_model.put(namespace, routes);
            if of_model.open.is_empty() && of_model.shut.is_empty() {
                self.models.remove(model.as_str());
            }
        }
    }

    /// The model that a name stands for now; none while nothing is committed for it.
    pub(super) fn model(&self, name: &str) -> Option<&Arc<str>> {
        self.resolve(name).map(|(model, _)| model)
    }

    /// The same, and the name if it is an adapter's.
    fn resolve<'a>(&self, name: &'a str) -> Option<(&Arc<str>, Option<&'a str>)> {
        let model = self.names.get(name).map(|model| (model, None));
        model.or_else(|| self.adapters.get(name).map(|model| (model, Some(name))))
    }

    /// Cost: O(namespaces of the model that can serve). That of a failure does not depend on any size, unless an adapter
    /// has routable carriers, and nowhere all that a request needs.
    pub(super) fn route(&self, asked: &Asked<'_>, random: u64) -> Result<Route, RouteError> {
        if self.closed {
            return Err(RouteError::Closed);
        }
        let Some((model, adapter)) = self.resolve(asked.name) else { return Err(self.unroutable(asked.name)) };
        if adapter.is_some_and(|adapter| !self.carried.contains_key(adapter)) {
            return Err(RouteError::NotReady { model: model.to_string() });
        }
        let mut candidates: Vec<(usize, Route)> = Vec::new();
        let mut consider = |routes: &NamespaceRoutes| {
            for server in &routes.servers {
                if let Ok(route) = candidate(model, routes, server, asked.model_type, adapter) {
                    candidates.push((route.decode.len(), route));
                }
            }
        };
        match (self.models.get(&**model), asked.namespace) {
            (Some(of_model), _) if asked.model_type.is_some_and(|wanted| !of_model.offered.contains_key(wanted)) => {}
            (Some(of_model), Some(namespace)) => of_model.open.get(namespace).into_iter().for_each(consider),
            (Some(of_model), None) => of_model.open.values().for_each(&mut consider),
            (None, _) => {}
        }
        draw(candidates, random).ok_or_else(|| RouteError::NotReady { model: model.to_string() })
    }

    /// What is in the way of the model's committed sets, one sentence each; nothing if there is a route. Cost: O(sets of
    /// the model).
    pub(super) fn obstacles(&self, model: &str, asked: &Asked<'_>) -> Vec<String> {
        let adapter = self.resolve(asked.name).and_then(|(_, adapter)| adapter);
        let mut reasons = Vec::new();
        let routes = self.models.get(model);
        let all = routes.into_iter().flat_map(|routes| routes.open.iter().chain(&routes.shut));
        let mut wanted: Vec<_> =
            all.filter(|(namespace, _)| asked.namespace.is_none_or(|wanted| wanted == *namespace)).collect();
        wanted.sort_unstable_by_key(|(namespace, _)| *namespace);
        let committed = !wanted.is_empty();
        for (namespace, routes) in wanted {
            let namespace = clipped(namespace);
            reasons.extend(routes.obstacles.iter().map(|obstacle| format!("namespace {namespace}: {obstacle}")));
            if routes.obstacles.is_empty() {
                for server in &routes.servers {
                    match candidate(model, routes, server, asked.model_type, adapter) {
                        Ok(_) => return Vec::new(),
                        Err(unfit) => reasons.push(unfit.text(server, asked)),
                    }
                }
            }
        }
        if !committed {
            let place = asked.namespace.map(|wanted| format!(" in namespace {}", clipped(wanted)));
            reasons.push(format!("no committed set{}", place.unwrap_or_default()));
        }
        reasons
    }

    /// Names of ready models.
    pub(super) fn ready_names(&self) -> BTreeSet<&str> {
        let is_ready = |model: &Arc<str>| self.models.get(&**model).is_some_and(|routes| !routes.open.is_empty());
        let names = self.names.iter().chain(&self.adapters).filter(|(_, model)| is_ready(model));
        names.map(|(name, _)| &**name).collect()
    }

    /// Clause Y6: before the first snapshot nothing is unknown, only not ready.
    fn unroutable(&self, name: &str) -> RouteError {
        if self.observed && !self.known.contains(name) {
            RouteError::NotFound
        } else {
            RouteError::NotReady { model: name.into() }
        }
    }
}

/// The model types that the servers of a namespace offer, once for each server.
fn types(routes: &NamespaceRoutes) -> impl Iterator<Item = &str> {
    routes.servers.iter().flat_map(|server| server.key.model_types.split('|'))
}

/// Why a set cannot take a request. The usual cases cost no text.
enum Unfit {
    OtherType,
    NoCarrier(SharedKey),
    Obstacle(String),
}

impl Unfit {
    fn text(self, server: &ServingSet, asked: &Asked<'_>) -> String {
        match self {
            Self::OtherType => {
                let offered = server.key.model_types.replace('|', ", ");
                let wanted = clipped(asked.model_type.unwrap_or_default());
                format!("{} does not offer {wanted}; it offers {offered}", clipped(&server.key.endpoint))
            }
            Self::NoCarrier(set) => format!("no routable worker of {} carries the adapter", clipped(&set.endpoint)),
            Self::Obstacle(obstacle) => obstacle,
        }
    }
}

fn candidate(
    model: &str,
    routes: &NamespaceRoutes,
    server: &ServingSet,
    model_type: Option<&str>,
    adapter: Option<&str>,
) -> Result<Route, Unfit> {
    if let Some(wanted) = model_type
        && !server.key.model_types.split('|').any(|offered| offered == wanted)
    {
        return Err(Unfit::OtherType);
    }
    if let Some(obstacle) = routes.server_obstacle(server) {
        return Err(Unfit::Obstacle(obstacle));
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

fn carriers(set: &ServingSet, adapter: Option<&str>) -> Result<Arc<Hop>, Unfit> {
    let hop = set.hop_for(adapter).filter(|hop| adapter.is_none() || !hop.is_empty());
    hop.ok_or_else(|| Unfit::NoCarrier(Arc::clone(&set.key)))
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
