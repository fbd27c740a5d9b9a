//! From the committed sets of one model and namespace to who serves and which hops exist (clause H7).

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use super::hop::{Binding, Hop};
use crate::HashMap;
use crate::identity::{SharedKey, WorkerType};
use crate::readiness::{ReadinessUnit, evaluate};
use crate::text::clipped;

/// The hops of one committed set: all its workers, and per adapter those that carry it.
#[derive(Debug)]
pub(crate) struct ServingSet {
    pub(crate) key: SharedKey,
    pub(crate) hop: Arc<Hop>,
    carriers: RwLock<HashMap<Box<str>, Arc<Hop>>>,
}

impl ServingSet {
    pub(crate) fn new(binding: Arc<Binding>) -> Arc<Self> {
        let key = Arc::clone(&binding.token.worker_set);
        Arc::new(Self { key, hop: Hop::new(binding), carriers: RwLock::default() })
    }

    pub(crate) fn binding(&self) -> &Arc<Binding> {
        self.hop.binding()
    }

    /// The hop to use for a request: the set's, or the adapter's; none if no worker here ever carried the adapter.
    pub(super) fn hop_for(&self, adapter: Option<&str>) -> Option<Arc<Hop>> {
        let Some(adapter) = adapter else { return Some(Arc::clone(&self.hop)) };
        self.carriers.read().unwrap_or_else(PoisonError::into_inner).get(adapter).cloned()
    }

    /// The adapter's hop, made when it is first needed; it lives as long as the binding.
    pub(crate) fn adapter_hop(&self, adapter: &str) -> Arc<Hop> {
        let mut carriers = self.carriers.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(carriers.entry(adapter.into()).or_insert_with(|| Hop::new(Arc::clone(self.binding()))))
    }

    /// The adapters that a routable worker carries.
    pub(crate) fn carried_adapters(&self) -> Vec<Box<str>> {
        let carriers = self.carriers.read().unwrap_or_else(PoisonError::into_inner);
        carriers.iter().filter(|(_, hop)| !hop.is_empty()).map(|(name, _)| name.clone()).collect()
    }

    /// End the admission channel: no hop of this set yields an id from here on (clauses S2, S5).
    pub(crate) fn retire(&self) {
        self.binding().retire();
        self.hop.empty();
        for hop in self.carriers.read().unwrap_or_else(PoisonError::into_inner).values() {
            hop.empty();
        }
    }

    /// Whether the set offers something that a request can ask for by itself.
    fn is_public(&self) -> bool {
        self.key.model_types.split('|').any(|model_type| !matches!(model_type, "" | "prefill"))
    }

    fn unit(&self) -> ReadinessUnit {
        let card = &self.binding().card;
        let worker_type = card.worker_type().map(|_| self.key.worker_type);
        ReadinessUnit { worker_type, live: self.hop.len(), needs: card.needs().to_vec() }
    }
}

/// A hop beside the serving one.
#[derive(Clone, Debug)]
pub(crate) enum HopState {
    Active(Arc<ServingSet>),
    Absent(String),
}

impl HopState {
    pub(crate) fn active(&self) -> Option<&Arc<ServingSet>> {
        match self {
            Self::Active(set) => Some(set),
            Self::Absent(_) => None,
        }
    }

    /// Generation of the binding behind the hop: what tells one hop from another (clause H4).
    pub(crate) fn generation(&self) -> Option<u64> {
        self.active().map(|set| set.binding().token.generation)
    }

    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Active(_) => "",
            Self::Absent(reason) => reason,
        }
    }
}

/// What one model offers in one namespace.
#[derive(Clone, Debug)]
pub(crate) struct NamespaceRoutes {
    pub(crate) servers: Vec<Arc<ServingSet>>,
    pub(crate) prefill: HopState,
    pub(crate) encode: HopState,
    /// Why a request cannot be served here; empty when it can.
    pub(crate) obstacles: Vec<String>,
}

