"""Hybrid search in a Weaviate collection: the server ranks, filters and fuses, and returns ids.

`WeaviatePassages` then reads each passage once for all searches of a question; cosines are computed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lore.errors import StoreError
from lore.stores.fusion import cosines_to, relative
from lore.stores.keywords import keyword_text
from lore.stores.validation import QUERY_CHARACTERS
from lore.stores.values import REBUILD_REMEDY, valid_utf8
from lore.stores.weaviate.objects.batches import WINDOW
from lore.stores.weaviate.search.client_queries import ClientQueries
from lore.stores.weaviate.search.message_queries import MessageQueries, is_supported
from lore.stores.weaviate.search.passages import WeaviatePassage, WeaviatePassages
from lore.stores.weaviate.search.queries import ChunkQuery, Queries, Ranking
from lore.stores.weaviate.stems import index_stems
from lore.types import Hit

if TYPE_CHECKING:
    from lore.stores.weaviate.objects.batches import Collection
    from lore.types import Matrix, Vector

KEYWORD_SCORE = re.compile(r"Result Set keyword\S*\) Document \S+ original score ([-+.\deE]+)")
"""The BM25 score in the server's explanation of a fused score."""


def queries_for(chunks: Collection, client_version: str) -> Queries:
    """The fastest queries that this version of weaviate-client supports."""
    return MessageQueries(chunks) if is_supported(chunks, client_version) else ClientQueries(chunks)


def search(
    queries: Queries,
    passages: WeaviatePassages,
    text: str,
    vector: Vector | None,
    limit: int,
    alpha: float,
    sources: Sequence[str],
    audiences: Sequence[str],
    *,
    title_weight: float = 0.0,
) -> list[Hit]:
    """The best `limit` chunks that the asker may see, read through `passages`: see `Index.search`."""
    words = index_stems(keyword_text(valid_utf8(text[:QUERY_CHARACTERS]))) if alpha < 1 else ""
    by_vector = vector is not None and alpha > 0
    if not words and not by_vector:
        return []
    filters = {"source_id": list(map(valid_utf8, sources))} if sources else {}
    query = ChunkQuery(
        words,
        ["words", f"title_words^{title_weight:g}"] if title_weight else ["words"],
        vector if by_vector else None,
        alpha,
        min(limit, WINDOW),
        filters | {"audiences": list(map(valid_utf8, audiences))},
    )
    hits = _hits(*passages.find(queries, query, audiences), vector, alpha, keyword=bool(words))
    allowed = set(audiences)  # the server ignores white space, and audiences may have changed since the ranking
    visible = (hit for hit in hits if not allowed.isdisjoint(hit.chunk.audiences))
    return sorted(visible, key=lambda hit: (-hit.score, hit.chunk.id))


def _hits(
    ranking: Ranking, passages: Mapping[str, WeaviatePassage], vector: Vector | None, alpha: float, *, keyword: bool
) -> list[Hit]:
    """The ranked passages as hits. Scores are the server's; without keywords they come from the cosines."""
    columns = zip(ranking.ids, ranking.scores, ranking.explanations, strict=True)
    rows = [(*passages[name], *scored) for name, *scored in columns if name in passages]
    if not rows:
        return []
    chunks, vectors, scores, explanations = zip(*rows, strict=True)
    matrix = _matrix(vectors, None if vector is None else len(vector))
    unknown: list[float | None] = [None] * len(rows)
    vector_scores: Sequence[float | None] = unknown
    keyword_scores: Sequence[float | None] = scores if keyword else unknown
    if vector is not None:
        cosines = cosines_to(matrix, vector)
        vector_scores = cosines.tolist()
        if not keyword:
            scores = (cosines if alpha >= 1 else alpha * relative(cosines)).tolist()
        elif alpha > 0:
            keyword_scores = list(map(_keyword_score, explanations))
    return list(map(Hit, chunks, scores, vector_scores, keyword_scores, matrix))


def _matrix(vectors: Sequence[bytes], dimensions: int | None) -> Matrix:
    """The vectors as rows. Raises StoreError unless all have `dimensions` components (None: any equal number)."""
    import numpy as np

    width = np.dtype(np.float32).itemsize
    lengths = {len(vector) // width for vector in vectors}
    if lengths != {dimensions or max(lengths) or 1}:
        raise StoreError(
            f"The index holds passages with vectors of these lengths: {', '.join(map(str, sorted(lengths)))}"
            f"{f'; the question has one of {dimensions}' if dimensions else ''}.",
            remedy=REBUILD_REMEDY,
        )
    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1).astype(np.float32, copy=False)


def _keyword_score(explanation: str) -> float | None:
    """The BM25 score of a fused hit; None for a hit by vector alone."""
    match = KEYWORD_SCORE.search(explanation)
    return float(match.group(1)) if match else None
