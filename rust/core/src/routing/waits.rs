//! Who waits for a route, and which change ends the wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::route::{Changes, RouteError};
use super::table::{Asked, Table};
use crate::HashMap;

/// A route that somebody waits for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Display name, alias or adapter. None: a text that can be no name, so that the wait never ends.
    pub name: Option<Box<str>>,
    /// As in [`super::RouteTable::route`].
    pub model_type: Option<Box<str>>,
    /// As in [`super::RouteTable::route`].
    pub namespace: Option<Box<str>>,
    /// Whether the wait goes on when the name is not known any more.
    pub unknown_ok: bool,
}

/// Waits by what may end them. A change looks up what it touches, and only that.
#[derive(Debug, Default)]
pub(super) struct Waits {
    by_ticket: HashMap<u64, Wait>,
    by_name: HashMap<Box<str>, BTreeSet<u64>>,
    /// By the model that the name stood for when last looked at.
    by_model: HashMap<Arc<str>, BTreeSet<u64>>,
    ended: Vec<u64>,
    tickets: u64,
}

#[derive(Debug)]
struct Wait {
    name: Box<str>,
    wanted: Wanted,
    model: Option<Arc<str>>,
}

/// What a change may have made routable, or unknown.
#[derive(Debug, Default)]
pub(super) struct Touched {
    everything: bool,
    names: Vec<Box<str>>,
    namespaces: Vec<(String, String)>,
}

impl Touched {
    pub(super) fn by(changes: &Changes) -> Self {
        let Changes { observed, closed: _, names, adapters, known, namespaces, carried } = changes;
        Self {
            everything: *observed,
            names: names.keys().chain(adapters.keys()).chain(known.keys()).chain(carried.keys()).cloned().collect(),
            namespaces: namespaces.iter().map(|(model, namespace, _)| (model.clone(), namespace.clone())).collect(),
        }
    }
}

impl Waits {
    pub(super) fn is_empty(&self) -> bool {
        self.by_ticket.is_empty()
    }

    /// Begin a wait. Its ticket is told once, when the wait has ended.
    pub(super) fn begin(&mut self, wanted: Wanted, table: &Table) -> u64 {
        self.tickets += 1;
        let ticket = self.tickets;
        if let Some(name) = wanted.name.clone() {
            self.by_name.entry(name.clone()).or_default().insert(ticket);
            self.by_ticket.insert(ticket, Wait { name, wanted, model: None });
            self.resolve(ticket, table);
        }
        ticket
    }

    /// Give a wait up; one that has ended is none.
    pub(super) fn give_up(&mut self, ticket: u64) {
        let Some(wait) = self.by_ticket.remove(&ticket) else { return };
        remove(&mut self.by_name, &wait.name, ticket);
        if let Some(model) = &wait.model {
            remove(&mut self.by_model, model, ticket);
        }
    }

    /// End the waits that what was touched has made routable, or unknown.
    pub(super) fn look(&mut self, touched: &Touched, table: &Table) {
        let mut candidates: BTreeSet<u64> = BTreeSet::new();
        if touched.everything {
            candidates.extend(self.by_ticket.keys());
        }
        for name in &touched.names {
            candidates.extend(self.by_name.get(name).into_iter().flatten());
        }
        for ticket in &candidates {
            self.resolve(*ticket, table);
        }
        for (model, namespace) in &touched.namespaces {
            let of_model = self.by_model.get(model.as_str()).into_iter().flatten();
            candidates.extend(of_model.filter(|ticket| self.concerns(**ticket, namespace)));
        }
        for ticket in candidates {
            let Some(wait) = self.by_ticket.get(&ticket) else { continue };
            match table.route(&wait.asked(), 0) {
                Err(RouteError::NotReady { .. }) => {}
                Err(RouteError::NotFound) if wait.wanted.unknown_ok => {}
                Ok(_) | Err(_) => {
                    self.give_up(ticket);
                    self.ended.push(ticket);
                }
            }
        }
    }

    /// The waits that have ended since the last call.
    pub(super) fn take_ended(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.ended)
    }

    fn concerns(&self, ticket: u64, namespace: &str) -> bool {
        let wanted = self.by_ticket.get(&ticket).and_then(|wait| wait.wanted.namespace.as_deref());
        wanted.is_none_or(|wanted| wanted == namespace)
    }

    fn resolve(&mut self, ticket: u64, table: &Table) {
        let Some(wait) = self.by_ticket.get_mut(&ticket) else { return };
        let model = table.model(&wait.name).cloned();
        if wait.model != model {
            if let Some(old) = std::mem::replace(&mut wait.model, model.clone()) {
                remove(&mut self.by_model, &old, ticket);
            }
            if let Some(new) = model {
                self.by_model.entry(new).or_default().insert(ticket);
            }
        }
    }
}

impl Wait {
    fn asked(&self) -> Asked<'_> {
        let Wanted { model_type, namespace, .. } = &self.wanted;
        Asked { name: &self.name, model_type: model_type.as_deref(), namespace: namespace.as_deref() }
    }
}

fn remove<K: std::borrow::Borrow<str> + Eq + std::hash::Hash>(
    map: &mut HashMap<K, BTreeSet<u64>>,
    key: &str,
    ticket: u64,
) {
    if let Some(tickets) = map.get_mut(key) {
        tickets.remove(&ticket);
        if tickets.is_empty() {
            map.remove(key);
        }
    }
}
