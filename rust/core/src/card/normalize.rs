//! What the discovery boundary makes of a card before its checksum is taken (WIRE 4; clauses I3, I6).

use std::sync::Arc;

use super::model_types::ModelTypes;
use super::runtime_config::TokenizerBackend;
use super::schema::ModelInput;
use super::wire::{Named, find_name};
use super::{ModelCard, checksum};
use crate::config::{AdmissionConfig, Profile};
use crate::error::CardError;
use crate::identity::{MdcChecksum, WorkerType};

/// Whether frontends of a release know a tokenizer backend of this name.
pub fn is_tokenizer_backend(name: &str, profile: Profile) -> bool {
    find_name(TokenizerBackend::NAMES, name, profile).is_ok()
}

impl ModelCard {
    /// The role that counts for key, validation and routing: the advertised one, else prefill by flag, else aggregated.
    pub fn effective_worker_type(&self) -> WorkerType {
        let by_flag = if self.card.model_type.contains(ModelTypes::PREFILL) {
            WorkerType::Prefill
        } else {
            WorkerType::Aggregated
        };
        self.card.worker_type.unwrap_or(by_flag)
    }

    /// A copy with the legacy prefill topology filled in and the frontend's tokenizer settings (WIRE 4 a, b).
    ///
    /// A backend name that the release does not know is an error. A release that has no fallback switch (before 1.5)
    /// ignores it.
    pub fn normalized(
        &self,
        tokenizer_backend: Option<&str>,
        tokenizer_fallback: Option<bool>,
    ) -> Result<Self, CardError> {
        let mut card = self.clone();
        card.normalize(tokenizer_backend, tokenizer_fallback)?;
        Ok(card)
    }

    fn normalize(
        &mut self,
        tokenizer_backend: Option<&str>,
        tokenizer_fallback: Option<bool>,
    ) -> Result<(), CardError> {
        if self.card.worker_type.is_none() && self.card.model_type.contains(ModelTypes::PREFILL) {
            self.card.worker_type = Some(WorkerType::Prefill);
            if self.card.needs.is_empty() {
                self.card.needs = vec![vec![WorkerType::Decode]];
            }
            self.mdcsum = checksum::mdcsum(&self.card, self.profile);
        }
        if let Some(name) = tokenizer_backend {
            let backend = find_name(TokenizerBackend::NAMES, name, self.profile)
                .map_err(|reason| CardError::at("runtime_config.tokenizer_backend", reason))?;
            self.card.runtime_config.tokenizer_backend = Some(backend);
        }
        if tokenizer_fallback.is_some() {
            self.card.runtime_config.tokenizer_fallback_enabled = tokenizer_fallback;
        }
        Ok(())
    }

    /// Whether a frontend takes the card at all (WIRE 4 c; clause R7).
    pub fn check_shape(&self) -> Result<(), CardError> {
        let card = &self.card;
        if card.display_name.is_empty() {
            return Err(CardError::at("display_name", "must not be empty"));
        }
        let types = card.model_type;
        let role = self.effective_worker_type();
        let tokens_only = role == WorkerType::Prefill || (role == WorkerType::Encode && types.is_empty());
        let good = if tokens_only {
            card.model_input == ModelInput::Tokens
        } else {
            types.is_empty()
                || match card.model_input {
                    ModelInput::Text => true,
                    ModelInput::Tokens => {
                        types.intersects(ModelTypes::CHAT | ModelTypes::COMPLETIONS | ModelTypes::EMBEDDING)
                    }
                    ModelInput::Tensor => types.contains(ModelTypes::TENSOR),
                }
        };
        if good {
            return Ok(());
        }
        let reason = format!(
            "{} does not go with worker type {role} and model type {:?}",
            card.model_input.name(),
            types.wire()
        );
        Err(CardError::at("model_input", reason))
    }
}

/// A card that passed the discovery boundary, and what admission needs of it. Its checksum is captured here, once.
#[derive(Clone, Debug)]
pub struct BoundaryCard {
    card: Arc<ModelCard>,
    projection_fingerprint: String,
    model_types: String,
    worker_type: WorkerType,
}

impl BoundaryCard {
    /// Takes a decoded card over the boundary: legacy topology, tokenizer settings, shape, adapter identity (WIRE 4 a to
    /// d; clauses I3, L4).
    ///
    /// `is_adapter`: whether the record has a model suffix. The error names what a frontend would refuse. About 2 us.
    pub fn new(mut card: ModelCard, config: &AdmissionConfig, is_adapter: bool) -> Result<Self, CardError> {
        card.normalize(config.tokenizer_backend.as_deref(), config.tokenizer_fallback)?;
        card.check_shape()?;
        match (card.lora().is_some(), is_adapter) {
            (true, false) => {
                return Err(CardError::at("lora", "the record has no model suffix, so this must be absent"));
            }
            (false, true) => return Err(CardError::at("lora", "the record has a model suffix, so this must be there")),
            (true, true) | (false, false) => {}
        }
        let projection_fingerprint = card.projection_fingerprint();
        let model_types = card.model_types().lower();
        let worker_type = card.effective_worker_type();
        Ok(Self { card: Arc::new(card), projection_fingerprint, model_types, worker_type })
    }

    /// The normalised card.
    pub fn card(&self) -> &Arc<ModelCard> {
        &self.card
    }

    /// The compatibility identity (clause I3).
    pub fn mdc_checksum(&self) -> MdcChecksum {
        self.card.mdcsum
    }

    /// Changes exactly when adapter projections do (clause L3).
    pub fn projection_fingerprint(&self) -> &str {
        &self.projection_fingerprint
    }

    /// The model types as they stand in the key, such as `chat|completions`.
    pub fn model_types(&self) -> &str {
        &self.model_types
    }

    /// The role as it stands in the key.
    pub fn worker_type(&self) -> WorkerType {
        self.worker_type
    }
}
