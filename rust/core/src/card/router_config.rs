//! The router configuration that a card advertises: fields, defaults and rules per release (WIRE 3).

use serde::{Deserializer, Serializer};

use super::wire::{Broken, Context, Decode, Encode, Named, names, record, some};
use crate::config::Profile;
use crate::config::Profile::{V1_3, V1_4, V1_5, V1_6};

names! {
    /// How a hop chooses a worker.
    #[allow(clippy::upper_case_acronyms)]
    pub enum RouterMode {
        /// In turn.
        RoundRobin = "round_robin",
        /// At random.
        Random = "random",
        /// The less loaded of two random ones.
        PowerOfTwoChoices = "power_of_two_choices",
        /// By what workers hold in their KV caches.
        KV = "k_v",
        /// Only where the caller says.
        Direct = "direct",
        /// The least loaded.
        LeastLoaded = "least_loaded",
        /// By load and device.
        DeviceAwareWeighted = "device_aware_weighted",
    }
}

impl RouterMode {
    /// The name on the wire, such as `round_robin` and `k_v`.
    pub fn as_str(self) -> &'static str {
        self.name()
    }

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _, _)| *known == name).map(|(_, mode, _)| *mode)
    }
}

names! {
    pub(crate) enum SessionAffinityMode { Hard = "hard", Soft = "soft" }
}

names! {
    pub(crate) enum TrackingHash { Public = "public-xxh3-v1", Keyed = "keyed-xxh3-v1" }
}

names! {
    pub(crate) enum PrefillLoadModel { Off = "none", Aic = "aic" }
    also { "ais" = Aic since V1_6 }
}

names! {
    pub(crate) enum QueuePolicy { Fcfs = "fcfs", Lcfs = "lcfs", Wspt = "wspt" }
}

names! {
    pub(crate) enum SharedCacheType { Off = "none", Hicache = "hicache" }
}

names! {
    pub(crate) enum DisaggPolicy {
        IslBounding = "isl_bounding",
        PrefillLoad = "prefill_load",
        IslOrLoad = "isl_or_load",
    }
}

record! {
    /// As hashed: its compact JSON in this order, every default filled in.
    pub(crate) struct RouterConfig, "struct RouterConfig", unknown ignored {
        router_mode: RouterMode;
        kv_router_config: KvRouterConfig;
        load_threshold_config: LoadThresholdConfig;
        enforce_disagg: bool = false;
        session_affinity_ttl_secs: Option<u64> = None;
        session_affinity_mode: SessionAffinityMode = SessionAffinityMode::Hard, since V1_5;
    }
}

record! {
    pub(crate) struct LoadThresholdConfig, "struct LoadThresholdConfig", unknown ignored {
        active_decode_blocks_threshold: Option<f64>, written if some;
        active_prefill_tokens_threshold: Option<u64>, written if some;
        active_prefill_tokens_threshold_frac: Option<f64>, written if some;
    }
}

