"""Whether what was found has anything to do with the question: the rule that makes "not found" possible."""

from __future__ import annotations

from collections.abc import Sequence

from include.lore.query.words import content_words
from include.lore.types import Hit

__all__ = ["irrelevant"]

COSINE_FLOOR = 0.35
"""Below this cosine of the best passage, all-MiniLM-L6-v2 sees no kinship. Other embedders crowd higher, which makes
the rule more cautious with them, never less."""
COVERAGE_FLOOR = 0.5
"""With this share of the question's words in one passage, keyword search alone is reason enough to answer."""


def irrelevant(question: str, passages: Sequence[Hit]) -> bool:
    """True only when nothing speaks for the passages: no kinship in meaning, and no passage with the question's words.

    Cosines depend on the embedder; so a low one is never enough alone. Words are compared as stems.
    """
    if not passages:
        return True
    cosines = [hit.vector_score for hit in passages if hit.vector_score is not None]
    if cosines and max(cosines) >= COSINE_FLOOR:
        return False
    wanted = set(content_words(question))
    if not wanted:
        return bool(cosines)
    return max(len(wanted & set(content_words(hit.chunk.passage))) for hit in passages) < COVERAGE_FLOOR * len(wanted)
