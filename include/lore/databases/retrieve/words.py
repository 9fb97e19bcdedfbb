"""The retrievers without an embedder: the whole schema, and BM25 over the words of names, comments and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.databases.retrieve.texts import name_words, table_text
from lore.databases.schema.model import DatabaseSchema
from lore.models.terms import bm25, count_terms, inverse_frequency, terms_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lore.models.terms import Terms

__all__ = ["KeywordRetriever", "TableWords", "WholeSchema"]


class WholeSchema:
    """All tables, in the order of their names: the way `none`."""

    name = "none"

    def rank(self, question: str, schema: DatabaseSchema, limit: int) -> list[str]:
        """Return every table; the limit isn't for this way."""
        return list(schema.tables)


class KeywordRetriever:
    """Tables by BM25 over all their words: the way `keyword`. Tables without a word of the question follow by name."""

    name = "keyword"

    def __init__(self) -> None:
        self._words: TableWords | None = None

    def rank(self, question: str, schema: DatabaseSchema, limit: int) -> list[str]:
        """Return the best tables."""
        if self._words is None or self._words.fingerprint != schema.fingerprint:
            self._words = TableWords(schema)
        scores = self._words.all_words(question)
        names = list(schema.tables)
        return [names[place] for place in (-scores).argsort(kind="stable")[:limit]]


class TableWords:
    """The words of a schema's tables, and their BM25 for a question. `fingerprint` is that of the schema."""

    def __init__(self, schema: DatabaseSchema) -> None:
        self.fingerprint = schema.fingerprint
        tables = list(schema.tables.values())
        self._all = [terms_of(table_text(table)) for table in tables]
        self._names = [terms_of(name_words(table)) for table in tables]

    def all_words(self, question: str) -> NDArray[np.float64]:
        """Return the score of each table over all its words."""
        return _scores(question, self._all)

    def names(self, question: str) -> NDArray[np.float64]:
        """Return the score of each table over the words of its name."""
        return _scores(question, self._names)


def _scores(question: str, texts: list[Terms]) -> NDArray[np.float64]:
    import numpy as np

    counts = count_terms(terms_of(question), texts)
    if not counts.size:
        return np.zeros(len(texts))
    return bm25(counts, np.array([len(text) for text in texts]), inverse_frequency(counts > 0))
