//! Reservation, succession, and what becomes of a build (chapter S).

use std::sync::Arc;

use super::controller::Controller;
use super::fence::fence;
use super::group::{Blocked, Committed, Group, GroupId, Selected, State};
use super::names::claims_of;
use super::registry::touch;
use super::retry::{Retry, delay};
use super::time::Time;
use crate::HashMap;
use crate::command::{BuildSpec, BuildToken, BuildVerdict, Command};
use crate::notice::Notice;
use crate::routing::{Binding, Pipeline, ServingSet};
use crate::text::quoted;

impl Controller {
    /// Clauses R1, S3: the oldest cohort takes the set and is queued at the end. Without cohorts the set stays vacant.
    pub(super) fn reserve(&mut self, id: GroupId) {
        let Some(group) = touch(&mut self.groups, &mut self.call.groups, id) else { return };
        let Some(cohort) = group.cohorts.incumbent() else { return };
        for member in &cohort.members {
            self.call.admitted_before.entry((id, member.0)).or_insert(false);
            self.call.workers.insert((id, member.0));
        }
        let card = Arc::clone(&cohort.card);
        group.tenure += 1;
        group.failures = 0;
        group.unreported = group.cohorts.rejected().map(|(order, _)| order).collect();
        group.reserved = Some(Arc::clone(&card));
        group.reserved_at = self.now;
        group.state = State::Queued(self.fence.enqueue(id, self.now));
        for name in claims_of(&card) {
            self.know(name);
        }
    }

    /// Clause S2: nothing of the incumbent goes on. What is published changes at the end of the call.
    pub(super) fn end_incumbent(&mut self, id: GroupId) {
        self.stop_waiting(id);
        let Some(group) = touch(&mut self.groups, &mut self.call.groups, id) else { return };
        let reserved = group.reserved.take();
        let ended = std::mem::replace(&mut group.state, State::Vacant);
        let before = group.touch();
        match ended {
            State::Vacant | State::Retrying(_) | State::Blocked(_) => {}
            State::Queued(place) => self.fence.dequeue(place),
            State::Building(selected) => before.cancelled = Some(selected.token),
            State::Ready(committed) => {
                let serving = Arc::clone(&committed.serving);
                before.withdrawn = Some(committed);
                self.withdraw(&serving);
            }
        }
        for name in reserved.iter().flat_map(|card| claims_of(card)) {
            self.unknow(name, false);
        }
    }

    /// Take a committed set out of its namespace, and queue those who waited for its names (clause S9).
    fn withdraw(&mut self, serving: &ServingSet) {
        let namespace = namespace_of(serving);
        if let Some(sets) = self.serving.get_mut(&namespace) {
            sets.remove(&serving.key);
            if sets.is_empty() {
                self.serving.remove(&namespace);
            }
        }
        self.call.namespaces.insert(namespace);
        let card = &serving.binding().card;
        self.claims.release(card);
        self.call.claimed.extend(claims_of(card).into_iter().map(Box::from));
        let owner = card.display_name();
        let released: Vec<GroupId> = self.blocked.values().copied().filter(|id| self.is_released(*id, owner)).collect();
        for id in released {
            self.requeue(id);
        }
    }

    fn is_released(&self, id: GroupId, owner: &str) -> bool {
        match self.groups.get(&id).map(|group| &group.state) {
            Some(State::Blocked(blocked)) => {
                blocked.collision.owner == owner && !self.claims.holds_any(owner, &blocked.card)
            }
            _ => false,
        }
    }

    pub(super) fn succeeded(&mut self, token: &BuildToken, pipeline: Option<Pipeline>) -> BuildVerdict {
        let (id, selected) = match self.settle(token) {
            Ok(settled) => settled,
            Err(reason) => return BuildVerdict::Fenced { reason },
        };
        if let Some(collision) = self.claims.collision(&selected.card) {
            let reason = format!("the name {} is held by model {}", quoted(&collision.name), quoted(&collision.owner));
            let Some((attempt, retry)) = self.fail(id, &reason) else { return BuildVerdict::Fenced { reason } };
            let deadline = retry.deadline;
            self.blocked.insert(retry.order, id);
            let (owner, name) = (collision.owner.clone(), collision.name.clone());
            self.notice(Notice::BuildBlocked { token: token.clone(), owner, name, attempt, deadline });
            if let Some(group) = self.groups.get_mut(&id) {
                group.state = State::Blocked(Blocked { retry, collision, card: selected.card });
            }
            return BuildVerdict::Blocked { reason };
        }
        self.commit(id, selected, pipeline)
    }