record! {
    /// Unknown keys refuse the whole card.
    pub(crate) struct KvRouterConfig, "struct KvRouterConfig", unknown refused, then settle {
        overlap_score_credit: f64 = 1.0;
        overlap_score_credit_decay: f64 = 0.0;
        prefill_load_scale: f64 = 1.0;
        decode_active_request_weight: f64 = 0.0, since V1_4, written if |weight, _| *weight != 0.0;
        /// An older way to say the first and the third; see [`settle`].
        overlap_score_weight: Option<f64> = None, written if never;
        host_cache_hit_weight: f64 = 0.75;
        disk_cache_hit_weight: f64 = 0.25;
        router_temperature: f64 = 0.0;
        use_kv_events: bool = true;
        durable_kv_events: bool = false, written if only_1_3;
        router_replica_sync: bool = false;
        router_track_active_blocks: bool = true;
        router_track_output_blocks: bool = false;
        router_assume_kv_reuse: bool = true;
        router_track_prefill_tokens: bool = true;
        router_tracking_hash: TrackingHash = TrackingHash::Public, since V1_4,
            written if |hash, _| *hash != TrackingHash::Public;
        router_tracking_key_file: Option<String> = None, since V1_4, written if some;
        router_tracking_key_id: Option<String> = None, since V1_4, written if some;
        router_prefill_load_model: PrefillLoadModel = PrefillLoadModel::Off;
        router_snapshot_threshold: Option<u32> = Some(1_000_000), written if only_1_3;
        router_reset_states: bool = false, written if only_1_3;
        router_ttl_secs: f64 = 120.0;
        router_queue_threshold: Option<f64>, by profile => (profile == V1_3).then_some(16.0);
        router_policy_config: Option<String> = None;
        router_event_threads: u32 = 4;
        skip_initial_worker_wait: bool = false;
        router_queue_policy: QueuePolicy = QueuePolicy::Fcfs;
        use_remote_indexer: bool = false;
        serve_indexer: bool = false;
        enable_session_prefix_index: bool = false, since V1_6, written if |enabled, _| *enabled;
        shared_cache_multiplier: Multiplier, by profile => Multiplier((profile < V1_6).then_some(0.0)),
            written if |multiplier, _| multiplier.0.is_some();
        shared_cache_type: SharedCacheType = SharedCacheType::Off;
        router_predicted_ttl_secs: Option<f64> = None;
        conditional_disagg_enabled: bool = false, since V1_4, written if |enabled, _| *enabled;
        conditional_disagg_policy: DisaggPolicy = DisaggPolicy::IslBounding, since V1_4,
            written if |policy, _| *policy != DisaggPolicy::IslBounding;
        conditional_disagg_eff_isl_threshold: u64 = 2048, since V1_4, written if |tokens, _| *tokens != 2048;
        conditional_disagg_eff_isl_ratio_threshold: f64 = 0.7, since V1_4,
            written if |ratio, _| ratio.total_cmp(&0.7).is_ne();
        conditional_disagg_prefill_busy_threshold: Option<f64> = None, since V1_4, written if some;
        conditional_disagg_decode_busy_threshold: Option<f64> = None, since V1_4, written if some;
    }
}

/// A number up to 1.5; from 1.6 it may also be null, which is the default there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multiplier(Option<f64>);

impl<'de> Decode<'de> for Multiplier {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error> {
        if cx.profile < V1_6 {
            return f64::decode(deserializer, cx).map(|number| Self(Some(number)));
        }
        Option::decode(deserializer, cx).map(Self)
    }
}

impl Encode for Multiplier {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error> {
        self.0.encode(serializer, profile)
    }
}

fn never<T>(_: &T, _: Profile) -> bool {
    false
}

fn only_1_3<T>(_: &T, profile: Profile) -> bool {
    profile == V1_3
}

/// Applies the old weight, then the rules of WIRE 3.3.
fn settle(config: &mut KvRouterConfig, cx: &Context<'_>) -> Result<(), Broken> {
    if let Some(weight) = config.overlap_score_weight {
        config.prefill_load_scale = weight;
        if weight == 0.0 {
            config.overlap_score_credit = 0.0;
        }
    }
    check_ranges(config, cx.profile)?;
    check_tracking(config)?;
    check_dependencies(config, cx.profile)?;
    if let Some(path) = &config.router_policy_config
        && !cx.policy_files.accepts(path)
    {
        return Err(broken("router_policy_config", format!("the router policy file {path:?} is not available here")));
    }
    Ok(())
}

fn check_ranges(config: &KvRouterConfig, profile: Profile) -> Result<(), Broken> {
    let c = config;
    let amounts = [
        ("overlap_score_credit", Some(c.overlap_score_credit)),
        ("overlap_score_credit_decay", Some(c.overlap_score_credit_decay)),
        ("prefill_load_scale", Some(c.prefill_load_scale)),
        ("decode_active_request_weight", Some(c.decode_active_request_weight)),
        ("router_temperature", Some(c.router_temperature)),
        ("router_ttl_secs", Some(c.router_ttl_secs)),
        ("router_queue_threshold", c.router_queue_threshold),
        ("router_predicted_ttl_secs", c.router_predicted_ttl_secs),
        ("conditional_disagg_prefill_busy_threshold", c.conditional_disagg_prefill_busy_threshold),
        ("conditional_disagg_decode_busy_threshold", c.conditional_disagg_decode_busy_threshold),
    ];
    for (field, amount) in amounts {
        if let Some(amount) = amount
            && !(amount.is_finite() && amount >= 0.0)
        {
            return Err(broken(field, format!("must be finite and not negative, not {amount}")));
        }
    }
    let fractions = [
        ("host_cache_hit_weight", Some(c.host_cache_hit_weight)),
        ("disk_cache_hit_weight", Some(c.disk_cache_hit_weight)),
        ("shared_cache_multiplier", c.shared_cache_multiplier.0),
        ("conditional_disagg_eff_isl_ratio_threshold", Some(c.conditional_disagg_eff_isl_ratio_threshold)),
        ("overlap_score_credit", (profile == V1_3).then_some(c.overlap_score_credit)),
    ];
    for (field, fraction) in fractions {
        if let Some(fraction) = fraction
            && !(0.0..=1.0).contains(&fraction)
        {
            return Err(broken(field, format!("must be from 0 to 1, not {fraction}")));
        }
    }
    if c.router_event_threads == 0 {
        return Err(broken("router_event_threads", "must be at least 1"));
    }
    if profile == V1_3 && c.router_snapshot_threshold == Some(0) {
        return Err(broken("router_snapshot_threshold", "must be at least 1"));
    }
    Ok(())
}

