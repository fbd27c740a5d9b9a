//! What is wrong with an input.

use crate::text;

/// A card that cannot be decoded or fails shape validation (clause R7).
#[derive(Clone, Debug, Eq, Hash, PartialEq, thiserror::Error)]
#[error("{}", if field.is_empty() { reason.clone() } else { format!("{field}: {reason}") })]
pub struct CardError {
    /// Path in the card's JSON, dots between names, `[n]` for list items; empty when the whole text is at fault.
    pub field: String,
    /// What is wrong there, with the value where it is short.
    pub reason: String,
}

impl CardError {
    /// An error at one field.
    pub fn at(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { field: text::reason(&field.into()), reason: text::reason(&reason.into()) }
    }
}
