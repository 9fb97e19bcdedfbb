"""Whether what was found has anything to do with the question: the rule that makes an honest "not found" possible.

A passage's kinship is its cosine to the question plus a quarter of the share of the question's words that it holds.
Calibrated with all-MiniLM-L6-v2 on the Ray documentation: of 151 questions that it answers 1 falls below the floor, of
40 about other things (cooking, travel, other software, office life) 36 do. Most other embedders give higher cosines;
with them the rule finds less to be irrelevant, never more, and the language model's own verdict decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from include.lore.query.words import content_words
from include.lore.types import Hit

__all__ = ["irrelevant"]

KINSHIP_FLOOR = 0.40
COVERAGE_WEIGHT = 0.25
COVERAGE_ENOUGH = 0.75
"""With this share of the question's words in one passage no cosine can make it irrelevant: it may name a flag or an
error that the embedder has never seen."""


def irrelevant(question: str, passages: Sequence[Hit]) -> bool:
    """True when no passage speaks for itself, by meaning or by words (compared as stems). No passages: True."""
    wanted = set(content_words(question))
    return not any(_is_kin(hit, wanted) for hit in passages)


def _is_kin(hit: Hit, wanted: set[str]) -> bool:
    shared = len(wanted & set(content_words(hit.chunk.passage)))
    coverage = shared / len(wanted) if wanted else 0.0
    if coverage >= COVERAGE_ENOUGH:
        return True
    if hit.vector_score is None:  # found without a vector: words are all there is to go by
        return shared > 0
    return hit.vector_score + COVERAGE_WEIGHT * coverage >= KINSHIP_FLOOR
