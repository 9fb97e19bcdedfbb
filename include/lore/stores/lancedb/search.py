"""Hybrid search in a LanceDB table: nearest vectors, BM25 of LanceDB's own index, and their fusion.

The two rankings run side by side and give row numbers only, and BM25 scores. The index of vectors has a byte for each
number of a vector, so more are taken from it than are wanted, and ranked again by the true vectors. Rows are read once
for all the searches of a question that look at them (`LanceRows`). Row numbers hold within one commit, so the table
must be one that stays where it is, such as `LanceReaders` lends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING

from lore.stores import schema
from lore.stores.checks import QUERY_CHARACTERS
from lore.stores.fusion import cosines_to, fuse
from lore.stores.lancedb.index import LOOKED_AT, probes
from lore.types import Hit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lore.stores.fusion import Scores
    from lore.stores.lancedb.readers import AsyncTable
    from lore.stores.lancedb.rows import LanceRows, Row
    from lore.types import Vector


async def search(
    table: AsyncTable, passages: LanceRows, text: str, vector: Vector | None, limit: int, alpha: float, where: str
) -> list[Hit]:
    """The best `limit` of those chunks that `where` allows: see `Index.search`. They are read through `passages`."""
    import numpy as np

    near, matching = await asyncio.gather(
        _by_vector(table, vector if alpha > 0 else None, ceil(LOOKED_AT * limit), where),
        _by_keyword(table, text if alpha < 1 else "", limit, where),
    )
    numbers = list(near.union(matching))
    if not numbers:
        return []
    rows = await passages.read(table, numbers)
    nowhere = np.full(len(rows), np.nan)
    cosines = nowhere if vector is None else cosines_to(np.stack([row.vector for row in rows]), vector)
    keywords = _column(matching, numbers)
    nearby = np.array([number in near for number in numbers])
    scores = _fused(np.where(nearby, cosines, nowhere), keywords, limit, alpha)
    shown = _best(scores, limit)
    hits = _hits([rows[place] for place in shown.tolist()], scores[shown], cosines[shown], keywords[shown])
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[:limit]


def visible(sources: Sequence[str], audiences: Sequence[str]) -> str:
    """The condition that a chunk is in one of the sources (none: all) and for one of the audiences."""
    seen = f"array_has_any(audiences, [{', '.join(map(schema.literal, audiences))}])"
    return f"{schema.is_in('source_id', sources)} AND {seen}" if sources else seen


async def _by_vector(table: AsyncTable, vector: Vector | None, limit: int, where: str) -> set[int]:
    """The numbers of the nearest rows, as the index has them."""
    if vector is None:
        return set()
    query = table.query().nearest_to(vector).column("vector").distance_type("cosine").nprobes(await probes(table))
    rows = await query.where(where).select(["_distance"]).with_row_id().limit(limit).to_arrow()
    return set(rows["_rowid"].to_pylist())


async def _by_keyword(table: AsyncTable, text: str, limit: int, where: str) -> dict[int, float]:
    """Row number → BM25. Any word may match; the text is handed over as words, so nothing in it is an operator."""
    from lancedb.query import MatchQuery

    if not text:
        return {}
    words = MatchQuery(schema.clean(text[:QUERY_CHARACTERS]), "keywords")  # type: ignore[call-arg]  # a pydantic dataclass
    query = table.query().nearest_to_text(words)
    rows = await query.where(where).select(["_score"]).with_row_id().limit(limit).to_arrow()
    return dict(zip(rows["_rowid"].to_pylist(), rows["_score"].to_pylist(), strict=True))


def _column(ranking: dict[int, float], numbers: Sequence[int]) -> Scores:
    """The scores of these rows, NaN where the ranking did not find one."""
    import numpy as np

    return np.array([ranking.get(number, np.nan) for number in numbers], dtype=np.float64)


def _fused(cosines: Scores, keywords: Scores, limit: int, alpha: float) -> Scores:
    """The fused scores of the `limit` nearest and of what keywords found; NaN for the others."""
    import numpy as np

    nearest = np.full(len(cosines), np.nan)
    places = _best(cosines, limit)
    nearest[places] = cosines[places]
    return np.where(np.isnan(nearest) & np.isnan(keywords), np.nan, fuse(nearest, keywords, alpha))


def _best(scores: Scores, limit: int) -> NDArray[np.intp]:
    """The places of the `limit` highest, and of those that tie with the last of them, because ids tell which; not of
    NaN.
    """
    import numpy as np

    places = np.flatnonzero(~np.isnan(scores))
    if len(places) <= limit:
        return places
    lowest = np.partition(scores[places], -limit)[-limit]
    return np.flatnonzero(scores >= lowest)


def _hits(rows: Sequence[Row], scores: Scores, cosines: Scores, keywords: Scores) -> Iterator[Hit]:
    """The rows as hits. One found by keyword only carries its true cosine for rerankers to use."""
    for row, score, cosine, keyword in zip(rows, scores.tolist(), _known(cosines), _known(keywords), strict=True):
        yield Hit(row.chunk, score, cosine, keyword, row.vector)


def _known(scores: Scores) -> list[float | None]:
    """The scores, None for NaN."""
    return [None if score != score else score for score in scores.tolist()]
