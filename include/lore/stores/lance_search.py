"""Hybrid search in a LanceDB table: nearest vectors, BM25 of LanceDB's own index, and their fusion.

The two rankings give row numbers and scores only. The rows themselves are read for those that are returned, and where
several searches of a question find a row, once for all of them (`LanceRows`). Row numbers hold within one commit, so
the table must be one that stays where it is, such as `LanceReaders` lends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from include.lore.stores import schema
from include.lore.stores.checks import QUERY_CHARACTERS
from include.lore.stores.fusion import cosines_to, fuse
from include.lore.stores.lance_index import REFINED, probes
from include.lore.types import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from include.lore.stores.fusion import Scores
    from include.lore.stores.lance_folder import Table
    from include.lore.stores.lance_rows import LanceRows
    from include.lore.types import Vector


@dataclass(frozen=True, slots=True)
class Candidates:
    """Row numbers with the cosine, the BM25 and the fused score of each row; NaN where a ranking did not find it."""

    rows: NDArray[np.uint64]
    cosines: Scores
    keywords: Scores
    scores: Scores

    def best(self, limit: int) -> Candidates:
        """The `limit` highest by score, and those that tie with the last of them: ids, not read yet, tell which."""
        import numpy as np

        if len(self.rows) <= limit:
            return self
        kept = self.scores >= np.partition(self.scores, -limit)[-limit]
        return Candidates(self.rows[kept], self.cosines[kept], self.keywords[kept], self.scores[kept])


def search(
    table: Table, passages: LanceRows, text: str, vector: Vector | None, limit: int, alpha: float, where: str
) -> list[Hit]:
    """The best `limit` of those chunks that `where` allows: see `Index.search`. They are read through `passages`."""
    near = _by_vector(table, vector, limit, where) if vector is not None and alpha > 0 else {}
    matching = _by_keyword(table, text, limit, where) if alpha < 1 else {}
    found = _fuse(near, matching, alpha).best(limit)
    hits = _hits(passages, table, found, vector) if len(found.rows) else ()
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[:limit]


def visible(sources: Sequence[str], audiences: Sequence[str]) -> str:
    """The condition that a chunk is in one of the sources (none: all) and for one of the audiences."""
    seen = f"array_has_any(audiences, [{', '.join(map(schema.literal, audiences))}])"
    return f"{schema.is_in('source_id', sources)} AND {seen}" if sources else seen


def _by_vector(table: Table, vector: Vector, limit: int, where: str) -> dict[int, float]:
    """Row number → cosine."""
    query = table.search(vector, vector_column_name="vector").distance_type("cosine")
    query = query.nprobes(probes(table)).refine_factor(REFINED)
    rows = query.where(where, prefilter=True).select(["_distance"]).with_row_id(True).limit(limit).to_arrow()
    return {
        row: 0.0 if distance is None or distance != distance else 1.0 - distance  # a zero vector has no direction
        for row, distance in zip(rows["_rowid"].to_pylist(), rows["_distance"].to_pylist(), strict=True)
    }


def _by_keyword(table: Table, text: str, limit: int, where: str) -> dict[int, float]:
    """Row number → BM25. Any word may match; the text is handed over as words, so nothing in it is an operator."""
    from lancedb.query import MatchQuery

    words = MatchQuery(schema.clean(text[:QUERY_CHARACTERS]), "keywords")  # type: ignore[call-arg]  # a pydantic dataclass
    query = table.search(words, query_type="fts").where(where, prefilter=True)
    rows = query.select(["_score"]).with_row_id(True).limit(limit).to_arrow()
    return dict(zip(rows["_rowid"].to_pylist(), rows["_score"].to_pylist(), strict=True))


def _fuse(near: dict[int, float], matching: dict[int, float], alpha: float) -> Candidates:
    import numpy as np

    rows = list(near | matching)
    cosines = np.array([near.get(row, np.nan) for row in rows], dtype=np.float64)
    keywords = np.array([matching.get(row, np.nan) for row in rows], dtype=np.float64)
    return Candidates(np.array(rows, dtype=np.uint64), cosines, keywords, fuse(cosines, keywords, alpha))


def _hits(passages: LanceRows, table: Table, found: Candidates, vector: Vector | None) -> Iterator[Hit]:
    """The rows as hits. One found by keyword only carries its true cosine for rerankers to use."""
    import numpy as np

    read = passages.read(table, found.rows.tolist())
    cosines = None if vector is None else cosines_to(np.stack([its_vector for _, its_vector in read]), vector).tolist()
    scores, keywords = found.scores.tolist(), found.keywords.tolist()
    for number, (chunk, its_vector) in enumerate(read):
        yield Hit(
            chunk,
            scores[number],
            vector_score=None if cosines is None else cosines[number],
            keyword_score=None if keywords[number] != keywords[number] else keywords[number],
            vector=its_vector,
        )
