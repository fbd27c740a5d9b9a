//! `ModelCard`, `CardDifference` and `explain`.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyString, PyTuple};
use serde_json::Value;
use workerset_core::{CardError, Profile, RouterPolicyFiles, card as core};

use crate::config::{PolicyFiles, ProfileName};
use crate::convert::{Field, Items, Json, Role};
use crate::error::{self, guarded};
use crate::json;
use crate::record::record;
use crate::text::{encoded, shown};

/// A decoded card of one release.
#[pyclass(module = "workerset._native", frozen, eq, hash)]
pub(crate) struct ModelCard {
    core: Arc<core::ModelCard>,
    /// The decoded card as a tree, made when an attribute first needs it.
    tree: OnceLock<Value>,
}

#[pymethods]
impl ModelCard {
    /// Decode a card as a release does.
    #[staticmethod]
    #[pyo3(
        signature = (raw, profile = CardProfile(Profile::V1_6), router_policy_files = PolicyFiles(RouterPolicyFiles::Refuse)),
        text_signature = "(raw, profile='1.6', router_policy_files='refuse')"
    )]
    fn from_json(raw: Raw, profile: CardProfile, router_policy_files: PolicyFiles) -> PyResult<Self> {
        guarded(|| {
            let card = core::ModelCard::from_text(raw.as_bytes(), profile.0, &router_policy_files.0);
            let card = card.map_err(error::card)?;
            Ok(Self::new(Arc::new(card)))
        })
    }

    /// The compatibility identity.
    #[getter]
    fn mdcsum(&self) -> String {
        self.core.mdcsum().to_string()
    }

    /// The release that it was decoded as.
    #[getter]
    fn profile(&self) -> &'static str {
        self.core.profile().as_str()
    }

    /// The bytes that it was decoded from.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        guarded(|| Ok(PyBytes::new(py, self.core.raw())))
    }

    /// Name of the model, or of the adapter.
    #[getter]
    fn display_name(&self) -> &str {
        self.core.display_name()
    }

    /// Other names of the model.
    #[getter]
    fn aliases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        guarded(|| PyTuple::new(py, self.core.aliases()))
    }

    /// What the model can be asked for, as the card's JSON says it.
    #[getter]
    fn model_type<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "model_type")
    }

    /// What the model can be asked for, as keys and routes say it.
    #[getter]
    fn model_types(&self) -> String {
        self.core.model_types().lower()
    }

    /// `Text`, `Tokens` or `Tensor`.
    #[getter]
    fn model_input(&self) -> &'static str {
        self.core.model_input()
    }

    /// The role as advertised.
    #[getter]
    fn worker_type(&self) -> Option<&'static str> {
        self.core.worker_type().map(workerset_core::WorkerType::as_str)
    }

    /// The role that counts.
    #[getter]
    fn effective_worker_type(&self) -> &'static str {
        self.core.effective_worker_type().as_str()
    }

    /// Alternatives of roles that must also be there.
    #[getter]
    fn needs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| {
            let roles = |roles: &Vec<_>| Items(roles.iter().copied().map(Role).collect());
            Items(self.core.needs().iter().map(roles).collect()).attribute(py)
        })
    }

    /// Tokens in a KV cache block.
    #[getter]
    fn kv_cache_block_size(&self) -> u32 {
        self.core.kv_cache_block_size()
    }

    /// The effective context length, in tokens.
    #[getter]
    fn context_length(&self) -> u32 {
        self.core.context_length()
    }

    /// How often a request may move to another worker.
    #[getter]
    fn migration_limit(&self) -> u32 {
        self.core.migration_limit()
    }

    /// The routing mode that the card advertises.
    #[getter]
    fn router_mode(&self) -> Option<&'static str> {
        self.core.router_mode().map(core::RouterMode::as_str)
    }

    /// Where the worker took the model from.
    #[getter]
    fn source_path(&self) -> Option<&str> {
        self.core.source_path()
    }

    /// Name of the model in file names.
    #[getter]
    fn slug(&self) -> &str {
        self.core.slug()
    }

    /// Slug and checksum.
    #[getter]
    fn metadata_cache_key(&self) -> String {
        self.core.metadata_cache_key()
    }

    /// What makes it an adapter's card.
    #[getter]
    fn lora<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "lora")
    }

    /// The advertised router configuration, every default filled in.
    #[getter]
    fn router_config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "router_config")
    }

    /// The worker's runtime configuration.
    #[getter]
    fn runtime_config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "runtime_config")
    }

    /// The tokenizer's file.
    #[getter]
    fn tokenizer<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "tokenizer")
    }

    /// The model configuration's file.
    #[getter]
    fn model_info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "model_info")
    }

    /// The prompt template's file.
    #[getter]
    fn prompt_formatter<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "prompt_formatter")
    }

    /// The chat template's own file.
    #[getter]
    fn chat_template_file<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "chat_template_file")
    }

    /// The generation configuration's file.
    #[getter]
    fn gen_config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "gen_config")
    }

    /// What the worker's operator added.
    #[getter]
    fn user_data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.member(py, "user_data")
    }

    /// The decoded card, every default filled in.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| json::to_python(py, self.tree()))
    }

    /// Changes exactly when adapter projections do.
    fn projection_fingerprint(&self) -> PyResult<String> {
        guarded(|| Ok(self.core.projection_fingerprint()))
    }

    /// What the discovery boundary makes of the card.
    #[pyo3(signature = (tokenizer_backend = None, tokenizer_fallback = None))]
    fn normalized(&self, tokenizer_backend: Option<&str>, tokenizer_fallback: Option<bool>) -> PyResult<Self> {
        guarded(|| {
            let card = self.core.normalized(tokenizer_backend, tokenizer_fallback).map_err(error::card)?;
            Ok(Self::new(Arc::new(card)))
        })
    }

    fn __repr__(&self) -> String {
        format!(
            "<ModelCard {:?} profile {} mdcsum {}>",
            self.core.display_name(),
            self.core.profile().as_str(),
            self.core.mdcsum()
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        guarded(|| {
            let raw = PyBytes::new(py, self.core.raw());
            let original = decode(self.core.raw(), self.core.profile()).map_err(error::card)?;
            let settings = (self.tree() != &original.to_value()).then(|| {
                let setting = |name| self.tree().get("runtime_config").and_then(|config| config.get(name));
                let backend = setting("tokenizer_backend").and_then(Value::as_str);
                (backend, setting("tokenizer_fallback_enabled").and_then(Value::as_bool))
            });
            let restore = py.get_type::<Self>().getattr("_restore")?;
            (restore, (raw, self.profile(), settings)).into_pyobject(py)
        })
    }

    /// The card that was pickled: its bytes again, and if it was normalised, with the tokenizer settings that it had.
    #[staticmethod]
    fn _restore(raw: &[u8], profile: &str, settings: Option<(Option<String>, Option<bool>)>) -> PyResult<Self> {
        guarded(|| {
            let ProfileName(profile) = ProfileName::parse("profile", profile)?;
            let card = decode(raw, profile).map_err(error::card)?;
            let card = match settings {
                Some((backend, fallback)) => card.normalized(backend.as_deref(), fallback).map_err(error::card)?,
                None => card,
            };
            Ok(Self::new(Arc::new(card)))
        })
    }
}

