"""Hybrid search in a LanceDB table: nearest vectors, LanceDB's BM25, and their fusion.

Both rankings run concurrently and return row numbers only, plus BM25 scores. The vector index is quantized to a byte
per component, so a search takes more candidates than it needs and ranks them again by their true vectors.
`LancePassages` reads each row once for all searches of a question. Row numbers hold within one commit, so the table
must be pinned, as `LanceReaders` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING

from lore.stores.fusion import cosines_to, fuse
from lore.stores.keywords import keyword_text
from lore.stores.lancedb.index import OVERSAMPLING, probes
from lore.stores.lancedb.schema import sql_in, sql_literal
from lore.stores.validation import QUERY_CHARACTERS
from lore.stores.values import valid_utf8
from lore.types import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lore.stores.fusion import Scores
    from lore.stores.lancedb.passages import LancePassage, LancePassages
    from lore.stores.lancedb.readers import AsyncTable
    from lore.types import Vector


async def search(
    table: AsyncTable, passages: LancePassages, text: str, vector: Vector | None, limit: int, alpha: float, where: str
) -> list[Hit]:
    """The best `limit` chunks that match `where`, read through `passages`: see `Index.search`."""
    import numpy as np

    near, matching = await asyncio.gather(
        _by_vector(table, vector if alpha > 0 else None, ceil(OVERSAMPLING * limit), where),
        _by_keyword(table, text if alpha < 1 else "", limit, where),
    )
    numbers = list(near.union(matching))
    if not numbers:
        return []
    rows = await passages.read(table, numbers)
    unknown = np.full(len(rows), np.nan)
    cosines = unknown if vector is None else cosines_to(np.stack([row.vector for row in rows]), vector)
    keywords = np.array([matching.get(number, np.nan) for number in numbers], dtype=np.float64)
    is_near = np.array([number in near for number in numbers])
    scores = _fused(np.where(is_near, cosines, unknown), keywords, limit, alpha)
    shown = _best(scores, limit)
    hits = _hits([rows[place] for place in shown.tolist()], scores[shown], cosines[shown], keywords[shown])
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[:limit]


def visible(sources: Sequence[str], audiences: Sequence[str]) -> str:
    """The condition that a chunk is in one of the sources (none: any) and visible to one of the audiences."""
    seen = f"array_has_any(audiences, [{', '.join(map(sql_literal, audiences))}])"
    return f"{sql_in('source_id', sources)} AND {seen}" if sources else seen


async def _by_vector(table: AsyncTable, vector: Vector | None, limit: int, where: str) -> set[int]:
    """The row numbers of the nearest vectors, by the quantized index."""
    if vector is None:
        return set()
    query = table.query().nearest_to(vector).column("vector").distance_type("cosine").nprobes(await probes(table))
    rows = await query.where(where).select(["_distance"]).with_row_id().limit(limit).to_arrow()
    return set(rows["_rowid"].to_pylist())


async def _by_keyword(table: AsyncTable, text: str, limit: int, where: str) -> dict[int, float]:
    """Row number → BM25 score. Any word may match; the text is passed as words, so it can't hold an operator."""
    from lancedb.query import MatchQuery

    if not text:
        return {}
    looked_up = keyword_text(valid_utf8(text[:QUERY_CHARACTERS]))
    if not looked_up:
        return {}
    words = MatchQuery(looked_up, "keywords")  # type: ignore[call-arg]  # a pydantic dataclass
    query = table.query().nearest_to_text(words)
    rows = await query.where(where).select(["_score"]).with_row_id().limit(limit).to_arrow()
    return dict(zip(rows["_rowid"].to_pylist(), rows["_score"].to_pylist(), strict=True))


def _fused(cosines: Scores, keywords: Scores, limit: int, alpha: float) -> Scores:
    """The fused scores of the `limit` nearest and of all keyword matches; NaN for the others."""
    import numpy as np

    nearest = np.full(len(cosines), np.nan)
    places = _best(cosines, limit)
    nearest[places] = cosines[places]
    return np.where(np.isnan(nearest) & np.isnan(keywords), np.nan, fuse(nearest, keywords, alpha))


def _best(scores: Scores, limit: int) -> NDArray[np.intp]:
    """The positions of the `limit` highest scores and of all ties with the last, which ids will break; NaN left out."""
    import numpy as np

    places = np.flatnonzero(~np.isnan(scores))
    if len(places) <= limit:
        return places
    lowest = np.partition(scores[places], -limit)[-limit]
    return np.flatnonzero(scores >= lowest)


def _hits(rows: Sequence[LancePassage], scores: Scores, cosines: Scores, keywords: Scores) -> Iterator[Hit]:
    """The rows as hits. One found by keyword only carries its true cosine for rerankers to use."""
    for row, score, cosine, keyword in zip(rows, scores.tolist(), _known(cosines), _known(keywords), strict=True):
        yield Hit(row.chunk, score, cosine, keyword, row.vector)


def _known(scores: Scores) -> list[float | None]:
    """The scores with None for NaN."""
    return [None if score != score else score for score in scores.tolist()]
