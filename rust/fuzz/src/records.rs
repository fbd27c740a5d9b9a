//! Few places, few cards: what collides is what is interesting.

use std::sync::Arc;

use arbitrary::Arbitrary;
use serde_json::{Value, json};
use workerset_core::Apply;

/// Where something is registered, and what: three bytes, so that short inputs say much and small changes mean something.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Record {
    /// Bits: id 2, role 2, namespace 2.
    place: u8,
    /// Bits: kind 3, variant 2, name 2, update 1.
    what: u8,
    /// Bits: incarnation 2, creation 2.
    how: u8,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Base,
    Endpoint,
    Adapter,
    Broken,
}

/// Not in the order of their keys: `10` sorts before `2`.
const IDS: [u64; 4] = [1, 2, 0x10, u64::MAX];
const NAMESPACES: [&str; 4] = ["a", "a", "a", "b"];
/// One component a role: aggregated, decode, prefill, encode.
const COMPONENTS: [&str; 4] = ["g", "d", "p", "c"];
/// Names that models, aliases and adapters all draw from.
const NAMES: [&str; 4] = ["m", "m", "n", "lora"];
const SUFFIXES: [&str; 4] = ["s", "s", "s", "t"];
const TOKENS: [Option<&str>; 4] = [None, None, Some("old"), Some("new")];
const BROKEN: [&str; 4] = ["{", "[]", "{\"type\":\"Model\"}", "\u{0}"];

impl Record {
    /// The same worker's base card and endpoint record.
    pub fn worker(self) -> [Self; 2] {
        [Self { what: self.what & !0b111, ..self }, Self { what: self.what & !0b111 | 0b100, ..self }]
    }

    /// The full path.
    pub fn path(self) -> String {
        let key = format!("{}/{}/e/{:x}", self.namespace(), self.component(), self.id());
        match self.kind() {
            Kind::Endpoint => format!("v1/instances/{key}"),
            Kind::Adapter => format!("v1/mdc/{key}/{}", self.suffix()),
            Kind::Base | Kind::Broken => format!("v1/mdc/{key}"),
        }
    }

    /// The event that shows it.
    pub fn apply(self, revision: u64) -> Apply {
        let value = match self.kind() {
            Kind::Base => self.record("Model", json!({"card_json": self.card()})),
            Kind::Endpoint => self.record("Endpoint", json!({"transport": {"tcp": self.variant()}})),
            Kind::Adapter => {
                let mut card = self.card();
                card["lora"] = json!({"name": self.name()});
                self.record("Model", json!({"card_json": card, "model_suffix": self.suffix()}))
            }
            Kind::Broken => BROKEN[self.variant()].to_owned(),
        };
        let is_refused = Self::bits(self.how, 4) == 3;
        Apply {
            path: self.path(),
            value: (!is_refused).then(|| Arc::from(value.into_bytes())),
            refused: is_refused.then(|| "too large".into()),
            revision,
            created: i64::try_from(Self::bits(self.how, 2)).ok().filter(|created| *created > 0),
            incarnation: TOKENS[Self::bits(self.how, 0)].map(Into::into),
        }
    }

    fn bits(byte: u8, from: u32) -> usize {
        usize::from(byte >> from) & 0b11
    }

    fn kind(self) -> Kind {
        match self.what & 0b111 {
            0..=3 => Kind::Base,
            4 | 5 => Kind::Endpoint,
            6 => Kind::Adapter,
            _ => Kind::Broken,
        }
    }

    fn id(self) -> u64 {
        IDS[Self::bits(self.place, 0)]
    }

    fn component(self) -> &'static str {
        COMPONENTS[Self::bits(self.place, 2)]
    }

    fn namespace(self) -> &'static str {
        NAMESPACES[Self::bits(self.place, 4)]
    }

    fn variant(self) -> usize {
        Self::bits(self.what, 3)
    }

    fn name(self) -> &'static str {
        NAMES[Self::bits(self.what, 5)]
    }

    fn suffix(self) -> &'static str {
        SUFFIXES[self.variant()]
    }

    /// The variant decides the checksum; an update changes only what the checksum does not see.
    fn card(self) -> Value {
        let (role, needs, types) = match self.component() {
            "g" => ("aggregated", json!([]), "Chat"),
            "d" => ("decode", json!([["prefill"]]), "Chat"),
            "p" => ("prefill", json!([["decode"]]), "Prefill"),
            _ => ("encode", json!([]), ""),
        };
        let aliases = [json!([]), json!([]), json!(["lora"]), json!(["n", "x"])][self.variant()].clone();
        json!({"display_name": self.name(), "slug": "s", "kv_cache_block_size": 16, "migration_limit": self.what >> 7,
               "model_type": types, "model_input": "Tokens", "worker_type": role, "needs": needs,
               "context_length": 1024 + self.variant(), "aliases": aliases})
    }

    fn record(self, kind: &str, rest: Value) -> String {
        record(kind, self.namespace(), self.component(), self.id(), rest)
    }
}

/// Both records of worker 1 of a model that is called like its namespace.
pub fn calm_worker(name: &str) -> [Apply; 2] {
    let card = json!({"display_name": name, "slug": name, "kv_cache_block_size": 16, "migration_limit": 0,
                      "model_type": "Chat", "model_input": "Text", "worker_type": "aggregated"});
    let entry = |bucket: &str, value: String| Apply {
        path: format!("v1/{bucket}/{name}/c/e/1"),
        value: Some(Arc::from(value.into_bytes())),
        ..Apply::default()
    };
    [
        entry("mdc", record("Model", name, "c", 1, json!({"card_json": card}))),
        entry("instances", record("Endpoint", name, "c", 1, json!({"transport": {"tcp": "t"}}))),
    ]
}

fn record(kind: &str, namespace: &str, component: &str, id: u64, mut rest: Value) -> String {
    rest["type"] = kind.into();
    rest["namespace"] = namespace.into();
    rest["component"] = component.into();
    rest["endpoint"] = "e".into();
    rest["instance_id"] = id.into();
    rest.to_string()
}
