//! Why a request cannot be served now. Every sentence about it stands here; they are made when somebody reads them.

use std::fmt;

use super::controller::Controller;
use super::fence::Running;
use super::group::{Group, State};
use super::names::{Lingering, claims_of};
use crate::identity::{WorkerSetKey, WorkerType};
use crate::text::{clipped, count, duration, quoted};

/// One reason, with what it is made of.
enum Reason<'a> {
    BuildWaiting { place: usize, since: f64, running: Vec<&'a Running>, places: usize },
    BuildRunning { generation: u64, since: f64, timeout: Option<f64> },
    BuildFailed { times: u32, reason: &'a str, failed: f64, deadline: f64 },
    Blocked { name: &'a str, owner: &'a str, deadline: f64 },
    EndpointMissing { admitted: usize, waiting: usize },
}

impl Controller {
    /// Why a request for a model, alias or adapter cannot be routed now, one sentence each; none if it can. Ages count
    /// to the last call with a time. Cost: linear in sets and workers.
    pub fn reasons(&self, name: &str, model_type: Option<&str>, namespace: Option<&str>) -> Vec<String> {
        if self.closed {
            return vec!["the controller is closed".into()];
        }
        if !self.routes.names_model(name) {
            return self.reasons_without_model(name);
        }
        let (model, obstacles) = self.routes.obstacles(name, model_type, namespace);
        if obstacles.is_empty() {
            return obstacles;
        }
        let groups = self.groups_in_order(|key| {
            key.model == *model && namespace.is_none_or(|wanted| wanted == key.endpoint.namespace)
        });
        let mut reasons: Vec<String> = groups.iter().filter_map(|group| self.group_reason(group)).collect();
        // What a set of that namespace is doing says more than that none is committed.
        let is_explained = !groups.is_empty() && groups.iter().all(|group| group.committed().is_none());
        reasons.extend(obstacles.into_iter().filter(|_| !is_explained));
        reasons
    }

    /// Why a set serves nothing now; none if it serves, or is unknown.
    pub fn set_reason(&self, key: &WorkerSetKey) -> Option<String> {
        let id = self.group_ids.get(key)?;
        self.group_reason(self.groups.get(id)?)
    }

    /// Nothing is committed under that name.
    fn reasons_without_model(&self, name: &str) -> Vec<String> {
        let reserved = self
            .groups
            .values()
            .filter(|group| group.reserved.as_ref().is_some_and(|card| claims_of(card).contains(name)));
        let keys: Vec<&WorkerSetKey> = reserved.map(|group| &*group.key).collect();
        let groups = self.groups_in_order(|key| keys.contains(&key));
        let mut reasons: Vec<String> = groups.iter().filter_map(|group| self.group_reason(group)).collect();
        reasons.extend(self.adapter_reasons(name));
        if reasons.is_empty() {
            reasons.push(match self.known.lingering(name) {
                Some(Lingering { since, is_adapter: true, .. }) => {
                    format!("no worker has carried the adapter for {}", self.age(since))
                }
                Some(Lingering { since, .. }) => format!("its last worker left {} ago", self.age(since)),
                None if self.snapshot_at.is_none() => "discovery has not delivered its first snapshot".into(),
                None => "nobody offers it any more".into(),
            });
        }
        reasons
    }

    /// Where the adapters of that name are, none of which can be asked for.
    fn adapter_reasons(&self, name: &str) -> Vec<String> {
        let (mut alone, mut rejected) = (0, 0);
        let mut groups: Vec<&Group> = Vec::new();
        for worker in self.workers.values() {
            if !worker.adapters.values().any(|adapter| adapter.card.card().display_name() == name) {
                continue;
            }
            match worker.base.as_ref().and_then(|base| Some((base, self.groups.get(&base.group)?))) {
                None => alone += 1,
                Some((base, group)) if !group.cohorts.is_incumbent(base.cohort) => rejected += 1,
                Some((_, group)) => groups.push(group),
            }
        }
        let wanted = self.groups_in_order(|key| groups.iter().any(|group| *group.key == *key));
        let mut reasons: Vec<String> = wanted.iter().filter_map(|group| self.group_reason(group)).collect();
        if rejected > 0 {
            reasons.push(format!("the adapter is carried by {}", count(rejected, "rejected worker")));
        }
        if alone > 0 {
            reasons.push(format!("the adapter is carried by {} that published no card", count(alone, "worker")));
        }
        reasons
    }

    /// Why a set serves nothing, if it does not.
    fn group_reason(&self, group: &Group) -> Option<String> {
        let reason = match &group.state {
            State::Queued(place) => {
                let (place, since) = self.fence.place(*place)?;
                let (_, _, places) = self.fence.load();
                Reason::BuildWaiting { place, since, running: self.fence.running(), places }
            }
            State::Building(selected) => {
                let generation = selected.token.generation;
                let since = self.fence.running_since(generation)?;
                Reason::BuildRunning { generation, since, timeout: self.config.build_timeout }
            }
            State::Retrying(retry) => Reason::BuildFailed {
                times: group.failures,
                reason: &retry.reason,
                failed: retry.failed,
                deadline: retry.deadline,
            },
            State::Blocked(blocked) => Reason::Blocked {
                name: &blocked.collision.name,
                owner: &blocked.collision.owner,
                deadline: blocked.retry.deadline,
            },
            State::Ready(committed) if committed.serving.hop.is_empty() => Reason::EndpointMissing {
                admitted: group.cohorts.incumbent().map_or(0, |cohort| cohort.members.len()),
                waiting: group.cohorts.rejected().map(|(_, cohort)| cohort.members.len()).sum(),
            },
            State::Vacant | State::Ready(_) => return None,
        };
        let succession = if group.tenure > 1 && group.committed().is_none() {
            format!("a succession has been running for {}: ", self.age(group.reserved_at))
        } else {
            String::new()
        };
        let told = Told { reason: &reason, set: &group.key, now: self.now };
        Some(format!("{succession}{told}"))
    }

    fn groups_in_order(&self, wanted: impl Fn(&WorkerSetKey) -> bool) -> Vec<&Group> {
        let mut groups: Vec<&Group> = self.groups.values().filter(|group| wanted(&group.key)).collect();
        groups.sort_unstable_by_key(|group| group.key.key_text());
        groups
    }

    fn age(&self, since: f64) -> String {
        duration(self.now - since)
    }
}

/// A reason of a set, in words.
struct Told<'a> {
    reason: &'a Reason<'a>,
    set: &'a WorkerSetKey,
    now: f64,
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { now, .. } = *self;
        let set = Place(self.set);
        match self.reason {
            Reason::BuildWaiting { place, since, running, places } => {
                write!(f, "{set} waits for a build place ({} of {places} busy", running.len())?;
                for (index, Running { token, since, .. }) in running.iter().take(SHOWN).enumerate() {
                    let (model, age) = (quoted(&token.worker_set.model), duration(now - since));
                    write!(f, "{} {model} for {age}", if index == 0 { ":" } else { "," })?;
                }
                let more = running.len().saturating_sub(SHOWN);
                let more = if more == 0 { String::new() } else { format!(" and {more} more") };
                write!(f, "{more}), number {place} in line for {}", duration(now - since))
            }
            Reason::BuildRunning { generation, since, timeout } => {
                write!(f, "{set} is being built (generation {generation}) for {}", duration(now - since))?;
                timeout.map_or(Ok(()), |timeout| write!(f, " of {} at most", duration(timeout)))
            }
            Reason::BuildFailed { times, reason, failed, deadline } => {
                let (times, ago) = (count(*times as usize, "time"), duration(now - failed));
                let (reason, retry) = (clipped(reason), duration(deadline - now));
                write!(f, "the build of {set} failed {times} in a row, last {ago} ago: {reason}; ")?;
                write!(f, "tried again in {retry}")
            }
            Reason::Blocked { name, owner, deadline } => {
                let (name, owner, retry) = (quoted(name), quoted(owner), duration(deadline - now));
                write!(f, "{set} is blocked: the name {name} is held by model {owner}; tried again in {retry}")
            }
            Reason::EndpointMissing { admitted, waiting } => {
                let admitted = count(*admitted, "admitted worker");
                write!(f, "{set} has {admitted} with a card, and no usable endpoint record")?;
                match waiting {
                    0 => Ok(()),
                    1 => write!(f, "; 1 worker waits behind that"),
                    many => write!(f, "; {many} workers wait behind that"),
                }
            }
        }
    }
}

/// Where a set is, as people say it; its role where it is not the usual one.
struct Place<'a>(&'a WorkerSetKey);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkerSetKey { endpoint, worker_type, .. } = self.0;
        write!(f, "{}", clipped(endpoint))?;
        if *worker_type == WorkerType::Aggregated { Ok(()) } else { write!(f, " ({})", worker_type.as_str()) }
    }
}

/// Builds that are named when all places are busy.
const SHOWN: usize = 3;
