//! The inventory and the records in it.

use pyo3::prelude::*;
use workerset_core::inventory as core;

use crate::convert::{Checksum, Items, Named, Ref, Role, Seconds};
use crate::identity::WorkerSetKey;
use crate::record::{Record, record};

record! {
    /// State of the source.
    SourceEntry {
        /// `live`, `lost` or `ended`.
        state: String,
        /// Seconds since the last snapshot; None before the first.
        snapshot_age: Option<Seconds>,
        /// Newest revision seen; 0 before the first.
        revision: u64,
    }
}

record! {
    /// A record that is not usable.
    RefusedEntry {
        /// Instance key of a card record, full path of any other.
        key: String,
        /// What is wrong with it.
        reason: String,
    }
}

record! {
    /// A key that the source saw and did not pass on.
    Filtered {
        /// Instance key of a card record, full path of any other.
        key: String,
        /// Why.
        reason: String,
        /// Since when, in seconds of the caller's clock.
        since: Seconds,
    }
}

record! {
    /// How many builds run and wait.
    BuildsEntry {
        /// Builds whose end was not reported.
        running: usize,
        /// Sets that wait for a place.
        waiting: usize,
        /// How many may run at once.
        places: usize,
    }
}

record! {
    /// The cohort that holds a set.
    CohortEntry {
        /// Its checksum.
        mdc_checksum: Checksum,
        /// Instance keys, ascending.
        members: Items<String>,
        /// When it was first observed.
        since: Seconds,
    }
}

record! {
    /// A cohort that does not serve.
    RejectedEntry {
        /// Its checksum.
        mdc_checksum: Checksum,
        /// Instance keys, ascending.
        members: Items<String>,
        /// When it was first observed.
        since: Seconds,
        /// Names of the card fields that differ from the incumbent's.
        differs: Items<String>,
    }
}

record! {
    /// A failed build's next try.
    RetryEntry {
        /// Failures in a row.
        attempt: u32,
        /// When the next build is queued at the latest.
        deadline: Seconds,
        /// Why the last one failed.
        reason: String,
    }
}

record! {
    /// A prefill or encode hop.
    HopEntry {
        /// `active` or `absent`.
        state: String,
        /// Why it is absent; empty when active.
        reason: String,
    }
}

record! {
    /// One set.
    WorkerSetEntry {
        /// Display name of the model.
        model: String,
        /// Namespace.
        namespace: String,
        /// Component.
        component: String,
        /// Endpoint.
        endpoint: String,
        /// Model types in bit order, joined with `|`.
        model_types: String,
        /// Effective role.
        worker_type: Role,
        /// `queued`, `building`, `ready`, `retrying` or `blocked`.
        phase: String,
        /// Generation of the committed binding.
        generation: Option<u64>,
        /// Generation of the build that runs.
        building_generation: Option<u64>,
        /// The cohort that holds the set.
        incumbent: Ref<CohortEntry>,
        /// The others, in first-observation order.
        rejected: Items<Ref<RejectedEntry>>,
        /// Ids of the incumbent cohort.
        admitted: Items<u64>,
        /// Admitted and discovered ids; empty while nothing is committed.
        routable: Items<u64>,
        /// Ids that are temporarily taken out.
        inhibited: Items<u64>,
        /// Whether ids exist and all are inhibited.
        unreachable: bool,
        /// Kinds of transport that the admitted workers' endpoint records name, ascending.
        transports: Items<String>,
        /// Instance keys of the adapters that apply.
        adapters: Items<String>,
        /// Adapters that would apply but may not: their name is taken.
        unprojected: Items<Ref<RefusedEntry>>,
        /// The retry that is due, while retrying or blocked.
        retry: Option<Ref<RetryEntry>>,
        /// The model that holds the name, while blocked.
        blocked_by: Option<String>,
        /// State of the prefill and encode hops of this set's model and namespace.
        hops: Named<HopEntry>,
    }
    methods {
        /// The set's key.
        #[getter]
        fn worker_set(&self) -> WorkerSetKey {
            WorkerSetKey {
                model: self.model.clone(),
                namespace: self.namespace.clone(),
                component: self.component.clone(),
                endpoint: self.endpoint.clone(),
                model_types: self.model_types.clone(),
                worker_type: self.worker_type,
            }
        }
    }
}