    pub(super) fn failed(&mut self, token: &BuildToken, reason: &str) -> BuildVerdict {
        let id = match self.settle(token) {
            Ok((id, _)) => id,
            Err(reason) => return BuildVerdict::Fenced { reason },
        };
        let Some((attempt, retry)) = self.fail(id, reason) else {
            return BuildVerdict::Fenced { reason: reason.into() };
        };
        let deadline = retry.deadline;
        self.notice(Notice::BuildRetry { token: token.clone(), attempt, deadline, reason: reason.into() });
        if let Some(group) = self.groups.get_mut(&id) {
            group.state = State::Retrying(retry);
        }
        BuildVerdict::Retry { attempt, deadline }
    }

    pub(super) fn cancelled(&mut self, token: &BuildToken) -> BuildVerdict {
        match self.settle(token) {
            Ok((id, _)) => {
                self.requeue(id);
                BuildVerdict::Requeued
            }
            Err(reason) => BuildVerdict::Fenced { reason },
        }
    }

    /// Start what may run now, each under a fresh generation (clauses S3, S7, S8).
    pub(super) fn start_builds(&mut self) {
        while let Some(id) = self.fence.next_group() {
            let Some(group) = self.groups.get_mut(&id) else { continue };
            let Some(cohort) = group.cohorts.incumbent() else { continue };
            let Some(representative) = cohort.representative() else { continue };
            let representative = group.key.endpoint.instance_key(representative);
            let base = self.workers.get(&*representative).and_then(|worker| worker.base.as_ref());
            let card = base.map_or_else(|| Arc::clone(&cohort.card), |base| Arc::clone(base.card.card()));
            let token = self.fence.issue(id, Arc::clone(&group.key), cohort.mdc_checksum, self.now);
            group.state = State::Building(Selected { token: token.clone(), card: Arc::clone(&card) });
            self.command(Command::StartBuild(BuildSpec { token, card, representative }));
        }
    }

    /// Take a report in: the group and its build, if the build is the one whose result counts (clause S4).
    fn settle(&mut self, token: &BuildToken) -> Result<(GroupId, Selected), String> {
        let id = self.fence.report(token)?;
        let group = self.groups.get(&id);
        fence(group.and_then(Group::selected), token)?;
        match group.map(|group| &group.state) {
            Some(State::Building(selected)) => Ok((id, selected.clone())),
            _ => Err(format!("generation {} is not the selected build", token.generation)),
        }
    }

    /// Count a failure and set its retry's time (clause S7).
    fn fail(&mut self, id: GroupId, reason: &str) -> Option<(u32, Retry)> {
        let group = self.groups.get_mut(&id)?;
        group.failures = group.failures.saturating_add(1);
        self.failures += 1;
        let retry = Retry {
            failed: self.now,
            deadline: self.now + delay(group.failures),
            order: self.failures,
            reason: reason.into(),
        };
        self.due.insert((Time(retry.deadline), retry.order), id);
        Some((group.failures, retry))
    }

    fn commit(&mut self, id: GroupId, selected: Selected, pipeline: Option<Pipeline>) -> BuildVerdict {
        let Selected { token, card } = selected;
        let generation = token.generation;
        let router_mode = card.router_mode().unwrap_or(self.config.default_router_mode);
        self.claims.take(&card);
        self.call.claimed.extend(claims_of(&card).into_iter().map(Box::from));
        let abandoned = self.routes.abandonment();
        let serving = ServingSet::new(Binding::new(token.clone(), card, pipeline, router_mode, abandoned));
        let namespace = namespace_of(&serving);
        self.call.namespaces.insert(namespace.clone());
        self.serving.entry(namespace).or_default().insert(Arc::clone(&serving.key), Arc::clone(&serving));
        if let Some(group) = self.groups.get_mut(&id) {
            group.failures = 0;
            group.state = State::Ready(Committed { serving, carried: HashMap::default() });
            let members = group.cohorts.incumbent().into_iter().flat_map(|cohort| &cohort.members);
            self.call.workers.extend(members.map(|member| (id, member.0)));
        }
        self.notice(Notice::BuildCommitted { token });
        BuildVerdict::Committed { generation }
    }
}

fn namespace_of(serving: &ServingSet) -> (String, String) {
    (serving.key.model.clone(), serving.key.endpoint.namespace.clone())
}
