//! Which of the fields that feed the checksum differ between two cards (clause I5).

use serde_json::{Value, json};

use super::ModelCard;
use super::checksum::{GENERATE, NEMOTRON_CONTRACT, TOWER_CONNECTOR};
use super::schema::Card;
use super::wire::{Encode, Members, Sink, to_tree};
use crate::config::Profile;
use crate::config::Profile::{V1_4, V1_5, V1_6};
use crate::error::CardError;

/// A field that feeds the checksum and is not the same in two cards.
#[derive(Clone, Debug, PartialEq)]
pub struct CardDifference {
    /// Path in the card's JSON without the names of kinds, such as `router_config.kv_router_config.router_ttl_secs`.
    pub field: String,
    /// The value in the first card, defaults filled in; null if absent. Files show their digest.
    pub left: Value,
    /// The value in the second card.
    pub right: Value,
}

/// The differences that feed the checksum, in the order in which they are hashed. Empty if and only if the sums are equal.
///
/// Both cards must be of one profile: sums of different releases do not compare.
pub fn explain(a: &ModelCard, b: &ModelCard) -> Result<Vec<CardDifference>, CardError> {
    if a.profile != b.profile {
        let reason = format!("cards of profiles {} and {} do not compare", a.profile.as_str(), b.profile.as_str());
        return Err(CardError::at("", reason));
    }
    // Not the fields decide but the sums: two cards may differ where the hash runs fields together (WIRE 2.4).
    if a.mdcsum == b.mdcsum {
        return Ok(Vec::new());
    }
    let mut differences = Vec::new();
    for (left, right) in contributions(&a.card, a.profile).into_iter().zip(contributions(&b.card, b.profile)) {
        compare(left, right, &mut differences);
    }
    Ok(differences)
}

const KV_ROUTER_CONFIG: &str = "router_config.kv_router_config";
const LOAD_THRESHOLDS: &str = "router_config.load_threshold_config";

/// What one field adds to the hash.
struct Contribution {
    field: String,
    /// What is hashed, as text that is equal exactly when the hashed bytes are.
    hashed: String,
    /// What to show.
    shown: Value,
    /// The members of a struct that is there; compared one by one with those of the other side.
    members: Vec<Contribution>,
}

impl Contribution {
    fn new(field: impl Into<String>, shown: Value) -> Self {
        Self { field: field.into(), hashed: shown.to_string(), shown, members: Vec::new() }
    }
}

fn compare(left: Contribution, right: Contribution, differences: &mut Vec<CardDifference>) {
    if left.hashed == right.hashed {
        return;
    }
    if left.members.is_empty() || right.members.is_empty() {
        differences.push(CardDifference { field: left.field, left: left.shown, right: right.shown });
        return;
    }
    for (left, right) in left.members.into_iter().zip(right.members) {
        compare(left, right, differences);
    }
}

/// The fields of a card of one release, always the same ones in the same order.
fn contributions(card: &Card, profile: Profile) -> Vec<Contribution> {
    let mut all = vec![Contribution::new("display_name", json!(card.display_name)), source_path(card)];
    for (field, slot) in card.slots() {
        all.push(Contribution::new(field, json!(slot.map(|slot| slot.file().checksum.as_str()))));
    }
    let extra_files: Vec<Value> = card
        .sorted_extra_files()
        .into_iter()
        .map(|(name, hex)| json!({"name": name, "checksum": format!("blake3:{hex}")}))
        .collect();
    all.extend([
        Contribution::new("extra_files", Value::Array(extra_files)),
        Contribution::new("prompt_context", to_tree(&card.prompt_context, profile)),
        Contribution::new("context_length", json!(card.effective_context_length())),
        Contribution::new("kv_cache_block_size", json!(card.kv_cache_block_size)),
        Contribution::new("worker_type", to_tree(&card.worker_type, profile)),
        Contribution::new("needs", to_tree(&card.needs, profile)),
        router(card, profile),
    ]);
    if profile >= V1_4 {
        all.push(record("indexer_identity", card.indexer_identity.as_ref(), profile));
        all.push(Contribution::new("aliases", json!(card.aliases)));
    }
    for (key, since) in [(TOWER_CONNECTOR, V1_5), (GENERATE, V1_6)] {
        if profile >= since {
            let hashed = card.runtime_data_flag(key).to_string();
            all.push(Contribution { hashed, ..runtime_data(card, key) });
        }
    }
    if profile >= V1_6 {
        let has = card.runtime_config.runtime_data.contains_key(NEMOTRON_CONTRACT);
        let contract = runtime_data(card, NEMOTRON_CONTRACT);
        // A null that is there differs from one that is not.
        let hashed = if has { contract.hashed.clone() } else { String::new() };
        all.push(Contribution { hashed, ..contract });
    }
    all
}

