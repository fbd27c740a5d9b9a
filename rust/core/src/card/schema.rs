//! The card's own fields, in wire order, and the parts that are neither files nor configurations (WIRE 1).

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Error as _, MapAccess, Visitor};
use serde::{Deserializer, Serializer};
use serde_json::Value;

use super::files::{File, GenerationConfigKind, ModelInfoKind, Tagged, Template, TokenizerKind};
use super::media::{MediaDecoder, MediaFetcher};
use super::model_types::ModelTypes;
use super::router_config::RouterConfig;
use super::runtime_config::RuntimeConfig;
use super::tensor::TensorModelConfig;
use super::wire::{Context, Decode, Encode, Name, decode_name, names, record, some};
use crate::config::Profile;
use crate::config::Profile::V1_3;
use crate::identity::WorkerType;

record! {
    pub(crate) struct Card, "struct ModelDeploymentCard", unknown ignored {
        display_name: String;
        slug: Slug;
        source_path: Option<String> = None, written if some;
        model_info: Option<Tagged<ModelInfoKind>>;
        tokenizer: Option<Tagged<TokenizerKind>>;
        prompt_formatter: Option<Template> = None, written if some;
        chat_template_file: Option<Template> = None, written if some;
        gen_config: Option<Tagged<GenerationConfigKind>> = None, written if some;
        prompt_context: Option<Vec<PromptContext>> = None, written if some;
        architectural_max_context_length: Option<u32> = None, written if some;
        /// As advertised; [`Card::effective_context_length`] is what counts and what is written.
        context_length: Option<u32> = None, since V1_4;
        kv_cache_block_size: u32;
        migration_limit: u32;
        model_type: ModelTypes;
        model_input: ModelInput;
        worker_type: Option<WorkerType> = None;
        needs: Vec<Vec<WorkerType>> = Vec::new();
        lora: Option<Lora> = None, written if some;
        aliases: Vec<String> = Vec::new(), since V1_4, written if |aliases, _| !aliases.is_empty();
        user_data: Option<Value> = None, written if some;
        runtime_config: RuntimeConfig = RuntimeConfig::default();
        tensor_model_config: Option<TensorModelConfig> = None, written if some;
        media_decoder: Option<MediaDecoder> = None;
        media_fetcher: Option<MediaFetcher> = None;
        router_config: Option<RouterConfig> = None, written if some;
        indexer_identity: Option<IndexerIdentity> = None, since V1_4, written if some;
        extra_files: Vec<File> = Vec::new(), written if |files, _| !files.is_empty();
    }
}

impl Card {
    /// The context length that counts (WIRE 2.1). An explicit 0 wins over later sources.
    pub(crate) fn effective_context_length(&self) -> u32 {
        let advertised = self.runtime_config.context_length.or(self.architectural_max_context_length);
        advertised.or(self.context_length).unwrap_or(0)
    }
}

record! {
    /// What makes a card an adapter's.
    pub struct Lora, "struct LoraInfo", unknown ignored {
        name: String;
        max_gpu_lora_count: Option<u32> = None, written if some;
    }
}

impl Lora {
    /// The adapter.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many adapters fit on the worker at once.
    pub fn max_gpu_lora_count(&self) -> Option<u32> {
        self.max_gpu_lora_count
    }
}

names! {
    pub(crate) enum ModelInput { Text = "Text", Tokens = "Tokens", Tensor = "Tensor" }
}

names! {
    pub(crate) enum PromptContext { OaiChat = "oai_chat", Llama3DateTime = "llama3_date_time" }
}

const WORKER_TYPES: &[Name<WorkerType>] = &[
    ("prefill", WorkerType::Prefill, V1_3),
    ("decode", WorkerType::Decode, V1_3),
    ("encode", WorkerType::Encode, V1_3),
    ("aggregated", WorkerType::Aggregated, V1_3),
];

impl<'de> Decode<'de> for WorkerType {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        decode_name(deserializer, cx, WORKER_TYPES)
    }
}

impl Encode for WorkerType {
    fn encode<S: Serializer>(&self, serializer: S, _: Profile) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Text over `a-z`, `0-9`, `-` and `_`; may be empty.
#[derive(Clone, Debug)]
pub(crate) struct Slug(pub(crate) String);

impl<'de> Decode<'de> for Slug {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        let text = String::decode(deserializer, cx)?;
        match text.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-' | '_')) {
            None => Ok(Self(text)),
            Some(bad) => {
                Err(de::Error::custom(format_args!("invalid character {bad:?} in {text:?}, only a-z 0-9 - _")))
            }
        }
    }
}

impl Encode for Slug {
    fn encode<S: Serializer>(&self, serializer: S, _: Profile) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

record! {
    pub(crate) struct IndexerIdentity, "struct IndexerIdentitySpec", unknown ignored {
        semantics: Option<IdentityMap> = None, written if some;
        routing_scope: Option<IdentityMap> = None, written if some;
    }
}

/// 1 to 32 entries in byte order of the keys, keys of 1 to 128 bytes, values of 1 to 1024 bytes.
#[derive(Clone, Debug)]
pub(crate) struct IdentityMap(pub(crate) BTreeMap<String, String>);

impl<'de> Decode<'de> for IdentityMap {
    fn decode<D: Deserializer<'de>>(deserializer: D, _: &Context<'_>) -> Result<Self, D::Error> {
        deserializer.deserialize_map(IdentityVisitor)
    }
}

struct IdentityVisitor;

impl<'de> Visitor<'de> for IdentityVisitor {
    type Value = IdentityMap;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of 1 to 32 identity keys to texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<IdentityMap, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some((key, value)) = map.next_entry::<String, String>()? {
            if !(1..=128).contains(&key.len()) {
                return Err(A::Error::custom(format_args!("key {key:?} has {} bytes, expected 1 to 128", key.len())));
            }
            if !(1..=1024).contains(&value.len()) {
                let length = value.len();
                return Err(A::Error::custom(format_args!("value of {key:?} has {length} bytes, expected 1 to 1024")));
            }
            if entries.contains_key(&key) {
                return Err(A::Error::custom(format_args!("key {key:?} stands twice")));
            }
            entries.insert(key, value);
        }
        if (1..=32).contains(&entries.len()) {
            Ok(IdentityMap(entries))
        } else {
            Err(A::Error::custom(format_args!("{} entries, expected 1 to 32", entries.len())))
        }
    }
}

impl Encode for IdentityMap {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        self.0.encode(serializer, profile)
    }
}
