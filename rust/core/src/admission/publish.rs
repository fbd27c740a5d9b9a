//! The end of a call: what changed is published in one step (clauses S6, D5).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::controller::{Call, Controller, Output};
use super::group::{Before, Group, GroupId};
use super::registry::WorkerState;
use crate::card::{ModelCard, explain};
use crate::command::Command;
use crate::notice::Notice;
use crate::routing::{HopState, NamespaceRoutes, ServingSet, Worker};

impl Controller {
    /// Publish what this call changed: commands and notices first, group by group in the order of touch; then new
    /// builds; then hops and routes.
    pub(super) fn publish(&mut self) {
        self.fall_due();
        let touched = std::mem::take(&mut self.call.groups);
        let mut retiring = Vec::new();
        for id in &touched {
            retiring.extend(self.publish_group(*id));
        }
        self.start_builds();
        self.publish_workers();
        self.publish_adapters();
        self.publish_names();
        self.publish_namespaces();
        for adapter in retiring.iter().flat_map(|serving| serving.carried_adapters()) {
            *self.call.changes.carried.entry(adapter).or_insert(0) -= 1;
        }
        let call = std::mem::take(&mut self.call);
        self.routes.publish(call.changes);
        for serving in retiring {
            serving.retire();
        }
        for id in touched {
            if self.groups.get(&id).is_some_and(|group| group.cohorts.is_empty())
                && let Some(group) = self.groups.remove(&id)
            {
                self.group_ids.remove(&group.key);
            }
        }
    }

    /// Tell what became of one set. Returns what it withdrew.
    fn publish_group(&mut self, id: GroupId) -> Option<Arc<ServingSet>> {
        let before = self.groups.get_mut(&id)?.before.take()?;
        let Before { tenure, incumbent, mut withdrawn, cancelled } = before;
        let serving = withdrawn.as_ref().map(|committed| Arc::clone(&committed.serving));
        let retired_generation = serving.as_ref().map(|serving| serving.binding().token.generation);
        if let Some(token) = cancelled {
            self.command(Command::CancelBuild(token));
        }
        if let Some(committed) = &mut withdrawn {
            self.put_down_all(id, committed);
            self.command(Command::Withdraw(committed.serving.binding().token.clone()));
        }
        self.publish_members(id);
        let group = self.groups.get(&id)?;
        if let Some((retired_checksum, cohort)) = incumbent.zip(group.cohorts.incumbent())
            && group.tenure != tenure
        {
            let (incumbent_checksum, members) = (cohort.mdc_checksum, cohort.members.len() as u64);
            let worker_set = Arc::clone(&group.key);
            self.notice(Notice::Succession {
                worker_set,
                retired_checksum,
                retired_generation,
                incumbent_checksum,
                members,
            });
        }
        self.publish_rejections(id);
        serving
    }

    /// Clause H5: the net difference of the incumbent cohort over the call.
    fn publish_members(&mut self, id: GroupId) {
        let Some(group) = self.groups.get(&id) else { return };
        let (mut joined, mut left) = (Vec::new(), Vec::new());
        for ((_, member), was_admitted) in self.call.admitted_before.range((id, 0)..=(id, u64::MAX)) {
            let worker = self.workers.get(&*group.key.endpoint.instance_key(*member));
            match (*was_admitted, worker.is_some_and(|worker| worker.is_incumbent(id, group))) {
                (false, true) => joined.push(*member),
                (true, false) => left.push(*member),
                _ => {}
            }
        }
        if !joined.is_empty() || !left.is_empty() {
            let mdc_checksum = group.cohorts.incumbent().map(|cohort| cohort.mdc_checksum);
            let worker_set = Arc::clone(&group.key);
            self.notice(Notice::MembersChanged { worker_set, mdc_checksum, joined, left });
        }
    }

