//! Scripted runs: records in, every command and notice out as one line each, time by hand.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;
use workerset_core::{
    AdmissionConfig, Apply, BuildToken, BuildVerdict, Command, Controller, Event, Inventory, MdcChecksum, Notice,
    Output, Reset,
};

/// A controller, its clock, and the tokens it issued.
pub(crate) struct World {
    pub(crate) controller: Controller,
    pub(crate) now: f64,
    pub(crate) tokens: HashMap<u64, BuildToken>,
    labels: HashMap<MdcChecksum, String>,
}

impl Default for World {
    fn default() -> Self {
        Self::new(AdmissionConfig::default())
    }
}

impl World {
    pub(crate) fn new(config: AdmissionConfig) -> Self {
        let labels = HashMap::new();
        Self { controller: Controller::new(config), now: 0.0, tokens: HashMap::new(), labels }
    }

    /// Apply events in one call and return what came out.
    pub(crate) fn apply(&mut self, events: impl IntoIterator<Item = Event>) -> Vec<String> {
        let decoder = self.controller.decoder();
        let observations: Vec<_> = events.into_iter().map(|event| decoder.decode(event)).collect();
        self.controller.apply(observations, self.now);
        self.drain()
    }

    pub(crate) fn advance(&mut self, now: f64) -> Vec<String> {
        self.now = now;
        self.controller.advance(now);
        self.drain()
    }

    pub(crate) fn succeed(&mut self, generation: u64) -> (BuildVerdict, Vec<String>) {
        let token = self.tokens[&generation].clone();
        (self.controller.build_succeeded(&token, None, self.now), self.drain())
    }

    pub(crate) fn fail(&mut self, generation: u64) -> (BuildVerdict, Vec<String>) {
        let token = self.tokens[&generation].clone();
        (self.controller.build_failed(&token, "broken", self.now), self.drain())
    }

    pub(crate) fn cancelled(&mut self, generation: u64) -> (BuildVerdict, Vec<String>) {
        let token = self.tokens[&generation].clone();
        (self.controller.build_cancelled(&token, self.now), self.drain())
    }

    pub(crate) fn inventory(&mut self) -> Inventory {
        self.controller.inventory(self.now)
    }

    /// The ids that a route to the model may pick.
    pub(crate) fn routable(&self, model: &str) -> Vec<u64> {
        self.controller.routes().route(model, None, None, 0).map(|route| route.decode.ids()).unwrap_or_default()
    }

    /// Everything that is to be polled, one line each.
    pub(crate) fn drain(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(output) = self.controller.poll() {
            lines.push(match output {
                Output::Command(command) => self.command(command),
                Output::Notice(notice) => self.notice(&notice),
            });
        }
        lines
    }

    fn command(&mut self, command: Command) -> String {
        match command {
            Command::StartBuild(spec) => {
                let generation = spec.token.generation;
                let label = format!("{}", spec.card.context_length());
                self.labels.insert(spec.token.mdc_checksum, label.clone());
                let line =
                    format!("start g{generation} {}:{label} for {}", spec.card.display_name(), spec.representative);
                assert!(self.tokens.insert(generation, spec.token).is_none(), "a generation was used twice");
                line
            }
            Command::CancelBuild(token) => format!("cancel g{}", token.generation),
            Command::Withdraw(token) => format!("withdraw g{}", token.generation),
        }
    }

    fn notice(&self, notice: &Notice) -> String {
        match notice {
            Notice::CohortRejected {
                worker_set,
                rejected_checksum,
                instance,
                members,
                differs,
                incumbent_checksum,
            } => {
                assert_ne!(incumbent_checksum, rejected_checksum);
                format!("rejected {}: {members} of {instance}, {}", worker_set.model, differs.join(","))
            }
            Notice::RecordRefused { key, reason } => format!("refused {key}: {reason}"),
            Notice::InPlaceChangeRefused { key, .. } => format!("in-place {key}"),
            Notice::BuildCommitted { token } => format!("committed g{}", token.generation),
            Notice::BuildRetry { token, attempt, deadline, .. } => {
                format!("retry g{} #{attempt} at {deadline}", token.generation)
            }
            Notice::BuildBlocked { token, owner, name, attempt, deadline } => {
                format!("blocked g{} {name} of {owner} #{attempt} at {deadline}", token.generation)
            }
            Notice::MembersChanged { worker_set, joined, left, .. } => {
                format!("members {}: +{joined:x?} -{left:x?}", worker_set.model)
            }
            Notice::Succession { worker_set, retired_generation, members, retired_checksum, .. } => {
                let label = self.labels.get(retired_checksum).map_or("?", String::as_str);
                format!("succession {}: {label} {retired_generation:?} to {members}", worker_set.model)
            }
            Notice::HopChanged { model, hop, active, reason, .. } => format!("hop {model} {hop}: {active} {reason}"),
            Notice::ModelReady { model } => format!("ready {model}"),
            Notice::ModelNotReady { model } => format!("not ready {model}"),
        }
    }
}

