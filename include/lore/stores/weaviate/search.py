"""Hybrid search in a Weaviate collection: the server ranks, filters and fuses, the cosines are computed here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from include.lore.stores.checks import QUERY_CHARACTERS
from include.lore.stores.fusion import cosines_to, relative
from include.lore.stores.schema import clean
from include.lore.stores.weaviate.grpc import Found, Message, all_of, by_both, by_keyword, by_vector, one_of
from include.lore.stores.weaviate.rows import WINDOW
from include.lore.stores.weaviate.words import index_words
from include.lore.types import Hit

if TYPE_CHECKING:
    from include.lore.stores.weaviate.collections import Collection
    from include.lore.types import Vector

KEYWORD_SCORE = re.compile(r"Result Set keyword\S*\) Document \S+ original score ([-+.\deE]+)")
"""Where the server's explanation of a fused score names the BM25 score."""


def search(
    chunks: Collection,
    text: str,
    vector: Vector | None,
    limit: int,
    alpha: float,
    sources: Sequence[str],
    audiences: Sequence[str],
    *,
    title_weight: float = 0.0,
) -> list[Hit]:
    """The best `limit` chunks that the asker may see: see `Index.search`."""
    words = index_words(clean(text[:QUERY_CHARACTERS])) if alpha < 1 else ""
    fields = ["words", f"title_words^{title_weight:g}"] if title_weight else ["words"]
    limit, where = min(limit, WINDOW), _visible(sources, audiences)
    if words and (vector is None or alpha <= 0):
        found = by_keyword(chunks, words, fields, limit, where)
    elif words and vector is not None:
        found = by_both(chunks, words, fields, vector, alpha, limit, where)
    elif vector is not None and alpha > 0:
        found = by_vector(chunks, vector, limit, where)
    else:
        return []
    hits = _hits(found, vector, alpha, keyword=bool(words))
    allowed = set(audiences)  # Weaviate's filter ignores white space at the ends of a word
    seen = (hit for hit in hits if not allowed.isdisjoint(hit.chunk.audiences))
    return sorted(seen, key=lambda hit: (-hit.score, hit.chunk.id))


def _visible(sources: Sequence[str], audiences: Sequence[str]) -> Message:
    """The condition that a chunk is in one of the sources (none: all) and for one of the audiences."""
    seen = one_of("audiences", map(clean, audiences))
    return all_of([one_of("source_id", map(clean, sources)), seen] if sources else [seen])


def _hits(found: Found, vector: Vector | None, alpha: float, *, keyword: bool) -> list[Hit]:
    """What was found as hits. Scores are the server's; without a keyword ranking they come from the cosines."""
    nothing: list[float | None] = [None] * len(found.chunks)
    scores: Sequence[float] = found.scores
    vector_scores: Sequence[float | None] = nothing
    keyword_scores: Sequence[float | None] = found.scores if keyword else nothing
    if vector is not None and found.chunks:
        cosines = cosines_to(found.vectors, vector)
        vector_scores = cosines.tolist()
        if not keyword:
            scores = (cosines if alpha >= 1 else alpha * relative(cosines)).tolist()
        elif alpha > 0:
            keyword_scores = list(map(_keyword_score, found.explanations))
    columns = (found.chunks, scores, vector_scores, keyword_scores, found.vectors)
    return [Hit(*values) for values in zip(*columns, strict=True)]


def _keyword_score(explanation: str) -> float | None:
    """The BM25 score of a fused hit, None where only the vector found it."""
    match = KEYWORD_SCORE.search(explanation)
    return float(match.group(1)) if match else None
