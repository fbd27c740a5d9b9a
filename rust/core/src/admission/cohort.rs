//! The cohorts of one set, in first-observation order (clauses R2, R5).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::HashMap;
use crate::card::ModelCard;
use crate::identity::{KeyOrdered, MdcChecksum};

/// Place in first-observation order; never used twice by one set.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct CohortOrder(u64);

/// Members with one checksum.
#[derive(Debug)]
pub(super) struct Cohort {
    pub(super) mdc_checksum: MdcChecksum,
    /// A card with that checksum: what `explain` compares.
    pub(super) card: Arc<ModelCard>,
    pub(super) members: BTreeSet<KeyOrdered>,
    pub(super) since: f64,
}

impl Cohort {
    /// The member with the smallest instance key. A cohort exists only while it has members.
    pub(super) fn representative(&self) -> Option<u64> {
        self.members.first().map(|member| member.0)
    }
}

/// What a departure did to its cohort.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Departure {
    /// Others remain.
    Remain,
    /// The incumbent cohort emptied and lost its place.
    IncumbentEmptied,
    /// A rejected cohort emptied and lost its place.
    RejectedEmptied,
}

/// The incumbent is the oldest cohort: it was first when it reserved, and every older one has emptied since.
#[derive(Debug, Default)]
pub(super) struct Cohorts {
    by_order: BTreeMap<CohortOrder, Cohort>,
    by_checksum: HashMap<MdcChecksum, CohortOrder>,
    next: u64,
}

impl Cohorts {
    /// Add a member; a checksum that no member has yet founds a cohort at the end.
    pub(super) fn join(&mut self, id: u64, card: &Arc<ModelCard>, mdc_checksum: MdcChecksum, now: f64) -> CohortOrder {
        let order = *self.by_checksum.entry(mdc_checksum).or_insert_with(|| {
            self.next += 1;
            CohortOrder(self.next)
        });
        self.by_order
            .entry(order)
            .or_insert_with(|| Cohort { mdc_checksum, card: Arc::clone(card), members: BTreeSet::new(), since: now })
            .members
            .insert(KeyOrdered(id));
        order
    }

    /// Remove a member; a cohort that empties is forgotten.
    pub(super) fn leave(&mut self, id: u64, order: CohortOrder) -> Departure {
        let was_incumbent = self.is_incumbent(order);
        let Some(cohort) = self.by_order.get_mut(&order) else { return Departure::Remain };
        cohort.members.remove(&KeyOrdered(id));
        if !cohort.members.is_empty() {
            return Departure::Remain;
        }
        self.by_checksum.remove(&cohort.mdc_checksum);
        self.by_order.remove(&order);
        if was_incumbent { Departure::IncumbentEmptied } else { Departure::RejectedEmptied }
    }

    pub(super) fn incumbent(&self) -> Option<&Cohort> {
        self.by_order.values().next()
    }

    pub(super) fn incumbent_order(&self) -> Option<CohortOrder> {
        self.by_order.keys().next().copied()
    }

    pub(super) fn is_incumbent(&self, order: CohortOrder) -> bool {
        self.incumbent_order() == Some(order)
    }

    pub(super) fn get(&self, order: CohortOrder) -> Option<&Cohort> {
        self.by_order.get(&order)
    }

    /// All but the incumbent, oldest first.
    pub(super) fn rejected(&self) -> impl Iterator<Item = (CohortOrder, &Cohort)> {
        self.by_order.iter().skip(1).map(|(order, cohort)| (*order, cohort))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_order.is_empty()
    }
}
