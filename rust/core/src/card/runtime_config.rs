//! What a worker advertises of its running engine. Almost nothing of it feeds the checksum (WIRE 2.3), yet a bad value
//! anywhere refuses the card.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::wire::{Broken, Context, Decode, Encode, names, record, some};
use crate::config::Profile;
use crate::config::Profile::V1_6;

names! {
    pub(crate) enum TokenizerBackend {
        Default = "default",
        Fastokens = "fastokens",
        Basetenkenizer = "basetenkenizer" since V1_5,
    }
}

names! {
    pub(crate) enum StructuralTagMode { Off = "off", On = "on" }
}

names! {
    pub(crate) enum StructuralTagScope { Auto = "auto", Always = "always" }
}

names! {
    pub(crate) enum StructuralTagSchema { Auto = "auto", Strict = "strict" }
}

names! {
    pub(crate) enum ReasoningBoundary { Auto = "auto", StructuralTag = "structural_tag", Backend = "backend" }
}

names! {
    pub(crate) enum ArgumentsFormat { JsonString = "json_string", JsonObject = "json_object" }
}

names! {
    pub(crate) enum TransferEnforcement { Required = "required", Preferred = "preferred" }
}

record! {
    pub(crate) struct RuntimeConfig, "struct ModelRuntimeConfig", unknown ignored, then mirror_structural_tag {
        context_length: Option<u32> = None, written if some;
        total_kv_blocks: Option<u64>;
        max_num_seqs: Option<u64>;
        max_num_batched_tokens: Option<u64>;
        tool_call_parser: Option<String>;
        reasoning_parser: Option<String>;
        tool_call_arguments_format: ArgumentsFormat = ArgumentsFormat::JsonString, since V1_5;
        tokenizer_backend: Option<TokenizerBackend> = None, written if some;
        tokenizer_fallback_enabled: Option<bool> = None, since V1_5, written if some;
        structural_tag: Option<StructuralTag> = None, since V1_6, written if some;
        structural_tag_mode: StructuralTagMode = StructuralTagMode::Off;
        structural_tag_scope: StructuralTagScope = StructuralTagScope::Auto;
        structural_tag_schema: StructuralTagSchema = StructuralTagSchema::Auto;
        exclude_tools_when_tool_choice_none: bool = true;
        data_parallel_start_rank: u32 = 0;
        data_parallel_size: u32 = 1;
        enable_local_indexer: bool = true;
        kv_event_publishing_enabled: Option<bool> = None, since V1_4, written if some;
        kv_event_source_mode: Option<String> = None, since V1_5, written if some;
        kv_state_endpoint: Option<StateEndpoint> = None, since V1_4, written if some;
        runtime_data: BTreeMap<String, Value> = BTreeMap::new(), written if |data, _| !data.is_empty();
        disaggregated_endpoint: Option<DisaggregatedEndpoint> = None, written if some;
        enable_eagle: bool = false;
        taints: BTreeSet<String> = BTreeSet::new(), written if |taints, _| !taints.is_empty();
        stable_routing_id: Option<String> = None, written if some;
        topology_domains: BTreeMap<String, String> = BTreeMap::new(), written if |domains, _| !domains.is_empty();
        kv_transfer_domain: Option<String> = None, written if some;
        kv_transfer_enforcement: Option<TransferEnforcement> = None, written if some;
        kv_transfer_preferred_weight: Option<Single> = None, written if some;
        max_gpu_lora_count: Option<u32> = None, written if some;
    }
}

record! {
    pub(crate) struct StructuralTag, "struct StructuralTagConfig", unknown ignored {
        scope: StructuralTagScope = StructuralTagScope::Auto;
        schema: StructuralTagSchema = StructuralTagSchema::Auto;
        allow_tool_calls_with_structured_output: bool = false;
        exclude_special_tokens: Option<bool> = None, written if some;
        reasoning_boundary: ReasoningBoundary = ReasoningBoundary::Auto;
        tool_arguments_any_order: bool = false;
    }
}

record! {
    pub(crate) struct StateEndpoint, "struct EndpointId", unknown ignored {
        namespace: String;
        component: String;
        name: String;
    }
}

record! {
    pub(crate) struct DisaggregatedEndpoint, "struct DisaggregatedEndpoint", unknown ignored {
        bootstrap_host: Option<String> = None, written if some;
        bootstrap_port: Option<u16> = None, written if some;
    }
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            context_length: None,
            total_kv_blocks: None,
            max_num_seqs: None,
            max_num_batched_tokens: None,
            tool_call_parser: None,
            reasoning_parser: None,
            tool_call_arguments_format: ArgumentsFormat::JsonString,
            tokenizer_backend: None,
            tokenizer_fallback_enabled: None,
            structural_tag: None,
            structural_tag_mode: StructuralTagMode::Off,
            structural_tag_scope: StructuralTagScope::Auto,
            structural_tag_schema: StructuralTagSchema::Auto,
            exclude_tools_when_tool_choice_none: true,
            data_parallel_start_rank: 0,
            data_parallel_size: 1,
            enable_local_indexer: true,
            kv_event_publishing_enabled: None,
            kv_event_source_mode: None,
            kv_state_endpoint: None,
            runtime_data: BTreeMap::new(),
            disaggregated_endpoint: None,
            enable_eagle: false,
            taints: BTreeSet::new(),
            stable_routing_id: None,
            topology_domains: BTreeMap::new(),
            kv_transfer_domain: None,
            kv_transfer_enforcement: None,
            kv_transfer_preferred_weight: None,
            max_gpu_lora_count: None,
        }
    }
}

/// A number of single precision, written with the digits that it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Single(f32);

impl<'de> Decode<'de> for Single {
    fn decode<D: Deserializer<'de>>(deserializer: D, _: &Context<'_>) -> Result<Self, D::Error> {
        f32::deserialize(deserializer).map(Self)
    }
}

impl Encode for Single {
    fn encode<S: Serializer>(&self, serializer: S, _: Profile) -> Result<S::Ok, S::Error> {
        // The double with the same digits: a tree holds doubles only, and 0.3 shall not come out as 0.30000001192092896.
        self.0.to_string().parse::<f64>().unwrap_or(f64::from(self.0)).serialize(serializer)
    }
}

/// From 1.6 the three flat fields say what `structural_tag` says; it comes first, then a mode that is on.
#[allow(clippy::unnecessary_wraps)] // the signature of a record's rule
fn mirror_structural_tag(config: &mut RuntimeConfig, cx: &Context<'_>) -> Result<(), Broken> {
    if cx.profile < V1_6 {
        return Ok(());
    }
    if config.structural_tag.is_none() && config.structural_tag_mode == StructuralTagMode::On {
        config.structural_tag = Some(StructuralTag {
            scope: config.structural_tag_scope,
            schema: config.structural_tag_schema,
            allow_tool_calls_with_structured_output: false,
            exclude_special_tokens: None,
            reasoning_boundary: ReasoningBoundary::Auto,
            tool_arguments_any_order: false,
        });
    }
    let tag = config.structural_tag.as_ref();
    config.structural_tag_mode = if tag.is_some() { StructuralTagMode::On } else { StructuralTagMode::Off };
    config.structural_tag_scope = tag.map_or(StructuralTagScope::Auto, |tag| tag.scope);
    config.structural_tag_schema = tag.map_or(StructuralTagSchema::Auto, |tag| tag.schema);
    Ok(())
}