    /// Clause S6: each rejected cohort once under each incumbent, against the state at the end of the call.
    fn publish_rejections(&mut self, id: GroupId) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        let unreported = std::mem::take(&mut group.unreported);
        let Some(incumbent) = group.cohorts.incumbent() else { return };
        let mut notices = Vec::new();
        for cohort in unreported.into_iter().filter_map(|order| group.cohorts.get(order)) {
            notices.push(Notice::CohortRejected {
                worker_set: Arc::clone(&group.key),
                incumbent_checksum: incumbent.mdc_checksum,
                rejected_checksum: cohort.mdc_checksum,
                instance: group.key.endpoint.instance_key(cohort.representative().unwrap_or_default()),
                members: cohort.members.len() as u64,
                differs: differing_fields(&incumbent.card, &cohort.card),
            });
        }
        self.output.extend(notices.into_iter().map(Output::Notice));
    }

    /// Clause H2: routable is what is admitted and discovered.
    fn publish_workers(&mut self) {
        let mut by_group: BTreeMap<GroupId, (Vec<Arc<Worker>>, Vec<u64>)> = BTreeMap::new();
        for (id, member) in std::mem::take(&mut self.call.workers) {
            self.carry(id, member);
            let Some(group) = self.groups.get(&id).filter(|group| group.committed().is_some()) else { continue };
            let worker = self.workers.get(&*group.key.endpoint.instance_key(member));
            let (present, absent) = by_group.entry(id).or_default();
            match worker.and_then(|worker| worker.routable(id, group)) {
                Some(worker) => present.push(worker),
                None => absent.push(member),
            }
        }
        for (id, (present, absent)) in by_group {
            let Some(group) = self.groups.get(&id) else { continue };
            let Some(committed) = group.committed() else { continue };
            let hop = &committed.serving.hop;
            let was_empty = hop.is_empty();
            hop.update(present, &absent);
            hop.binding().set_admitted(group.cohorts.incumbent().map_or(0, |cohort| cohort.members.len()));
            if was_empty != hop.is_empty() {
                self.call.namespaces.insert((group.key.model.clone(), group.key.endpoint.namespace.clone()));
            }
        }
    }

    fn publish_names(&mut self) {
        let Call { claimed, changes, .. } = &mut self.call;
        for name in std::mem::take(claimed) {
            let owner = self.claims.owner(&name).cloned();
            changes.names.insert(name, owner);
        }
    }

    /// Clause H7 and readiness: what each touched namespace offers now, and what of that is news.
    fn publish_namespaces(&mut self) {
        let touched = std::mem::take(&mut self.call.namespaces);
        let mut ready_before: BTreeMap<&String, bool> = BTreeMap::new();
        for (model, _) in &touched {
            ready_before.entry(model).or_insert_with(|| self.is_ready(model));
        }
        for place in &touched {
            let routes = self.serving.get(place).map(NamespaceRoutes::new);
            let before = match &routes {
                Some(routes) => self.namespaces.insert(place.clone(), routes.clone()),
                None => self.namespaces.remove(place),
            };
            let (was, is) = (before.as_ref(), routes.as_ref());
            self.publish_hop(place, "prefill", was.map(|routes| &routes.prefill), is.map(|routes| &routes.prefill));
            self.publish_hop(place, "encode", was.map(|routes| &routes.encode), is.map(|routes| &routes.encode));
            let (model, namespace) = place.clone();
            self.call.changes.namespaces.push((model, namespace, routes));
        }
        for (model, was_ready) in ready_before {
            let model = model.clone();
            match (was_ready, self.is_ready(&model)) {
                (false, true) => self.notice(Notice::ModelReady { model }),
                (true, false) => self.notice(Notice::ModelNotReady { model }),
                _ => {}
            }
        }
    }

    fn is_ready(&self, model: &str) -> bool {
        let from = (model.to_owned(), String::new());
        let of_model = self.namespaces.range(from..).take_while(|((name, _), _)| name == model);
        of_model.into_iter().any(|(_, routes)| routes.obstacles.is_empty())
    }

    fn publish_hop(
        &mut self,
        place: &(String, String),
        hop: &'static str,
        was: Option<&HopState>,
        is: Option<&HopState>,
    ) {
        if was.and_then(HopState::generation) != is.and_then(HopState::generation) {
            let (model, namespace) = place.clone();
            let active = is.is_some_and(|is| is.active().is_some());
            let reason = is.map_or("nothing is committed", HopState::reason).to_owned();
            self.notice(Notice::HopChanged { model, namespace, hop, active, reason });
        }
    }
}

impl WorkerState {
    /// Whether this worker's base registration is in the incumbent cohort of the set.
    pub(super) fn is_incumbent(&self, id: GroupId, group: &Group) -> bool {
        self.base.as_ref().is_some_and(|base| base.group == id && group.cohorts.is_incumbent(base.cohort))
    }

    fn routable(&self, id: GroupId, group: &Group) -> Option<Arc<Worker>> {
        let (base, endpoint) = self.base.as_ref().zip(self.endpoint.as_ref())?;
        self.is_incumbent(id, group).then(|| {
            let (transport, card) = (Arc::clone(&endpoint.transport), Arc::clone(base.card.card()));
            Arc::new(Worker { instance_id: self.id, transport, card })
        })
    }
}

/// Names of the fields that make the checksums differ. Both cards were decoded under one profile, so they compare.
pub(super) fn differing_fields(incumbent: &ModelCard, rejected: &ModelCard) -> Vec<String> {
    let differences = explain(incumbent, rejected).unwrap_or_default();
    differences.into_iter().map(|difference| difference.field).collect()
}
