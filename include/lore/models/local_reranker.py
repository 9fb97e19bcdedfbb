"""A reranker that needs no model of its own: the embedder's cosine and keyword scores, compared within one query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from include.lore.models.terms import adjacent_pairs, bm25, terms_of
from include.lore.protocols import Embedder
from include.lore.types import Hit

__all__ = ["LocalReranker"]

COSINE_WEIGHT = 0.55
TERM_WEIGHT = 0.40
PAIR_WEIGHT = 0.05
TEMPERATURE = 0.3

Scores = NDArray[np.float64]


class LocalReranker:
    """Orders passages by .55 z(cosine) + .40 z(BM25) + .05 z(BM25 of adjacent pairs), z-scored over the candidates.

    Every candidate gets all three true values, however it was found; BM25 takes its statistics from the candidates, so
    that the order is the same over any store. A page with several good passages is lifted: its score is
    max + τ ln Σ exp((x − max) / τ) over its passages, τ = .3, and each of its passages gains what its page gained. So
    ranking pages by their best passage is the ranking of pages.
    """

    name = "local:minilm-bm25"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        if not hits or limit <= 0:
            return []
        query_terms = terms_of(query)
        terms = [terms_of(hit.chunk.passage) for hit in hits]
        scores = (
            COSINE_WEIGHT * _z(self._cosines(query, hits))
            + TERM_WEIGHT * _z(bm25(query_terms, terms))
            + PAIR_WEIGHT * _z(bm25(adjacent_pairs(query_terms), [adjacent_pairs(text) for text in terms]))
        )
        scores += _page_gain(scores, [hit.chunk.document_id for hit in hits])
        best = np.argsort(-scores, kind="stable")[:limit]
        return [replace(hits[row], score=float(scores[row])) for row in best]

    def _cosines(self, query: str, hits: Sequence[Hit]) -> Scores:
        missing = [row for row, hit in enumerate(hits) if hit.vector is None]
        embedded = self._embedder.embed_documents([hits[row].chunk.embedded_text for row in missing]) if missing else ()
        computed = dict(zip(missing, embedded, strict=True))
        vectors = np.stack([computed[row] if hit.vector is None else hit.vector for row, hit in enumerate(hits)])
        return np.asarray(vectors @ self._embedder.embed_query(query), dtype=np.float64)


def _z(values: Scores) -> Scores:
    """Standard scores; a column that says the same of every candidate says nothing."""
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-9 else np.zeros_like(values)


def _page_gain(scores: Scores, document_ids: list[str]) -> Scores:
    """What each candidate's page gains over its best passage."""
    _, page = np.unique(np.array(document_ids, dtype=object), return_inverse=True)
    top = np.full(page.max() + 1, -np.inf)
    np.maximum.at(top, page, scores)
    shares = np.bincount(page, weights=np.exp((scores - top[page]) / TEMPERATURE))
    return np.asarray(TEMPERATURE * np.log(shares))[page]
