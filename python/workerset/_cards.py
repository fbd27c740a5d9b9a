"""Model deployment cards."""

from workerset._native import CardDifference, ModelCard, explain

__all__ = [
    "CardDifference",
    "ModelCard",
    "explain",
]