fn check_tracking(config: &KvRouterConfig) -> Result<(), Broken> {
    const FILE: &str = "router_tracking_key_file";
    const ID: &str = "router_tracking_key_id";
    let (file, id) = (&config.router_tracking_key_file, &config.router_tracking_key_id);
    match config.router_tracking_hash {
        TrackingHash::Public if file.is_some() => Err(broken(FILE, "needs router_tracking_hash keyed-xxh3-v1")),
        TrackingHash::Public if id.is_some() => Err(broken(ID, "needs router_tracking_hash keyed-xxh3-v1")),
        TrackingHash::Public => Ok(()),
        TrackingHash::Keyed if file.is_none() => Err(broken(FILE, "keyed-xxh3-v1 needs a key file")),
        TrackingHash::Keyed => match id {
            Some(id) if !id.is_empty() && id.trim() == id => Ok(()),
            _ => Err(broken(ID, "keyed-xxh3-v1 needs a key id without white space around it")),
        },
    }
}

fn check_dependencies(config: &KvRouterConfig, profile: Profile) -> Result<(), Broken> {
    let c = config;
    let by_load = matches!(c.conditional_disagg_policy, DisaggPolicy::PrefillLoad | DisaggPolicy::IslOrLoad);
    let no_threshold = c.conditional_disagg_prefill_busy_threshold.is_none() && c.router_queue_threshold.is_none();
    let rules = [
        (profile >= V1_4 && c.durable_kv_events, "durable_kv_events", "is not supported from 1.4 on"),
        (c.durable_kv_events && !c.use_kv_events, "durable_kv_events", "needs use_kv_events"),
        (
            c.router_track_output_blocks && !c.router_track_active_blocks,
            "router_track_output_blocks",
            "needs router_track_active_blocks",
        ),
        (
            c.router_prefill_load_model != PrefillLoadModel::Off && !c.router_track_prefill_tokens,
            "router_prefill_load_model",
            "needs router_track_prefill_tokens",
        ),
        (c.router_predicted_ttl_secs.is_some() && !c.use_kv_events, "router_predicted_ttl_secs", "needs use_kv_events"),
        (c.use_remote_indexer && c.serve_indexer, "serve_indexer", "excludes use_remote_indexer"),
        (
            profile < V1_6 && c.serve_indexer && c.overlap_score_credit <= 0.0,
            "serve_indexer",
            "needs overlap_score_credit above 0 up to 1.5",
        ),
        (c.enable_session_prefix_index && !c.use_kv_events, "enable_session_prefix_index", "needs use_kv_events"),
        (
            c.enable_session_prefix_index && c.use_remote_indexer,
            "enable_session_prefix_index",
            "excludes use_remote_indexer",
        ),
        (
            profile >= V1_5 && c.conditional_disagg_enabled && by_load && no_threshold,
            "conditional_disagg_policy",
            "needs conditional_disagg_prefill_busy_threshold or router_queue_threshold",
        ),
    ];
    match rules.into_iter().find(|(violated, _, _)| *violated) {
        Some((_, field, reason)) => Err(broken(field, reason)),
        None => Ok(()),
    }
}

fn broken(field: &'static str, reason: impl Into<String>) -> Broken {
    Broken { field, reason: reason.into() }
}
