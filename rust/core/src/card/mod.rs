//! Model deployment cards: decoding as a release decodes, its checksum, and what differs between two cards.
//!
//! One file per concern: `wire` reads and writes JSON for a release; `schema`, `files`, `model_types`, `router_config`,
//! `runtime_config`, `media` and `tensor` say what a card holds; `checksum` hashes it; `normalize`, `projection` and
//! `explain` are what admission asks of it.

mod checksum;
mod decode;
mod explain;
mod files;
mod media;
mod model_types;
mod normalize;
mod projection;
mod router_config;
mod runtime_config;
mod schema;
mod tensor;
mod wire;

use std::sync::Arc;

use serde_json::Value;

pub use explain::{CardDifference, explain};
pub use model_types::ModelTypes;
pub use normalize::{BoundaryCard, is_tokenizer_backend};
pub use router_config::RouterMode;
pub use schema::Lora;

use self::schema::Card;
use self::wire::{Named, to_tree};
use crate::config::Profile;
use crate::identity::{MdcChecksum, WorkerType};

/// A decoded card of one release.
#[derive(Clone, Debug)]
pub struct ModelCard {
    profile: Profile,
    raw: Arc<[u8]>,
    card: Card,
    /// Of `card`, always: taken when it is decoded and when it is normalised.
    mdcsum: MdcChecksum,
}

impl ModelCard {
    fn new(card: Card, raw: Arc<[u8]>, profile: Profile) -> Self {
        let mdcsum = checksum::mdcsum(&card, profile);
        Self { profile, raw, card, mdcsum }
    }

    /// The release that it was decoded as.
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The bytes that it was decoded from.
    pub fn raw(&self) -> &Arc<[u8]> {
        &self.raw
    }

    /// The compatibility identity of the card as it is now (clause I3, WIRE 2). Costs nothing.
    pub fn mdcsum(&self) -> MdcChecksum {
        self.mdcsum
    }

    /// Name of the model, or of the adapter.
    pub fn display_name(&self) -> &str {
        &self.card.display_name
    }

    /// Other names of the model, in the order advertised. Always empty in profile 1.3.
    pub fn aliases(&self) -> &[String] {
        &self.card.aliases
    }

    /// Name of the model in file names.
    pub fn slug(&self) -> &str {
        &self.card.slug.0
    }

    /// Where the worker took the model from.
    pub fn source_path(&self) -> Option<&str> {
        self.card.source_path.as_deref()
    }

    /// What the model can be asked for: the flags that the release has names for.
    pub fn model_types(&self) -> ModelTypes {
        self.card.model_type.known(self.profile)
    }

    /// `Text`, `Tokens` or `Tensor`.
    pub fn model_input(&self) -> &'static str {
        self.card.model_input.name()
    }

    /// The role as advertised. See [`ModelCard::effective_worker_type`].
    pub fn worker_type(&self) -> Option<WorkerType> {
        self.card.worker_type
    }

    /// The roles that must also be there: any one of the alternatives, all roles of it.
    pub fn needs(&self) -> &[Vec<WorkerType>] {
        &self.card.needs
    }

    /// Tokens in a KV cache block.
    pub fn kv_cache_block_size(&self) -> u32 {
        self.card.kv_cache_block_size
    }

    /// The context length that counts, in tokens (WIRE 2.1); 0 if the card says none.
    pub fn context_length(&self) -> u32 {
        self.card.effective_context_length()
    }

    /// How often a request may move to another worker.
    pub fn migration_limit(&self) -> u32 {
        self.card.migration_limit
    }

    /// The routing mode that the card advertises.
    pub fn router_mode(&self) -> Option<RouterMode> {
        self.card.router_config.as_ref().map(|config| config.router_mode)
    }

    /// Whether a request must not be served without its prefill hop.
    pub fn enforce_disagg(&self) -> bool {
        self.card.router_config.as_ref().is_some_and(|config| config.enforce_disagg)
    }

    /// Whether a key of `runtime_config.runtime_data` is truthy (WIRE 2.2).
    pub fn runtime_data_flag(&self, key: &str) -> bool {
        self.card.runtime_data_flag(key)
    }

    /// Names the model's metadata in a cache: slug and checksum, `<slug>/<mdcsum>` (clause I4).
    pub fn metadata_cache_key(&self) -> String {
        format!("{}/{}", self.slug(), self.mdcsum)
    }

    /// What makes it an adapter's card.
    pub fn lora(&self) -> Option<&Lora> {
        self.card.lora.as_ref()
    }

    /// The decoded card as its release writes it, every default filled in (WIRE 1, "Re-encoding"). Builds a tree: some 10 us.
    pub fn to_value(&self) -> Value {
        let mut card = self.card.clone();
        card.context_length = Some(card.effective_context_length());
        to_tree(&card, self.profile)
    }
}
