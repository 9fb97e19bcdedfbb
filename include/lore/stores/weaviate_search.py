"""Hybrid search in a Weaviate collection: the server ranks, filters and fuses, the cosines are computed here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from include.lore.stores.fusion import relative
from include.lore.stores.schema import clean
from include.lore.stores.weaviate_rows import WINDOW, equal
from include.lore.stores.weaviate_schema import CHUNK_PROPERTIES, VECTOR_NAME, to_chunk
from include.lore.stores.weaviate_words import index_words
from include.lore.types import Hit

if TYPE_CHECKING:
    from include.lore.stores.fusion import Scores
    from include.lore.stores.weaviate_collections import Collection
    from include.lore.types import Matrix, Vector

QUERY_CHARACTERS = 10_000
"""A longer question is searched by its beginning."""

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
    common: dict[str, Any] = {
        "limit": min(limit, WINDOW),
        "filters": _visible(sources, audiences),
        "include_vector": [VECTOR_NAME],
        "return_properties": CHUNK_PROPERTIES,
    }
    if words and (vector is None or alpha <= 0):
        found = _by_keyword(chunks, words, fields, common)
    elif words and vector is not None:
        found = _fused(chunks, words, fields, vector, alpha, common)
    elif vector is not None and alpha > 0:
        found = chunks.query.near_vector(vector.tolist(), target_vector=VECTOR_NAME, **common).objects
    else:
        return []
    hits = _hits(found, vector, alpha, keyword=bool(words))
    allowed = set(audiences)  # Weaviate's filter ignores white space at the ends of a word
    return sorted((hit for hit in hits if allowed & {*hit.chunk.audiences}), key=lambda hit: (-hit.score, hit.chunk.id))


def _visible(sources: Sequence[str], audiences: Sequence[str]) -> Any:
    """The condition that a chunk is in one of the sources (none: all) and for one of the audiences."""
    seen = equal("audiences", map(clean, audiences))
    return equal("source_id", map(clean, sources)) & seen if sources else seen


def _by_keyword(chunks: Collection, words: str, fields: list[str], common: dict[str, Any]) -> Any:
    from weaviate.classes.query import MetadataQuery

    metadata = MetadataQuery(score=True)
    return chunks.query.bm25(words, query_properties=fields, return_metadata=metadata, **common).objects


def _fused(
    chunks: Collection, words: str, fields: list[str], vector: Vector, alpha: float, common: dict[str, Any]
) -> Any:
    from weaviate.classes.query import HybridFusion, MetadataQuery

    return chunks.query.hybrid(
        words,
        vector={VECTOR_NAME: vector.tolist()},
        target_vector=VECTOR_NAME,
        alpha=alpha,
        fusion_type=HybridFusion.RELATIVE_SCORE,
        query_properties=fields,
        return_metadata=MetadataQuery(score=True, explain_score=True),
        **common,
    ).objects


def _hits(found: Sequence[Any], vector: Vector | None, alpha: float, *, keyword: bool) -> list[Hit]:
    """The objects as hits. Scores are the server's; where there was no keyword ranking they come from the cosines."""
    import numpy as np

    if not found:
        return []
    vectors = np.array([row.vector[VECTOR_NAME] for row in found], dtype=np.float32)
    cosines = None if vector is None else _cosines(vectors, vector)
    if keyword:
        scores = [float(row.metadata.score) for row in found]
    else:
        assert cosines is not None  # noqa: S101  for the type checker: no words and no vector find nothing
        scores = list(map(float, cosines if alpha >= 1 else alpha * relative(cosines)))
    fused = keyword and vector is not None and alpha > 0
    return [
        Hit(
            to_chunk(row.properties),
            score,
            vector_score=None if cosines is None else float(cosines[number]),
            keyword_score=_keyword_score(row.metadata.explain_score) if fused else score if keyword else None,
            vector=vectors[number],
        )
        for number, (row, score) in enumerate(zip(found, scores, strict=True))
    ]


def _keyword_score(explanation: str | None) -> float | None:
    """The BM25 score of a fused hit, None where only the vector found it."""
    match = KEYWORD_SCORE.search(explanation or "")
    return float(match.group(1)) if match else None


def _cosines(vectors: Matrix, vector: Vector) -> Scores:
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector)
    cosines: Scores = np.divide(vectors @ vector, lengths, out=np.zeros(len(vectors)), where=lengths > 0)
    return cosines