/// An empty source path adds as little as an absent one.
fn source_path(card: &Card) -> Contribution {
    let hashed = card.source_path.clone().unwrap_or_default();
    Contribution { hashed, ..Contribution::new("source_path", json!(card.source_path)) }
}

fn runtime_data(card: &Card, key: &str) -> Contribution {
    let value = card.runtime_config.runtime_data.get(key).cloned().unwrap_or_default();
    Contribution::new(format!("runtime_config.runtime_data.{key}"), value)
}

fn router(card: &Card, profile: Profile) -> Contribution {
    let mut router = record("router_config", card.router_config.as_ref(), profile);
    if let Some(config) = &card.router_config {
        for member in &mut router.members {
            *member = match member.field.as_str() {
                KV_ROUTER_CONFIG => record(KV_ROUTER_CONFIG, Some(&config.kv_router_config), profile),
                LOAD_THRESHOLDS => record(LOAD_THRESHOLDS, Some(&config.load_threshold_config), profile),
                _ => continue,
            };
        }
    }
    router
}

fn record<T: Encode + Members>(field: &str, value: Option<&T>, profile: Profile) -> Contribution {
    struct Collect<'a>(&'a str, Profile, Vec<Contribution>);

    impl Sink for Collect<'_> {
        type Error = std::convert::Infallible;

        fn member<T: Encode>(&mut self, name: &'static str, value: &T, written: bool) -> Result<(), Self::Error> {
            let member = Contribution::new(format!("{}.{name}", self.0), to_tree(value, self.1));
            // What is not written is not hashed, whatever its value.
            let hashed = if written { member.hashed.clone() } else { String::new() };
            self.2.push(Contribution { hashed, ..member });
            Ok(())
        }
    }

    let Some(value) = value else {
        return Contribution { hashed: String::new(), ..Contribution::new(field, Value::Null) };
    };
    let mut collect = Collect(field, profile, Vec::new());
    let Ok(()) = value.members(profile, &mut collect);
    Contribution { members: collect.2, ..Contribution::new(field, to_tree(value, profile)) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::config::RouterPolicyFiles;

    fn leaves(contribution: &Contribution, into: &mut Vec<String>) {
        if contribution.members.is_empty() {
            into.push(contribution.hashed.clone());
        }
        for member in &contribution.members {
            leaves(member, into);
        }
    }

    /// What [`compare`] finds equal hashes to one sum, so every pair of cards with unequal sums has a difference.
    #[test]
    fn equal_contributions_have_equal_sums() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cards/vectors.jsonl");
        let vectors: Vec<Value> =
            std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for profile in Profile::ALL {
            let mut sums = HashMap::new();
            for vector in &vectors {
                let text = vector["card"].as_str().unwrap();
                let Ok(card) = ModelCard::from_text(text.as_bytes(), profile, &RouterPolicyFiles::Accept) else {
                    continue;
                };
                let mut hashed = Vec::new();
                for field in &contributions(&card.card, profile) {
                    leaves(field, &mut hashed);
                }
                let sum = *sums.entry(hashed).or_insert(card.mdcsum);
                assert_eq!(sum, card.mdcsum, "{}", vector["name"]);
            }
            assert!(sums.len() > 100, "only {} different cards", sums.len());
        }
    }
}