record! {
    /// Everything that a controller holds, at one moment.
    Inventory {
        /// The checksum profile.
        profile: String,
        /// Where the records come from.
        source: Ref<SourceEntry>,
        /// The sets that have members, in the order of (model, key text).
        worker_sets: Items<Ref<WorkerSetEntry>>,
        /// Keys whose newest record is not usable, ascending.
        refused: Items<Ref<RefusedEntry>>,
        /// Keys that the source saw and did not pass on, in its order; 1,000 at most.
        filtered: Items<Ref<Filtered>>,
        /// How many builds run and wait.
        builds: Ref<BuildsEntry>,
        /// How many keys are filtered.
        filtered_count: usize,
    }
}

impl Inventory {
    pub(crate) fn from_core(
        py: Python<'_>,
        inventory: core::Inventory,
        filtered: Vec<Ref<Filtered>>,
    ) -> PyResult<Self> {
        let core::Inventory { profile, source, worker_sets, refused, builds } = inventory;
        let core::BuildsEntry { running, waiting, places } = builds;
        let filtered_count = filtered.len();
        let core::SourceEntry { state, snapshot_age, revision } = source;
        let snapshot_age = snapshot_age.map(Seconds);
        Ok(Self {
            profile: profile.to_owned(),
            source: Ref::new(py, SourceEntry { state: state.to_owned(), snapshot_age, revision })?,
            worker_sets: Items(worker_sets.into_iter().map(|set| worker_set(py, set)).collect::<PyResult<_>>()?),
            refused: refs(py, refused, refused_entry)?,
            filtered: Items(filtered.into_iter().take(FILTERED).collect()),
            builds: Ref::new(py, BuildsEntry { running, waiting, places })?,
            filtered_count,
        })
    }
}

/// How many filtered keys an inventory lists.
const FILTERED: usize = 1000;

fn worker_set(py: Python<'_>, entry: core::WorkerSetEntry) -> PyResult<Ref<WorkerSetEntry>> {
    let hops = entry.hops.into_iter().map(|(name, core::HopEntry { state, reason })| {
        Ref::new(py, HopEntry { state: state.to_owned(), reason }).map(|hop| (name.to_owned(), hop))
    });
    let entry = WorkerSetEntry {
        model: entry.model,
        namespace: entry.namespace,
        component: entry.component,
        endpoint: entry.endpoint,
        model_types: entry.model_types,
        worker_type: Role::from_name(entry.worker_type)?,
        phase: phase(entry.phase).to_owned(),
        generation: entry.generation,
        building_generation: entry.building_generation,
        incumbent: Ref::new(py, cohort(entry.incumbent))?,
        rejected: refs(py, entry.rejected, |core::RejectedEntry { cohort, differs }| {
            let core::CohortEntry { mdc_checksum, members, since } = cohort;
            RejectedEntry {
                mdc_checksum: Checksum(mdc_checksum),
                members: Items(members),
                since: Seconds(since),
                differs: Items(differs),
            }
        })?,
        admitted: Items(entry.admitted),
        routable: Items(entry.routable),
        inhibited: Items(entry.inhibited),
        unreachable: entry.unreachable,
        transports: Items(entry.transports),
        adapters: Items(entry.adapters),
        unprojected: refs(py, entry.unprojected, refused_entry)?,
        retry: entry
            .retry
            .map(|core::RetryEntry { attempt, deadline, reason }| {
                Ref::new(py, RetryEntry { attempt, deadline: Seconds(deadline), reason })
            })
            .transpose()?,
        blocked_by: entry.blocked_by,
        hops: Named(hops.collect::<PyResult<_>>()?),
    };
    Ref::new(py, entry)
}

fn cohort(entry: core::CohortEntry) -> CohortEntry {
    let core::CohortEntry { mdc_checksum, members, since } = entry;
    CohortEntry { mdc_checksum: Checksum(mdc_checksum), members: Items(members), since: Seconds(since) }
}

fn refused_entry(entry: core::RefusedEntry) -> RefusedEntry {
    let core::RefusedEntry { key, reason } = entry;
    RefusedEntry { key, reason }
}

fn refs<C, T>(py: Python<'_>, entries: Vec<C>, convert: impl Fn(C) -> T) -> PyResult<Items<Ref<T>>>
where
    T: Record + Into<PyClassInitializer<T>>,
{
    entries.into_iter().map(|entry| Ref::new(py, convert(entry))).collect::<PyResult<_>>().map(Items)
}

fn phase(phase: core::Phase) -> &'static str {
    match phase {
        core::Phase::Queued => "queued",
        core::Phase::Building => "building",
        core::Phase::Ready => "ready",
        core::Phase::Retrying => "retrying",
        core::Phase::Blocked => "blocked",
    }
}