impl ModelCard {
    pub(crate) fn new(core: Arc<core::ModelCard>) -> Self {
        Self { core, tree: OnceLock::new() }
    }

    fn tree(&self) -> &Value {
        self.tree.get_or_init(|| self.core.to_value())
    }

    fn member<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        guarded(|| json::to_python(py, self.tree().get(name).unwrap_or(&Value::Null)))
    }
}

impl PartialEq for ModelCard {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.core, &other.core)
            || (self.core.mdcsum() == other.core.mdcsum()
                && self.core.profile() == other.core.profile()
                && self.core.raw() == other.core.raw()
                && self.tree() == other.tree())
    }
}

impl Hash for ModelCard {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.core.mdcsum().hash(state);
        self.core.raw().hash(state);
    }
}

/// A card in a record, shared with the core: the Python object is made when the attribute is read.
pub(crate) struct Card(pub(crate) Arc<core::ModelCard>);

impl PartialEq for Card {
    fn eq(&self, other: &Self) -> bool {
        ModelCard::new(Arc::clone(&self.0)) == ModelCard::new(Arc::clone(&other.0))
    }
}

impl Hash for Card {
    fn hash<H: Hasher>(&self, state: &mut H) {
        ModelCard::new(Arc::clone(&self.0)).hash(state);
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Card {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Arc::clone(&object.cast::<ModelCard>()?.get().core)))
    }
}

impl Field for Card {
    fn attribute<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        ModelCard::new(Arc::clone(&self.0)).into_bound_py_any(py)
    }

    fn plain<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_python(py, &self.0.to_value())
    }
}

record! {
    /// A field that feeds the checksum and is not the same in two cards.
    CardDifference {
        /// Path in the card's JSON.
        field: String,
        /// The value in the first card; None if absent.
        left: Json,
        /// The value in the second card; None if absent.
        right: Json,
    }
}

/// The differences that feed the checksum.
#[pyfunction]
pub(crate) fn explain<'py>(a: &Bound<'py, ModelCard>, b: &Bound<'py, ModelCard>) -> PyResult<Bound<'py, PyTuple>> {
    guarded(|| {
        let differences = core::explain(&a.get().core, &b.get().core).map_err(error::card)?;
        let records = differences.into_iter().map(|core::CardDifference { field, left, right }| CardDifference {
            field,
            left: Json(left),
            right: Json(right),
        });
        PyTuple::new(a.py(), records.collect::<Vec<_>>())
    })
}

/// As the release decodes text, else as discovery decodes records: of a repeated key the last value counts. Policy files
/// were judged when the card was first decoded.
fn decode(raw: &[u8], profile: Profile) -> Result<core::ModelCard, CardError> {
    let accept = RouterPolicyFiles::Accept;
    core::ModelCard::from_text(raw, profile, &accept).or_else(|error| match serde_json::from_slice(raw) {
        Ok(tree) => core::ModelCard::from_tree(tree, raw.into(), profile, &accept),
        Err(_) => Err(error),
    })
}

/// The argument `profile`.
struct CardProfile(Profile);

impl<'a, 'py> FromPyObject<'a, 'py> for CardProfile {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let name = object.cast::<PyString>()?;
        ProfileName::parse("profile", &shown(&name)?).map(|ProfileName(profile)| Self(profile))
    }
}

/// A card's JSON, not copied.
enum Raw {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Raw {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            // One that cannot be encoded is no card: its bytes are, and the decoder says so.
            return text.extract().map(Self::Text).or_else(|_| Ok(Self::Bytes(encoded(&text)?.into())));
        }
        let expected = || PyTypeError::new_err(format!("expected bytes or str, not {}", object.get_type()));
        object.extract().map(Self::Bytes).map_err(|_| expected())
    }
}

impl Raw {
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }
}
