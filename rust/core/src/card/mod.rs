//! Model deployment cards.

/// A decoded card.
#[derive(Debug)]
pub struct ModelCard;
