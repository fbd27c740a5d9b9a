//! From bytes or a tree to a card.

use std::sync::Arc;

use serde_json::Value;

use super::ModelCard;
use super::schema::Card;
use super::wire::{Context, Decode};
use crate::config::{Profile, RouterPolicyFiles};
use crate::error::CardError;

impl ModelCard {
    /// Decodes card text as the release's own decoder of text does: a repeated known key is an error, an unreadable number
    /// under an unknown key is not (WIRE 0).
    ///
    /// The error names the field and what is wrong there. About 5 us for 2 kB, the checksum included.
    pub fn from_text(raw: &[u8], profile: Profile, policy_files: &RouterPolicyFiles) -> Result<Self, CardError> {
        let text = std::str::from_utf8(raw).map_err(|error| CardError::at("", error.to_string()))?;
        let cx = Context::new(profile, policy_files);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let card = Card::decode(&mut deserializer, &cx).and_then(|card| deserializer.end().map(|()| card));
        finish(card, raw.into(), &cx)
    }

    /// Decodes a card out of an already parsed record, as discovery does: of a repeated key the last value counts, and
    /// whatever could not be parsed has already failed (WIRE 0).
    ///
    /// `raw`: the bytes that the tree came from, kept for [`ModelCard::raw`].
    pub fn from_tree(
        tree: Value,
        raw: Arc<[u8]>,
        profile: Profile,
        policy_files: &RouterPolicyFiles,
    ) -> Result<Self, CardError> {
        let cx = Context::new(profile, policy_files);
        finish(Card::decode(tree, &cx), raw, &cx)
    }
}

fn finish(card: serde_json::Result<Card>, raw: Arc<[u8]>, cx: &Context<'_>) -> Result<ModelCard, CardError> {
    match card {
        Ok(card) => Ok(ModelCard::new(card, raw, cx.profile)),
        Err(error) => Err(CardError::at(cx.field(), reason(&error))),
    }
}

/// The field says where a wrong value is; only text that is no JSON needs its line and column.
fn reason(error: &serde_json::Error) -> String {
    let mut reason = error.to_string();
    if error.is_data() {
        let position = format!(" at line {} column {}", error.line(), error.column());
        if reason.ends_with(&position) {
            reason.truncate(reason.len() - position.len());
        }
    }
    reason
}
