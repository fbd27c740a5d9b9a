//! The inventory: what the controller holds, for people and tools.

use std::collections::{BTreeMap, BTreeSet};

use super::cohort::Cohort;
use super::controller::Controller;
use super::group::{Group, State};
use super::publish::differing_fields;
use crate::inventory::{
    BuildsEntry, CohortEntry, HopEntry, Inventory, RefusedEntry, RejectedEntry, RetryEntry, SourceEntry, WorkerSetEntry,
};
use crate::record::shown_key;
use crate::routing::HopState;

impl Controller {
    pub(super) fn take_inventory(&self) -> Inventory {
        let mut groups: Vec<(String, &Group)> = self
            .groups
            .values()
            .filter(|group| !group.cohorts.is_empty())
            .map(|group| (group.key.key_text(), group))
            .collect();
        groups.sort_by(|(a_text, a), (b_text, b)| (&a.key.model, a_text).cmp(&(&b.key.model, b_text)));
        let refused = self.refused.iter().filter_map(|path| {
            let reason = self.keys.get(path)?.refused.as_ref()?.reason.clone();
            Some(RefusedEntry { key: shown_key(path).into(), reason })
        });
        let mut refused: Vec<RefusedEntry> = refused.collect();
        refused.sort_by(|a, b| a.key.cmp(&b.key));
        let (running, waiting, places) = self.fence.load();
        Inventory {
            profile: self.config.checksum_profile.as_str(),
            source: SourceEntry {
                state: self.source.as_str(),
                snapshot_age: self.snapshot_at.map(|at| self.now - at),
                revision: self.revision,
            },
            worker_sets: groups.into_iter().filter_map(|(_, group)| self.worker_set_entry(group)).collect(),
            refused,
            builds: BuildsEntry { running, waiting, places },
        }
    }

    fn worker_set_entry(&self, group: &Group) -> Option<WorkerSetEntry> {
        let incumbent = group.cohorts.incumbent()?;
        let mut admitted: Vec<u64> = incumbent.members.iter().map(|member| member.0).collect();
        admitted.sort_unstable();
        let Carried { transports, adapters, unprojected } = self.carried(group, incumbent);
        let rejected = group.cohorts.rejected().map(|(_, cohort)| RejectedEntry {
            cohort: cohort_entry(group, cohort),
            differs: differing_fields(&incumbent.card, &cohort.card),
        });
        let retry = group.retry().map(|retry| RetryEntry {
            attempt: group.failures,
            deadline: retry.deadline,
            reason: retry.reason.clone(),
        });
        let committed = group.committed();
        Some(WorkerSetEntry {
            model: group.key.model.clone(),
            namespace: group.key.endpoint.namespace.clone(),
            component: group.key.endpoint.component.clone(),
            endpoint: group.key.endpoint.endpoint.clone(),
            model_types: group.key.model_types.clone(),
            worker_type: group.key.worker_type.as_str(),
            phase: group.phase(),
            generation: committed.map(|committed| committed.serving.binding().token.generation),
            building_generation: group.selected().map(|token| token.generation),
            incumbent: cohort_entry(group, incumbent),
            rejected: rejected.collect(),
            admitted,
            routable: committed.map(|committed| committed.serving.hop.ids()).unwrap_or_default(),
            inhibited: Vec::new(),
            unreachable: false,
            transports,
            adapters,
            unprojected,
            retry,
            blocked_by: match &group.state {
                State::Blocked(blocked) => Some(blocked.collision.owner.clone()),
                _ => None,
            },
            hops: self.hop_entries(group),
        })
    }

    fn carried(&self, group: &Group, incumbent: &Cohort) -> Carried {
        let (mut adapters, mut unprojected) = (Vec::new(), Vec::new());
        let mut kinds: BTreeSet<&str> = BTreeSet::new();
        for member in &incumbent.members {
            let instance = group.key.endpoint.instance_key(member.0);
            let Some(worker) = self.workers.get(&*instance) else { continue };
            kinds.extend(worker.endpoint.as_ref().map(|endpoint| endpoint.kind.as_str()));
            for (suffix, adapter) in &worker.adapters {
                let key = format!("{instance}/{suffix}");
                let name = adapter.card.card().display_name();
                if group.committed().is_some()
                    && let Some(reason) = self.unprojected_reason(name, &group.key.model)
                {
                    unprojected.push(RefusedEntry { key: key.clone(), reason });
                }
                adapters.push(key);
            }
        }
        adapters.sort_unstable();
        unprojected.sort_by(|a, b| a.key.cmp(&b.key));
        Carried { transports: kinds.into_iter().map(Into::into).collect(), adapters, unprojected }
    }

    fn hop_entries(&self, group: &Group) -> BTreeMap<&'static str, HopEntry> {
        let place = (group.key.model.clone(), group.key.endpoint.namespace.clone());
        let routes = self.namespaces.get(&place);
        let absent = HopState::Absent("nothing is committed".into());
        let entry = |state: &HopState| HopEntry {
            state: if state.active().is_some() { "active" } else { "absent" },
            reason: state.reason().into(),
        };
        BTreeMap::from([
            ("prefill", entry(routes.map_or(&absent, |routes| &routes.prefill))),
            ("encode", entry(routes.map_or(&absent, |routes| &routes.encode))),
        ])
    }
}

/// What the admitted workers of a set bring.
struct Carried {
    /// The kinds of transport that their endpoint records name.
    transports: Vec<String>,
    /// The adapters that apply to the set.
    adapters: Vec<String>,
    /// Those of them that cannot be asked for.
    unprojected: Vec<RefusedEntry>,
}

fn cohort_entry(group: &Group, cohort: &Cohort) -> CohortEntry {
    let members = cohort.members.iter().map(|member| group.key.endpoint.instance_key(member.0));
    CohortEntry { mdc_checksum: cohort.mdc_checksum, members: members.collect(), since: cohort.since }
}
