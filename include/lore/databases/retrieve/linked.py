"""Retrieval by words and meaning together, and then by joins: the way `linked`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lore.databases.retrieve.joins import components, joinable
from lore.databases.retrieve.texts import name_words, table_text
from lore.databases.retrieve.vectors import VectorFiles
from lore.databases.retrieve.words import TableWords
from lore.databases.schema.model import DatabaseSchema
from lore.models.terms import standardized

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lore.types import Matrix

__all__ = ["LinkedRetriever"]

NAME_WEIGHT = 0.5
GROUP_WEIGHT = 0.5
GROUP_SIZE = 3
JOIN_GAIN = 0.5
BRIDGE_GAIN = 0.3


class LinkedRetriever:
    """Scores tables, then takes one after the other, so that those that join what was taken come first.

    1. x is the mean, weighed 1, 1, .5 and .5, of the standard scores of four values over all tables: BM25 and cosine of
       all words, BM25 and cosine of the name.
    2. A table gains half of the mean of the three best x among the tables that joins connect it with, because a
       question is about one part of a schema.
    3. Once a table is taken, those that can be joined with it gain .5, and .3 more if they join two that were taken.

    The constants were chosen on defog's questions; docs/databases.md has the figures, and those of held-out questions.
    """

    name = "linked"

    def __init__(self, vectors: VectorFiles) -> None:
        self._vectors = vectors
        self._tables: _LinkedTables | None = None

    def rank(self, question: str, schema: DatabaseSchema, limit: int) -> list[str]:
        """Return the best tables. Raises ModelError."""
        import numpy as np

        if not schema.tables:
            return []
        tables = self._prepared(schema)
        query = self._vectors.embedder.embed_query(question)
        scores = np.zeros(len(tables.names))
        for weight, words, vectors in (
            (1.0, tables.words.all_words(question), tables.vectors),
            (NAME_WEIGHT, tables.words.names(question), tables.name_vectors),
        ):
            scores += weight * (standardized(words) + standardized(np.asarray(vectors @ query, dtype=np.float64)))
        scores /= 2 * (1 + NAME_WEIGHT)
        scores += GROUP_WEIGHT * _group_scores(scores, tables.groups)
        return [tables.names[place] for place in _taken(scores, tables.neighbours, limit)]

    def _prepared(self, schema: DatabaseSchema) -> _LinkedTables:
        import numpy as np

        if self._tables is None or self._tables.words.fingerprint != schema.fingerprint:
            tables = list(schema.tables.values())
            neighbours = joinable(tables)
            self._tables = _LinkedTables(
                tuple(schema.tables),
                TableWords(schema),
                self._vectors.embed([table_text(table) for table in tables]),
                self._vectors.embed([name_words(table) for table in tables]),
                neighbours,
                np.unique(np.array(components(neighbours)), return_inverse=True)[1],
            )
        return self._tables


@dataclass(frozen=True)
class _LinkedTables:
    """Values that are computed once for a schema."""

    names: tuple[str, ...]
    words: TableWords
    vectors: Matrix
    name_vectors: Matrix
    neighbours: list[set[int]]
    groups: NDArray[np.intp]


def _group_scores(scores: NDArray[np.float64], groups: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return for each table the mean of the best scores in its group."""
    import numpy as np

    order = np.lexsort((-scores, groups))
    starts = np.searchsorted(groups[order], np.arange(int(groups.max()) + 1))
    place = np.arange(len(scores)) - starts[groups[order]]
    best = order[place < GROUP_SIZE]
    sums = np.bincount(groups[best], weights=scores[best])
    return np.asarray((sums / np.bincount(groups[best]))[groups])


def _taken(scores: NDArray[np.float64], neighbours: list[set[int]], limit: int) -> list[int]:
    """Return the places of the tables in the order of taking them."""
    import numpy as np

    gained = scores.copy()
    joined = np.zeros(len(scores), dtype=np.int64)
    taken: list[int] = []
    for _ in range(min(limit, len(scores))):
        place = int(gained.argmax())
        taken.append(place)
        gained[place] = -np.inf
        for other in neighbours[place]:
            joined[other] += 1
            gained[other] += JOIN_GAIN if joined[other] == 1 else BRIDGE_GAIN if joined[other] == 2 else 0.0
    return taken
