//! Which adapters can be asked for, and on which workers (chapter L, clause S9).
//!
//! An adapter applies where its base registration is in the incumbent cohort of a committed set. Its name can be asked
//! for unless a model holds it; base models that share a name are served by registration order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::controller::Controller;
use super::group::{Committed, Group, GroupId, State};
use crate::HashMap;
use crate::routing::Worker;
use crate::text::quoted;

/// Names of the adapters that apply somewhere.
#[derive(Debug, Default)]
pub(super) struct AdapterNames {
    by_name: HashMap<Box<str>, AdapterName>,
    /// Names to look at again at the end of the call, and the workers to look at in any case.
    dirty: BTreeMap<Box<str>, BTreeSet<(GroupId, u64)>>,
}

#[derive(Debug, Default)]
struct AdapterName {
    /// Who carries it, by order of registration.
    carriers: BTreeSet<(u64, GroupId, u64)>,
    /// The base model that the name stands for, when it may be asked for.
    projected: Option<Arc<str>>,
}

impl Controller {
    /// Note which adapters a worker brings to its set now.
    pub(super) fn carry(&mut self, id: GroupId, member: u64) {
        let Some(group) = self.groups.get(&id) else { return };
        let worker = self.workers.get(&*group.key.endpoint.instance_key(member));
        let mut brings: Vec<(Box<str>, u64)> = Vec::new();
        if let Some(worker) = worker.filter(|worker| worker.is_incumbent(id, group)) {
            let adapters = worker.adapters.values();
            brings.extend(adapters.map(|adapter| (adapter.card.card().display_name().into(), adapter.order)));
        }
        let Some(Group { state: State::Ready(committed), .. }) = self.groups.get_mut(&id) else { return };
        let brought = if brings.is_empty() {
            committed.carried.remove(&member)
        } else {
            committed.carried.insert(member, brings.clone())
        };
        self.adapter_names.put_down(id, member, brought.unwrap_or_default());
        self.adapter_names.take_up(id, member, brings);
    }

    /// A withdrawn set carries nothing any more.
    pub(super) fn put_down_all(&mut self, id: GroupId, withdrawn: &mut Committed) {
        for (member, brought) in withdrawn.carried.drain() {
            self.adapter_names.put_down(id, member, brought);
        }
    }

    /// Bring the adapters' hops and names up to date with what this call changed.
    pub(super) fn publish_adapters(&mut self) {
        for name in &self.call.claimed {
            if self.adapter_names.by_name.contains_key(name) {
                self.adapter_names.dirty.entry(name.clone()).or_default();
            }
        }
        for (name, mut affected) in std::mem::take(&mut self.adapter_names.dirty) {
            let Some(adapter) = self.adapter_names.by_name.get(&name) else { continue };
            let first = adapter.carriers.first().and_then(|(_, id, _)| self.groups.get(id));
            let projected: Option<Arc<str>> =
                first.filter(|_| self.claims.owner(&name).is_none()).map(|group| group.key.model.as_str().into());
            if projected != adapter.projected {
                affected.extend(adapter.carriers.iter().map(|(_, id, member)| (*id, *member)));
                self.call.changes.adapters.insert(name.clone(), projected.clone());
            }
            self.update_adapter(&name, projected.as_deref(), &affected);
            if first_is_gone(&mut self.adapter_names.by_name, &name, projected) {
                self.adapter_names.by_name.remove(&name);
            }
        }
    }

    /// Why an adapter that applies to this set cannot be asked for; none if it can.
    pub(super) fn unprojected_reason(&self, name: &str, model: &str) -> Option<String> {
        if let Some(owner) = self.claims.owner(name) {
            return Some(format!("the name {} is held by model {}", quoted(name), quoted(owner)));
        }
        let projected = self.adapter_names.by_name.get(name).and_then(|adapter| adapter.projected.as_deref());
        match projected {
            Some(base) if base == model => None,
            Some(base) => Some(format!("the name {} stands for an adapter of model {}", quoted(name), quoted(base))),
            None => Some("no pipeline is committed for the base model".into()),
        }
    }

    fn update_adapter(&mut self, name: &str, projected: Option<&str>, affected: &BTreeSet<(GroupId, u64)>) {
        let mut by_group: BTreeMap<GroupId, (Vec<Arc<Worker>>, Vec<u64>)> = BTreeMap::new();
        for (id, member) in affected {
            let Some(group) = self.groups.get(id) else { continue };
            let Some(committed) = group.committed() else { continue };
            let carries = committed.carried.get(member).is_some_and(|brings| brings.iter().any(|(n, _)| **n == *name));
            let wanted = carries && projected.is_some_and(|model| model == group.key.model);
            let (present, absent) = by_group.entry(*id).or_default();
            match committed.serving.hop.worker(*member).filter(|_| wanted) {
                Some(worker) => present.push(worker),
                None => absent.push(*member),
            }
        }
        for (id, (present, absent)) in by_group {
            if let Some(committed) = self.groups.get(&id).and_then(Group::committed) {
                let hop = committed.serving.adapter_hop(name);
                let was_empty = hop.is_empty();
                hop.update(present, &absent);
                let change = isize::from(was_empty) - isize::from(hop.is_empty());
                if change != 0 {
                    *self.call.changes.carried.entry(name.into()).or_insert(0) += change;
                }
            }
        }
    }
}

impl AdapterNames {
    fn take_up(&mut self, id: GroupId, member: u64, brings: Vec<(Box<str>, u64)>) {
        for (name, order) in brings {
            self.dirty.entry(name.clone()).or_default().insert((id, member));
            self.by_name.entry(name).or_default().carriers.insert((order, id, member));
        }
    }

    fn put_down(&mut self, id: GroupId, member: u64, brought: Vec<(Box<str>, u64)>) {
        for (name, order) in brought {
            if let Some(adapter) = self.by_name.get_mut(&name) {
                adapter.carriers.remove(&(order, id, member));
            }
            self.dirty.entry(name).or_default().insert((id, member));
        }
    }
}

/// Keep what was published. True: nobody carries the name any more.
fn first_is_gone(by_name: &mut HashMap<Box<str>, AdapterName>, name: &str, projected: Option<Arc<str>>) -> bool {
    by_name.get_mut(name).is_some_and(|adapter| {
        adapter.projected = projected;
        adapter.carriers.is_empty()
    })
}