impl NamespaceRoutes {
    pub(crate) fn new(sets: &BTreeMap<SharedKey, Arc<ServingSet>>) -> Self {
        let of = |role| sets.values().filter(move |set| set.key.worker_type == role).collect::<Vec<_>>();
        let (prefills, decodes) = (of(WorkerType::Prefill), of(WorkerType::Decode));
        let (public_encodes, encodes): (Vec<_>, Vec<_>) =
            of(WorkerType::Encode).into_iter().partition(|set| set.is_public());
        let aggregated = of(WorkerType::Aggregated);

        let prefill = hop(&prefills, decodes.len());
        let with_prefill = if prefill.active().is_some() { decodes.len() } else { 0 };
        let handed_off =
            aggregated.iter().filter(|set| set.binding().card.runtime_data_flag("encoder_result_handoff")).count();
        let encode = hop(&encodes, with_prefill + handed_off);

        let servers: Vec<Arc<ServingSet>> = aggregated
            .into_iter()
            .chain(decodes)
            .filter(|set| set.is_public())
            .chain(public_encodes)
            .cloned()
            .collect();
        let units: Vec<ReadinessUnit> = sets.values().map(|set| set.unit()).collect();
        let mut routes = Self { servers, prefill, encode, obstacles: Vec::new() };
        routes.obstacles = routes.find_obstacles(&units);
        routes
    }

    /// Why this server cannot take a request now, with the hops for it if it can.
    pub(super) fn server_obstacle(&self, server: &ServingSet) -> Option<String> {
        let card = &server.binding().card;
        if server.hop.is_empty() {
            Some(format!("{} has no routable worker", clipped(&server.key.endpoint)))
        } else if card.enforce_disagg() && self.prefill_for(server).is_none() {
            Some(format!(
                "{} enforces disaggregation, and its prefill hop is absent: {}",
                clipped(&server.key.endpoint),
                self.prefill.reason()
            ))
        } else {
            None
        }
    }

    pub(super) fn prefill_for(&self, server: &ServingSet) -> Option<&Arc<ServingSet>> {
        self.prefill.active().filter(|_| server.key.worker_type == WorkerType::Decode)
    }

    pub(super) fn encode_for(&self, server: &ServingSet) -> Option<&Arc<ServingSet>> {
        let consumes = match server.key.worker_type {
            WorkerType::Decode => self.prefill.active().is_some(),
            WorkerType::Aggregated => server.binding().card.runtime_data_flag("encoder_result_handoff"),
            WorkerType::Encode | WorkerType::Prefill => false,
        };
        self.encode.active().filter(|_| consumes)
    }

    fn find_obstacles(&self, units: &[ReadinessUnit]) -> Vec<String> {
        let verdict = evaluate(units);
        if !verdict.ready {
            return match &verdict.missing {
                missing if missing.is_empty() => vec!["no worker is live".into()],
                missing => missing.iter().map(|worker_type| format!("no live {worker_type} worker")).collect(),
            };
        }
        if self.servers.is_empty() {
            return vec!["no set serves requests by itself".into()];
        }
        let obstacles: Vec<String> = self.servers.iter().filter_map(|server| self.server_obstacle(server)).collect();
        if obstacles.len() < self.servers.len() { Vec::new() } else { obstacles }
    }
}

/// Clause H7: a hop exists only between exactly one provider and exactly one consumer.
fn hop(providers: &[&Arc<ServingSet>], consumers: usize) -> HopState {
    match (providers, consumers) {
        ([], _) => HopState::Absent("no provider".into()),
        ([_, _, ..], _) => HopState::Absent(format!("ambiguous: {} providers", providers.len())),
        (_, 0) => HopState::Absent("no consumer".into()),
        ([provider], 1) => HopState::Active(Arc::clone(provider)),
        _ => HopState::Absent(format!("ambiguous: {consumers} consumers")),
    }
}
