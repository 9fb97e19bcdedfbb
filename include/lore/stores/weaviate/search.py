"""Hybrid search in a Weaviate collection: the server ranks, filters and fuses, and says where the passages lie.

They are read by their ids afterwards, each once for all searches (`Passages`), and the cosines are computed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from lore.errors import StoreError
from lore.stores.checks import QUERY_CHARACTERS
from lore.stores.fusion import cosines_to, relative
from lore.stores.schema import MAKE_ANEW, clean
from lore.stores.weaviate.grpc import Message, Ranked, all_of, by_both, by_keyword, by_vector, one_of
from lore.stores.weaviate.passages import Passage, Passages
from lore.stores.weaviate.rows import WINDOW
from lore.stores.weaviate.words import index_words
from lore.types import Hit

if TYPE_CHECKING:
    from lore.stores.weaviate.collections import Collection
    from lore.types import Matrix, Vector

KEYWORD_SCORE = re.compile(r"Result Set keyword\S*\) Document \S+ original score ([-+.\deE]+)")
"""Where the server's explanation of a fused score names the BM25 score."""


def search(
    chunks: Collection,
    passages: Passages,
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
    words = index_words(clean(text[:QUERY_CHARACTERS])) if alpha < 1 else ""
    fields = ["words", f"title_words^{title_weight:g}"] if title_weight else ["words"]
    limit, where = min(limit, WINDOW), _visible(sources, audiences)
    if words and (vector is None or alpha <= 0):
        rank = partial(by_keyword, chunks, words, fields, limit, where)
    elif words and vector is not None:
        rank = partial(by_both, chunks, words, fields, vector, alpha, limit, where)
    elif vector is not None and alpha > 0:
        rank = partial(by_vector, chunks, vector, limit, where)
    else:
        return []
    hits = _hits(*passages.find(chunks, rank, audiences), vector, alpha, keyword=bool(words))
    allowed = set(audiences)  # what was ranked may look as if it were for one of these, or have been so
    seen = (hit for hit in hits if not allowed.isdisjoint(hit.chunk.audiences))
    return sorted(seen, key=lambda hit: (-hit.score, hit.chunk.id))


def _visible(sources: Sequence[str], audiences: Sequence[str]) -> Message:
    """The condition that a chunk is in one of the sources (none: all) and for one of the audiences."""
    seen = one_of("audiences", map(clean, audiences))
    return all_of([one_of("source_id", map(clean, sources)), seen] if sources else [seen])


def _hits(
    ranked: Ranked, passages: Mapping[str, Passage], vector: Vector | None, alpha: float, *, keyword: bool
) -> list[Hit]:
    """What was found and read as hits. Scores are the server's; without keywords they come from the cosines."""
    columns = zip(ranked.ids, ranked.scores, ranked.explanations, strict=True)
    rows = [(*passages[name], *scored) for name, *scored in columns if name in passages]
    if not rows:
        return []
    chunks, vectors, scores, explanations = zip(*rows, strict=True)
    matrix = _matrix(vectors, None if vector is None else len(vector))
    nothing: list[float | None] = [None] * len(rows)
    vector_scores: Sequence[float | None] = nothing
    keyword_scores: Sequence[float | None] = scores if keyword else nothing
    if vector is not None:
        cosines = cosines_to(matrix, vector)
        vector_scores = cosines.tolist()
        if not keyword:
            scores = (cosines if alpha >= 1 else alpha * relative(cosines)).tolist()
        elif alpha > 0:
            keyword_scores = list(map(_keyword_score, explanations))
    return list(map(Hit, chunks, scores, vector_scores, keyword_scores, matrix))


def _matrix(vectors: Sequence[bytes], dimensions: int | None) -> Matrix:
    """The vectors as rows. Raises StoreError where not all have so many numbers (None: any, but all the same)."""
    import numpy as np

    width = np.dtype(np.float32).itemsize
    lengths = {len(vector) // width for vector in vectors}
    if lengths != {dimensions or max(lengths) or 1}:
        raise StoreError(
            f"The index holds passages with vectors of these lengths: {', '.join(map(str, sorted(lengths)))}"
            f"{f'; the question has one of {dimensions}' if dimensions else ''}.",
            remedy=MAKE_ANEW,
        )
    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1).astype(np.float32, copy=False)


def _keyword_score(explanation: str) -> float | None:
    """The BM25 score of a fused hit, None where only the vector found it."""
    match = KEYWORD_SCORE.search(explanation)
    return float(match.group(1)) if match else None
