//! `Route`, `Hop` and `WorkerInfo`: what requests touch. Nothing here takes the controller's lock.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use workerset_core::routing as core;

use crate::card::{Card, ModelCard};
use crate::convert::Json;
use crate::error::{self, guarded};
use crate::identity::WorkerSetKey;
use crate::pipeline;
use crate::random::random;
use crate::record::record;
use crate::text::instance_id;

/// Where one request may go.
#[pyclass(module = "workerset._native", frozen)]
pub(crate) struct Route(pub(crate) core::Route);

#[pymethods]
impl Route {
    /// Display name of the model.
    #[getter]
    fn model(&self) -> &str {
        &self.0.model
    }

    /// Namespace of the serving set.
    #[getter]
    fn namespace(&self) -> &str {
        &self.0.namespace
    }

    /// Generation of the binding that serves.
    #[getter]
    fn generation(&self) -> u64 {
        self.0.binding.token.generation
    }

    /// The selected card.
    #[getter]
    fn card(&self) -> ModelCard {
        ModelCard::new(Arc::clone(&self.0.binding.card))
    }

    /// What the build handed in.
    #[getter]
    fn pipeline(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        pipeline::reveal(py, self.0.binding.pipeline.as_ref())
    }

    /// The adapter, when its name was asked for.
    #[getter]
    fn adapter(&self) -> Option<&str> {
        self.0.adapter.as_deref()
    }

    /// Decode or aggregated workers.
    #[getter]
    fn decode(&self) -> Hop {
        Hop(Arc::clone(&self.0.decode))
    }

    /// Prefill workers, when the hop exists.
    #[getter]
    fn prefill(&self) -> Option<Hop> {
        self.0.prefill.clone().map(Hop)
    }

    /// Encode workers, when the hop exists.
    #[getter]
    fn encode(&self) -> Option<Hop> {
        self.0.encode.clone().map(Hop)
    }

    fn __repr__(&self) -> String {
        let core::Route { model, namespace, binding, .. } = &self.0;
        format!("<Route {model:?} namespace {namespace:?} generation {}>", binding.token.generation)
    }
}

/// The live set of worker ids of one binding.
#[pyclass(module = "workerset._native", frozen, eq, hash)]
pub(crate) struct Hop(Arc<core::Hop>);

#[pymethods]
impl Hop {
    /// One id, by the hop's router mode.
    fn pick(&self, py: Python<'_>) -> PyResult<u64> {
        guarded(|| self.0.pick(random()).map_err(|error| self.failed(py, error)))
    }

    /// One id that is not among these.
    fn pick_except(&self, py: Python<'_>, ids: &Bound<'_, PyAny>) -> PyResult<u64> {
        guarded(|| {
            let excluded = ids.try_iter()?.filter_map(|id| id.and_then(|id| instance_id(&id)).transpose());
            let excluded = excluded.collect::<PyResult<Vec<u64>>>()?;
            self.0.pick_except(&excluded, random()).map_err(|error| self.failed(py, error))
        })
    }

    /// The id that the caller chose elsewhere, if it is routable.
    fn pick_direct(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<u64> {
        guarded(|| match instance_id(id)? {
            Some(id) => self.0.pick_direct(id).map_err(|error| self.failed(py, error)),
            None if self.0.binding().retired() => Err(self.failed(py, core::PickError::Retired)),
            None => Err(self.not_routable(py, "an integer that is no instance id is not routable".to_owned())),
        })
    }

    /// As many picks.
    fn pick_many(&self, py: Python<'_>, count: usize) -> PyResult<Vec<u64>> {
        guarded(|| (0..count).map(|_| self.0.pick(random()).map_err(|error| self.failed(py, error))).collect())
    }

    /// All routable ids, ascending.
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        guarded(|| PyTuple::new(py, self.0.ids()))
    }

    /// The worker behind a routable id.
    fn worker(&self, id: &Bound<'_, PyAny>) -> PyResult<Option<WorkerInfo>> {
        guarded(|| {
            let worker = instance_id(id)?.and_then(|id| self.0.worker(id));
            worker.map(|worker| WorkerInfo::from_core(&worker)).transpose()
        })
    }

    /// Generation of the binding.
    #[getter]
    fn generation(&self) -> u64 {
        self.0.binding().token.generation
    }

    /// The binding's checksum.
    #[getter]
    fn mdc_checksum(&self) -> String {
        self.0.binding().token.mdc_checksum.to_string()
    }

    /// The set.
    #[getter]
    fn worker_set(&self) -> WorkerSetKey {
        WorkerSetKey::from_core(&self.0.binding().token.worker_set)
    }

    /// The selected card.
    #[getter]
    fn card(&self) -> ModelCard {
        ModelCard::new(Arc::clone(&self.0.binding().card))
    }

    /// The policy of picks.
    #[getter]
    fn router_mode(&self) -> &'static str {
        self.0.binding().router_mode.as_str()
    }

    /// Tokens in a KV cache block, by the selected card.
    #[getter]
    fn kv_cache_block_size(&self) -> u32 {
        self.0.binding().card.kv_cache_block_size()
    }

    /// Whether the hop's generation is over.
    #[getter]
    fn retired(&self) -> bool {
        self.0.binding().retired()
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> bool {
        id.extract().is_ok_and(|id| self.0.contains(id))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// A hop is there even while it is empty.
    #[allow(clippy::unused_self, reason = "the protocol asks for it")]
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        let token = &self.0.binding().token;
        let state =
            if self.0.binding().retired() { "retired".to_owned() } else { format!("{} routable", self.0.len()) };
        format!("<Hop {} generation {} {state}>", token.worker_set, token.generation)
    }
}

impl Hop {
    fn failed(&self, py: Python<'_>, error: core::PickError) -> PyErr {
        let binding = self.0.binding();
        let model = binding.token.worker_set.model.as_str();
        let reason = match error {
            core::PickError::Retired => return error::binding_retired(model, binding.token.generation),
            core::PickError::DirectOnly => return error::direct_only(model),
            core::PickError::NoneRoutable if self.0.is_empty() => "no admitted worker is discovered".to_owned(),
            core::PickError::NoneRoutable => "every routable worker is excluded".to_owned(),
            core::PickError::NotRoutable(id) => format!("instance {id} is not routable on this hop"),
        };
        self.not_routable(py, reason)
    }

    fn not_routable(&self, py: Python<'_>, reason: String) -> PyErr {
        let binding = self.0.binding();
        error::no_routable_workers(py, &binding.token.worker_set.model, reason, binding.admitted(), self.0.len())
    }
}

/// The same hop object of the core: hops of one binding, for one adapter.
impl PartialEq for Hop {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Hash for Hop {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}

record! {
    /// One admitted and discovered worker.
    WorkerInfo {
        /// Its instance id.
        instance_id: u64,
        /// How its endpoint record says it is reached.
        transport: Json,
        /// Its own card.
        card: Card,
    }
}

impl WorkerInfo {
    fn from_core(worker: &core::Worker) -> PyResult<Self> {
        let transport = serde_json::from_str(&worker.transport).map_err(|error| error::broken(error.to_string()))?;
        Ok(Self { instance_id: worker.instance_id, transport: Json(transport), card: Card(Arc::clone(&worker.card)) })
    }
}
