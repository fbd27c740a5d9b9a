//! From records to registrations: who joins, who leaves, and what a live instance may change (chapters I, L).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cohort::{CohortOrder, Departure};
use super::controller::Controller;
use super::group::{Group, GroupId, State};
use super::time::Time;
use crate::HashMap;
use crate::card::BoundaryCard;
use crate::identity::WorkerSetKey;
use crate::notice::Notice;
use crate::record::{EndpointRecord, Place, shown_key};
use crate::text::clipped;

/// All that is registered under one instance key. Exists while there is something.
#[derive(Debug)]
pub(super) struct WorkerState {
    pub(super) id: u64,
    pub(super) endpoint: Option<EndpointRecord>,
    pub(super) base: Option<Registration>,
    pub(super) adapters: BTreeMap<Box<str>, Adapter>,
}

/// A base registration: a member of one cohort of one set.
#[derive(Debug)]
pub(super) struct Registration {
    pub(super) group: GroupId,
    pub(super) cohort: CohortOrder,
    pub(super) card: Arc<BoundaryCard>,
}

/// A registered adapter.
#[derive(Debug)]
pub(super) struct Adapter {
    pub(super) card: Arc<BoundaryCard>,
    /// Place among all registrations of adapters.
    pub(super) order: u64,
}

impl Controller {
    pub(super) fn take_endpoint(&mut self, place: &Place, record: EndpointRecord) {
        let worker = self.worker(place);
        if worker.endpoint.as_ref() != Some(&record) {
            worker.endpoint = Some(record);
            let member = worker.member();
            self.call.workers.extend(member);
        }
    }

    /// Clause L3: an adapter record simply replaces its predecessor.
    pub(super) fn take_adapter(&mut self, place: &Place, card: Arc<BoundaryCard>) {
        self.registrations += 1;
        let order = self.registrations;
        let name = card.card().display_name().to_owned();
        let worker = self.worker(place);
        let suffix = place.suffix.as_deref().unwrap_or_default();
        let replaced = match worker.adapters.get_mut(suffix) {
            Some(adapter) if Arc::ptr_eq(&adapter.card, &card) => return,
            Some(adapter) => Some(std::mem::replace(&mut adapter.card, card)),
            None => {
                worker.adapters.insert(suffix.into(), Adapter { card, order });
                None
            }
        };
        let member = worker.member();
        self.call.workers.extend(member);
        self.know(&name);
        if let Some(replaced) = replaced {
            self.unknow(replaced.card().display_name(), true);
        }
    }

    /// Clause I8: join, update, or refuse a change in place. True: accepted.
    pub(super) fn take_base(&mut self, path: &str, place: &Place, card: Arc<BoundaryCard>, value: u64) -> bool {
        let worker = self.worker(place);
        let Some(base) = worker.base.as_mut() else {
            self.join(place, card);
            return true;
        };
        if Arc::ptr_eq(&base.card, &card) {
            return true;
        }
        let is_same = base.card.mdc_checksum() == card.mdc_checksum()
            && base.card.card().display_name() == card.card().display_name()
            && base.card.model_types() == card.model_types()
            && base.card.worker_type() == card.worker_type();
        if is_same {
            base.card = card;
            let member = worker.member();
            self.call.workers.extend(member);
            return true;
        }
        let (stored_checksum, refused_checksum) = (base.card.mdc_checksum(), card.mdc_checksum());
        let group = base.group;
        let Some(worker_set) = self.groups.get(&group).map(|group| Arc::clone(&group.key)) else { return true };
        let found = set_key(place, &card);
        let reason = if found == *worker_set {
            format!("a live instance may not change its checksum from {stored_checksum} to {refused_checksum}")
        } else {
            let (from, to) = (clipped(&worker_set), clipped(&found));
            format!("a live instance may not change its WorkerSet from {from} to {to}")
        };
        if self.note_refusal(path, &reason, value) {
            let key = shown_key(path).into();
            self.notice(Notice::InPlaceChangeRefused { key, worker_set, stored_checksum, refused_checksum, reason });
        }
        false
    }

    /// Clauses R1, R2: the first valid card reserves; equal checksums join; others found or join a rejected cohort.
    fn join(&mut self, place: &Place, card: Arc<BoundaryCard>) {
        let key = set_key(place, &card);
        let id = self.group_ids.get(&key).copied().unwrap_or_else(|| {
            self.next_group += 1;
            let (id, key) = (GroupId(self.next_group), Arc::new(key));
            self.group_ids.insert(Arc::clone(&key), id);
            self.groups.insert(id, Group::new(key));
            id
        });
        let now = self.now;
        let Some(group) = touch(&mut self.groups, &mut self.call.groups, id) else { return };
        let was_vacant = group.cohorts.is_empty();
        let cohort = group.cohorts.join(place.id, card.card(), card.mdc_checksum(), now);
        let is_incumbent = group.cohorts.is_incumbent(cohort);
        if !is_incumbent && group.cohorts.get(cohort).is_some_and(|cohort| cohort.members.len() == 1) {
            group.unreported.insert(cohort);
        }
        self.call.workers.insert((id, place.id));
        self.worker(place).base = Some(Registration { group: id, cohort, card });
        if is_incumbent {
            self.call.admitted_before.entry((id, place.id)).or_insert(false);
        }
        if was_vacant {
            self.reserve(id);
        } else if is_incumbent {
            self.bring_forward(id);
        }
    }

