//! Generations, tokens, and the places for builds (clauses S3, S4, S7).

use std::collections::BTreeMap;

use super::group::GroupId;
use crate::HashMap;
use crate::command::BuildToken;
use crate::identity::{MdcChecksum, SharedKey};
use crate::text::clipped;

/// Place in the queue; never used twice.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct QueuePlace(u64);

/// Issues builds and knows which of them still run.
#[derive(Debug)]
pub(super) struct Fence {
    controller_id: u64,
    limit: usize,
    generation: u64,
    running: HashMap<u64, Running>,
    queue: BTreeMap<QueuePlace, Waiting>,
    next_place: u64,
}

#[derive(Debug)]
struct Waiting {
    group: GroupId,
    since: f64,
}

/// A build whose result has not been reported. It takes a place even after it was cancelled.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) token: BuildToken,
    group: GroupId,
    pub(super) since: f64,
}

impl Fence {
    pub(super) fn new(controller_id: u64, limit: usize) -> Self {
        Self { controller_id, limit, generation: 0, running: HashMap::default(), queue: BTreeMap::new(), next_place: 0 }
    }

    /// Queue a group at the end.
    pub(super) fn enqueue(&mut self, group: GroupId, since: f64) -> QueuePlace {
        self.next_place += 1;
        let place = QueuePlace(self.next_place);
        self.queue.insert(place, Waiting { group, since });
        place
    }

    /// Give a place up.
    pub(super) fn dequeue(&mut self, place: QueuePlace) {
        self.queue.remove(&place);
    }

    /// The group whose turn it is, if a build may start.
    pub(super) fn next_group(&mut self) -> Option<GroupId> {
        if self.running.len() >= self.limit {
            return None;
        }
        self.queue.pop_first().map(|(_, waiting)| waiting.group)
    }

    /// Issue a build under a fresh generation.
    pub(super) fn issue(
        &mut self,
        group: GroupId,
        worker_set: SharedKey,
        mdc_checksum: MdcChecksum,
        since: f64,
    ) -> BuildToken {
        self.generation += 1;
        let token =
            BuildToken { worker_set, mdc_checksum, generation: self.generation, controller_id: self.controller_id };
        self.running.insert(self.generation, Running { token: token.clone(), group, since });
        token
    }

    /// The builds that take a place, oldest first.
    pub(super) fn running(&self) -> Vec<&Running> {
        let mut running: Vec<&Running> = self.running.values().collect();
        running.sort_unstable_by_key(|running| running.token.generation);
        running
    }

    /// How many builds run, how many wait, and how many may run at once.
    pub(super) fn load(&self) -> (usize, usize, usize) {
        (self.running.len(), self.queue.len(), self.limit)
    }

    /// Where a group stands in the queue, from 1, and since when. Cost: O(waiting).
    pub(super) fn place(&self, place: QueuePlace) -> Option<(usize, f64)> {
        let waiting = self.queue.get(&place)?;
        Some((self.queue.range(..=place).count(), waiting.since))
    }

    /// Since when a build runs.
    pub(super) fn running_since(&self, generation: u64) -> Option<f64> {
        self.running.get(&generation).map(|running| running.since)
    }

    /// Take a reported result: the group that the build was for, or why the report is fenced. Frees the build's place.
    pub(super) fn report(&mut self, token: &BuildToken) -> Result<GroupId, String> {
        if token.controller_id != self.controller_id {
            return Err("the token is another controller's".into());
        }
        let generation = token.generation;
        match self.running.get(&generation) {
            Some(running) if running.token == *token => {
                let group = running.group;
                self.running.remove(&generation);
                Ok(group)
            }
            Some(running) => Err(format!(
                "generation {generation} was issued for checksum {} of {}",
                running.token.mdc_checksum,
                clipped(&running.token.worker_set)
            )),
            None if generation <= self.generation => Err(format!("generation {generation} was reported before")),
            None => Err(format!("generation {generation} was never issued")),
        }
    }
}

/// Clause S4: a result counts only if its checksum and its generation are the selected ones.
pub(super) fn fence(selected: Option<&BuildToken>, token: &BuildToken) -> Result<(), String> {
    match selected {
        None => Err(format!("generation {} is not wanted any more: its cohort is gone", token.generation)),
        Some(selected) if selected.generation != token.generation => Err(format!(
            "generation {} is not wanted any more: {} is the selected build",
            token.generation, selected.generation
        )),
        Some(selected) if selected.mdc_checksum != token.mdc_checksum => {
            Err(format!("checksum {} is not the selected one: {} is", token.mdc_checksum, selected.mdc_checksum))
        }
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::identity::{EndpointId, WorkerSetKey, WorkerType};

    fn token(generation: u64, checksum: u8) -> BuildToken {
        let endpoint = EndpointId { namespace: "n".into(), component: "c".into(), endpoint: "e".into() };
        let (model, model_types) = ("m".into(), "chat".into());
        let worker_set = WorkerSetKey { model, endpoint, model_types, worker_type: WorkerType::Aggregated };
        let mdc_checksum = MdcChecksum([checksum; 32]);
        BuildToken { worker_set: Arc::new(worker_set), mdc_checksum, generation, controller_id: 0 }
    }

    /// `Fence::report` lets no altered token through, so the comparison of checksums is seen here only.
    #[test]
    fn a_result_counts_only_with_the_selected_generation_and_checksum() {
        let selected = token(3, 7);
        assert_eq!(fence(Some(&selected), &token(3, 7)), Ok(()));
        for (selected, reported, reason) in [
            (None, token(3, 7), "its cohort is gone"),
            (Some(&selected), token(2, 7), "3 is the selected build"),
            (Some(&selected), token(3, 8), "is not the selected one"),
        ] {
            let verdict = fence(selected, &reported);
            assert!(verdict.as_ref().is_err_and(|given| given.contains(reason)), "{verdict:?}");
        }
    }
}
