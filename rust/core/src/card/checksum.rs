//! `mdcsum`: the bytes that a release hashes, in its order (WIRE 2). "BE" and "LE" as there: big endian, but for the
//! indexer identity.

use serde_json::Value;

use super::files::Slot;
use super::schema::{Card, IdentityMap, IndexerIdentity, PromptContext};
use super::wire::to_text;
use crate::config::Profile;
use crate::config::Profile::{V1_4, V1_5, V1_6};
use crate::identity::{MdcChecksum, WorkerType};

/// Truthy from 1.5 on (WIRE 2, step 13).
pub(crate) const TOWER_CONNECTOR: &str = "vllm_enable_tower_connector_lora";
/// Truthy from 1.6 on (WIRE 2, step 14).
pub(crate) const GENERATE: &str = "vllm_inference_v1_generate";
/// Present from 1.6 on (WIRE 2, step 15).
pub(crate) const NEMOTRON_CONTRACT: &str = "vllm_nemotron_video_processor_contract";

/// The compatibility identity of a card (clause I3). About 1 us and one buffer.
pub(crate) fn mdcsum(card: &Card, profile: Profile) -> MdcChecksum {
    let mut bytes = Vec::with_capacity(1024);
    push_files(&mut bytes, card);
    push_context(&mut bytes, card);
    push_topology(&mut bytes, card);
    if let Some(router) = &card.router_config {
        bytes.extend_from_slice(blake3::hash(&to_text(router, profile)).as_bytes());
    }
    if profile >= V1_4 {
        if let Some(identity) = &card.indexer_identity {
            push_identity(&mut bytes, identity);
        }
        push_aliases(&mut bytes, &card.aliases);
    }
    push_runtime_data(&mut bytes, card, profile);
    MdcChecksum(*blake3::hash(&bytes).as_bytes())
}

/// Steps 1 to 4: name, source, digests.
fn push_files(bytes: &mut Vec<u8>, card: &Card) {
    bytes.extend_from_slice(card.display_name.as_bytes());
    bytes.extend_from_slice(card.source_path.as_deref().unwrap_or_default().as_bytes());
    for slot in card.slots().into_iter().filter_map(|(_, slot)| slot) {
        bytes.extend_from_slice(slot.file().checksum.as_str().as_bytes());
    }
    for (name, hex) in card.sorted_extra_files() {
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(hex.as_bytes());
    }
}

/// Steps 5 to 7.
fn push_context(bytes: &mut Vec<u8>, card: &Card) {
    if let Some(mixins) = &card.prompt_context {
        bytes.push(b'[');
        for (index, mixin) in mixins.iter().enumerate() {
            if index > 0 {
                bytes.extend_from_slice(b", ");
            }
            bytes.extend_from_slice(match mixin {
                PromptContext::OaiChat => b"OaiChat",
                PromptContext::Llama3DateTime => b"Llama3DateTime",
            });
        }
        bytes.push(b']');
    }
    bytes.extend_from_slice(&card.effective_context_length().to_be_bytes());
    bytes.extend_from_slice(&card.kv_cache_block_size.to_be_bytes());
}

/// Steps 8 and 9.
fn push_topology(bytes: &mut Vec<u8>, card: &Card) {
    bytes.push(card.worker_type.map_or(0, code));
    push_length(bytes, card.needs.len());
    for alternative in &card.needs {
        push_length(bytes, alternative.len());
        bytes.extend(alternative.iter().map(|role| code(*role)));
    }
}

/// Step 11, little endian.
fn push_identity(bytes: &mut Vec<u8>, identity: &IndexerIdentity) {
    bytes.extend_from_slice(b"dynamo/model-card/indexer-identity/v1");
    for map in [&identity.semantics, &identity.routing_scope] {
        let Some(IdentityMap(entries)) = map else {
            bytes.push(0);
            continue;
        };
        bytes.push(1);
        bytes.extend_from_slice(&length(entries.len()).to_le_bytes());
        for text in entries.iter().flat_map(|(key, value)| [key, value]) {
            bytes.extend_from_slice(&length(text.len()).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
    }
}

/// Step 12.
fn push_aliases(bytes: &mut Vec<u8>, aliases: &[String]) {
    if aliases.is_empty() {
        return;
    }
    push_length(bytes, aliases.len());
    for alias in aliases {
        push_length(bytes, alias.len());
        bytes.extend_from_slice(alias.as_bytes());
    }
}

/// Steps 13 to 15.
fn push_runtime_data(bytes: &mut Vec<u8>, card: &Card, profile: Profile) {
    for (key, since) in [(TOWER_CONNECTOR, V1_5), (GENERATE, V1_6)] {
        if profile >= since && card.runtime_data_flag(key) {
            bytes.push(0);
            bytes.extend_from_slice(key.as_bytes());
            bytes.extend_from_slice(b"\0true");
        }
    }
    if profile >= V1_6
        && let Some(contract) = card.runtime_config.runtime_data.get(NEMOTRON_CONTRACT)
    {
        let text = contract.to_string();
        bytes.extend_from_slice(b"\0dynamo/model-card/runtime-contract/v1\0");
        for part in [NEMOTRON_CONTRACT, &text] {
            bytes.extend_from_slice(&(part.len() as u64).to_be_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
    }
}

fn push_length(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend_from_slice(&length(count).to_be_bytes());
}

/// A card's text bounds every count in it, and no card has 4 GiB.
fn length(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn code(role: WorkerType) -> u8 {
    match role {
        WorkerType::Prefill => 1,
        WorkerType::Decode => 2,
        WorkerType::Encode => 3,
        WorkerType::Aggregated => 4,
    }
}

/// What the hash takes from the decoded card, in the form that it takes it.
impl Card {
    /// The five single files, by field.
    pub(crate) fn slots(&self) -> [(&'static str, Option<&dyn Slot>); 5] {
        [
            ("model_info", self.model_info.as_ref().map(|slot| slot as &dyn Slot)),
            ("tokenizer", self.tokenizer.as_ref().map(|slot| slot as &dyn Slot)),
            ("prompt_formatter", self.prompt_formatter.as_ref().map(|slot| slot as &dyn Slot)),
            ("chat_template_file", self.chat_template_file.as_ref().map(|slot| slot as &dyn Slot)),
            ("gen_config", self.gen_config.as_ref().map(|slot| slot as &dyn Slot)),
        ]
    }

    /// (basename, hex digits) in byte order.
    pub(crate) fn sorted_extra_files(&self) -> Vec<(String, &str)> {
        let mut files: Vec<(String, &str)> =
            self.extra_files.iter().map(|file| (file.path.basename(), file.checksum.hex())).collect();
        files.sort_unstable();
        files
    }

    /// Whether a key of `runtime_data` is truthy: true, or one of four words (WIRE 2.2).
    pub(crate) fn runtime_data_flag(&self, key: &str) -> bool {
        match self.runtime_config.runtime_data.get(key) {
            Some(Value::Bool(on)) => *on,
            Some(Value::String(text)) => matches!(text.trim().to_lowercase().as_str(), "1" | "true" | "yes" | "on"),
            _ => false,
        }
    }
}