    fn leave(&mut self, member: u64, base: &Registration) {
        let id = base.group;
        let Some(group) = touch(&mut self.groups, &mut self.call.groups, id) else { return };
        self.call.workers.insert((id, member));
        if group.cohorts.is_incumbent(base.cohort) {
            self.call.admitted_before.entry((id, member)).or_insert(true);
            match group.cohorts.leave(member, base.cohort) {
                Departure::IncumbentEmptied => {
                    self.end_incumbent(id);
                    self.reserve(id);
                }
                Departure::Remain | Departure::RejectedEmptied => self.bring_forward(id),
            }
        } else if group.cohorts.leave(member, base.cohort) == Departure::RejectedEmptied {
            group.unreported.remove(&base.cohort);
        }
    }

    /// Clause S7: a change of the incumbent's members brings a failed build's retry forward; not a blocked one's (S9).
    fn bring_forward(&mut self, id: GroupId) {
        let Some(Group { state: State::Retrying(retry), .. }) = self.groups.get_mut(&id) else { return };
        self.due.remove(&(Time(retry.deadline), retry.order));
        retry.deadline = retry.brought_forward(self.now);
        self.due.insert((Time(retry.deadline), retry.order), id);
    }

    /// The record of a key is not stored any more: its registration ends.
    pub(super) fn end_registration(&mut self, path: &str) {
        let (instance, suffix) = split_stored(path);
        let Some(worker) = self.workers.get_mut(instance) else { return };
        let (member, affected) = (worker.id, worker.member());
        let is_card = shown_key(path).len() < path.len();
        let mut left = None;
        let mut renounced = None;
        match suffix {
            Some(suffix) => renounced = worker.adapters.remove(suffix),
            None if is_card => left = worker.base.take(),
            None => worker.endpoint = None,
        }
        if worker.is_empty() {
            self.workers.remove(instance);
        }
        self.call.workers.extend(affected);
        if let Some(adapter) = renounced {
            self.unknow(adapter.card.card().display_name(), true);
        }
        if let Some(base) = left {
            self.leave(member, &base);
        }
    }

    fn worker(&mut self, place: &Place) -> &mut WorkerState {
        self.workers.entry(place.endpoint.instance_key(place.id).into()).or_insert_with(|| WorkerState {
            id: place.id,
            endpoint: None,
            base: None,
            adapters: BTreeMap::new(),
        })
    }

    /// Count a registered name in: from now on it is never unknown (clause Y6).
    pub(super) fn know(&mut self, name: &str) {
        if self.known.add(name) {
            self.call.changes.known.insert(name.into(), true);
        }
    }

    /// Count a registered name out; it lingers.
    pub(super) fn unknow(&mut self, name: &str, is_adapter: bool) {
        self.known.remove(name, is_adapter, self.now, self.config.linger_seconds);
    }
}

impl WorkerState {
    /// The set and id under which this worker may be routed.
    fn member(&self) -> Option<(GroupId, u64)> {
        self.base.as_ref().map(|base| (base.group, self.id))
    }

    fn is_empty(&self) -> bool {
        self.endpoint.is_none() && self.base.is_none() && self.adapters.is_empty()
    }
}

/// The group, with how things stood before this call kept.
pub(super) fn touch<'a>(
    groups: &'a mut HashMap<GroupId, Group>,
    touched: &mut Vec<GroupId>,
    id: GroupId,
) -> Option<&'a mut Group> {
    let group = groups.get_mut(&id)?;
    if group.before.is_none() {
        touched.push(id);
    }
    group.touch();
    Some(group)
}

/// Clause I1.
fn set_key(place: &Place, card: &BoundaryCard) -> WorkerSetKey {
    WorkerSetKey {
        model: card.card().display_name().into(),
        endpoint: place.endpoint.clone(),
        model_types: card.model_types().into(),
        worker_type: card.worker_type(),
    }
}

/// Instance key and suffix of a path that was parsed before: bucket (two parts), namespace, component, endpoint, id.
fn split_stored(path: &str) -> (&str, Option<&str>) {
    let slashes: Vec<usize> = path.match_indices('/').map(|(at, _)| at).collect();
    let start = slashes.get(1).map_or(0, |at| at + 1);
    match slashes.get(5) {
        Some(end) => (&path[start..*end], Some(&path[end + 1..])),
        None => (&path[start..], None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::AdmissionConfig;
    use crate::event::{Apply, Event};

    /// What stays behind cannot be seen from outside; it would only grow.
    #[test]
    fn nothing_is_held_for_workers_that_left() {
        let card = r#"{"display_name":"m","slug":"m","kv_cache_block_size":16,"migration_limit":0,"model_type":"Chat",
                       "model_input":"Text"}"#;
        let rest = r#""namespace":"n","component":"c","endpoint":"e","instance_id":1"#;
        let records = [
            ("v1/mdc/n/c/e/1", format!(r#"{{"type":"Model",{rest},"card_json":{card}}}"#)),
            ("v1/instances/n/c/e/1", format!(r#"{{"type":"Endpoint",{rest},"transport":{{"tcp":"t"}}}}"#)),
            ("v1/mdc/n/c/e/01", "{}".to_owned()),
        ];
        let mut controller = Controller::new(AdmissionConfig::default());
        let decoder = controller.decoder();
        controller.apply(
            records.clone().map(|(path, value)| {
                let value = Some(Arc::from(value.into_bytes()));
                decoder.decode(Event::Apply(Apply { path: path.into(), value, ..Apply::default() }))
            }),
            0.0,
        );
        assert_eq!((controller.workers.len(), controller.groups.len(), controller.keys.len()), (1, 1, 3));
        let departures = records.map(|(path, _)| decoder.decode(Event::Delete { path: path.into(), revision: 0 }));
        controller.apply(departures, 0.0);
        assert!(controller.workers.is_empty() && controller.groups.is_empty() && controller.group_ids.is_empty());
        assert!(controller.keys.is_empty() && controller.refused.is_empty());
    }
}
