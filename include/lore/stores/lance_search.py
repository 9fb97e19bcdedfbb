"""Hybrid search in a LanceDB table: exact cosine, BM25 of LanceDB's own index, and their fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from include.lore.stores import schema
from include.lore.stores.fusion import fuse
from include.lore.types import Chunk, Hit

if TYPE_CHECKING:
    import pyarrow as pa

    from include.lore.stores.fusion import Scores
    from include.lore.stores.lance_folder import Table
    from include.lore.types import Matrix, Vector

QUERY_CHARACTERS = 10_000
"""A longer question is searched by its beginning."""


def search(table: Table, text: str, vector: Vector | None, limit: int, alpha: float, where: str) -> list[Hit]:
    """The best `limit` of those chunks that `where` allows: see `Index.search`."""
    near = _by_vector(table, vector, limit, where) if vector is not None and alpha > 0 else None
    matching = _by_keyword(table, text, limit, where) if alpha < 1 else None
    return _merge(near, matching, vector, alpha)[:limit]


def visible(sources: Sequence[str], audiences: Sequence[str]) -> str:
    """The condition that a chunk is in one of the sources (none: all) and for one of the audiences."""
    seen = f"array_has_any(audiences, [{', '.join(map(schema.literal, audiences))}])"
    return f"{schema.is_in('source_id', sources)} AND {seen}" if sources else seen


def _by_vector(table: Table, vector: Vector, limit: int, where: str) -> pa.Table:
    query = table.search(vector, vector_column_name="vector").distance_type("cosine").where(where, prefilter=True)
    return query.select([*schema.CHUNK_COLUMNS, "vector", "_distance"]).limit(limit).to_arrow()


def _by_keyword(table: Table, text: str, limit: int, where: str) -> pa.Table:
    """Any word may match. The text is handed over as words, so that nothing in it acts as an operator."""
    from lancedb.query import MatchQuery

    words = MatchQuery(schema.clean(text[:QUERY_CHARACTERS]), "keywords")  # type: ignore[call-arg]  # a pydantic dataclass
    query = table.search(words, query_type="fts").where(where, prefilter=True)
    return query.select([*schema.CHUNK_COLUMNS, "vector", "_score"]).limit(limit).to_arrow()


def _merge(near: pa.Table | None, matching: pa.Table | None, vector: Vector | None, alpha: float) -> list[Hit]:
    """Both rankings as one, best first. A hit found by keyword only carries its true cosine for rerankers to use."""
    import numpy as np

    chunks: dict[str, Chunk] = {}
    vectors: dict[str, Vector] = {}
    keyword_scores: dict[str, float] = {}
    near_count = 0 if near is None else len(near)
    for rows in (near, matching):
        if rows is None or not len(rows):
            continue
        found = schema.to_chunks(rows)
        chunks.update((chunk.id, chunk) for chunk in found)
        vectors.update(zip((chunk.id for chunk in found), schema.to_vectors(rows), strict=True))
        if "_score" in rows.column_names:
            keyword_scores.update(zip((chunk.id for chunk in found), rows["_score"].to_pylist(), strict=True))
    if not chunks:
        return []
    cosines = _cosines(np.stack(list(vectors.values())), vector)
    by_keyword = np.array([keyword_scores.get(name, np.nan) for name in chunks])
    by_vector = np.where(np.arange(len(chunks)) < near_count, cosines, np.nan)  # those found by vector come first
    scores = fuse(by_vector, by_keyword, alpha)
    hits = [
        Hit(
            chunk,
            float(score),
            vector_score=None if vector is None else float(cosine),
            keyword_score=keyword_scores.get(name),
            vector=vectors[name],
        )
        for (name, chunk), score, cosine in zip(chunks.items(), scores, cosines, strict=True)
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))


def _cosines(vectors: Matrix, vector: Vector | None) -> Scores:
    import numpy as np

    if vector is None:
        return np.full(len(vectors), np.nan)
    lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector)
    cosines: Scores = np.divide(vectors @ vector, lengths, out=np.zeros(len(vectors)), where=lengths > 0)
    return cosines