/// A base card: its context length is what tells one checksum from another.
pub(crate) fn card(model: &str, context: u32) -> serde_json::Value {
    json!({"display_name": model, "slug": model, "kv_cache_block_size": 16, "migration_limit": 0, "model_type": "Chat",
           "model_input": "Text", "worker_type": "aggregated", "context_length": context})
}

/// The record of a base card of instance `id` in `ns/c/<model>`.
pub(crate) fn record(namespace: &str, id: u64, card: &serde_json::Value) -> serde_json::Value {
    let endpoint = &card["display_name"];
    json!({"type": "Model", "namespace": namespace, "component": "c", "endpoint": endpoint, "instance_id": id,
           "card_json": card})
}

pub(crate) fn entry(path: &str, value: &serde_json::Value) -> Apply {
    Apply { path: path.into(), value: Some(Arc::from(value.to_string().into_bytes())), ..Apply::default() }
}

/// Card record of worker `id` of a model with a context length, in namespace `ns`.
pub(crate) fn base(model: &str, id: u64, context: u32) -> Apply {
    entry(&format!("v1/mdc/ns/c/{model}/{id:x}"), &record("ns", id, &card(model, context)))
}

/// Adapter record of worker `id` of a base model.
pub(crate) fn adapter(model: &str, id: u64, name: &str) -> Apply {
    let mut card = card(name, 4096);
    card["lora"] = json!({"name": name});
    let value = json!({"type": "Model", "namespace": "ns", "component": "c", "endpoint": model, "instance_id": id,
                       "card_json": card, "model_suffix": name});
    entry(&format!("v1/mdc/ns/c/{model}/{id:x}/{name}"), &value)
}

pub(crate) fn endpoint(model: &str, id: u64) -> Apply {
    let value = json!({"type": "Endpoint", "namespace": "ns", "component": "c", "endpoint": model, "instance_id": id,
                       "transport": {"tcp": format!("127.0.0.1:{id}")}});
    entry(&format!("v1/instances/ns/c/{model}/{id:x}"), &value)
}

/// Endpoint and card of one worker.
pub(crate) fn join(model: &str, id: u64, context: u32) -> Vec<Event> {
    vec![Event::Apply(endpoint(model, id)), Event::Apply(base(model, id, context))]
}

/// Both records of one worker go.
pub(crate) fn leave(model: &str, id: u64) -> Vec<Event> {
    vec![delete(&format!("v1/mdc/ns/c/{model}/{id:x}"), 0), delete(&format!("v1/instances/ns/c/{model}/{id:x}"), 0)]
}

pub(crate) fn delete(path: &str, revision: u64) -> Event {
    Event::Delete { path: path.into(), revision }
}

pub(crate) fn snapshot(as_of: u64, entries: Vec<Apply>) -> Event {
    Event::Reset(Reset { entries, as_of, prefix: String::new() })
}

pub(crate) trait Tweak {
    fn revision(self, revision: u64) -> Self;
    fn incarnation(self, token: &str) -> Self;
    fn created(self, created: i64) -> Self;
}

impl Tweak for Apply {
    fn revision(mut self, revision: u64) -> Self {
        self.revision = revision;
        self
    }

    fn incarnation(mut self, token: &str) -> Self {
        self.incarnation = Some(token.into());
        self
    }

    fn created(mut self, created: i64) -> Self {
        self.created = Some(created);
        self
    }
}
