"""A reranker without a model of its own: cosine and keyword scores, compared over the candidates of one question.

docs/reranking.md has the value of each part, and the data that its constants were chosen and tested on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lore.languages.detection import stems_of
from lore.models.code_lines import is_code
from lore.models.terms import (
    adjacent_pairs,
    bm25,
    count_terms,
    inverse_frequency,
    standardized,
    terms_by_page,
    terms_of,
)
from lore.protocols import Embedder
from lore.types import Hit

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

__all__ = ["LocalReranker"]

COSINE_WEIGHT = 0.60
CODE_COSINE_WEIGHT = 1.0
"""For candidates that are mostly source code: its names are other words than those of a question about what it does."""
CODE_CANDIDATES = 20
"""The first candidates that decide whether the search found code."""
TERM_WEIGHT = 0.30
PAIR_WEIGHT = 0.05
PAGE_WEIGHT = 0.20
COMMON_SHARE = 0.30
"""The share of the similarity to all candidates that is subtracted from the similarity to the question."""
NEIGHBOURS = 10
NEIGHBOUR_SHARE = 0.25
TEMPERATURE = 0.3

Scores = NDArray[np.float64]
Pages = NDArray[np.intp]


class LocalReranker:
    """Orders passages by scores that are compared over the candidates of one question.

    1. Each candidate gets standard scores of four true values, however it was found. Its cosine to the question, less
       .30 of its cosine to the mean candidate (negative feedback, Rocchio 1971). BM25 of the question's terms, and of
       their adjacent pairs. The share of the question's terms, weighed by idf, anywhere on its page.
       x = .60 cosine + .30 BM25 + .05 pairs + .20 page. All statistics are over the candidates, so the order is the
       same for any store; idf counts pages, because the passages of one page repeat its words.
    2. A quarter of each x comes from the ten candidates nearest by cosine: a passage among good ones gains, an isolated
       one loses (score regularization, Diaz, CIKM 2005).
    3. A page with several good passages gains: its score is max + τ ln Σ exp((x − max) / τ) over its passages, τ = .3,
       and each passage gains as much as its page. So a ranking by best passage ranks the pages.

    Where most of the first candidates are source code, the cosine weighs 1.0 instead of .60, and step 2 is left out:
    a function is like its neighbours, and only one of them answers.
    """

    name = "local:minilm-bm25"

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        if not hits or limit <= 0:
            return []
        _, page = np.unique(np.array([hit.chunk.document_id for hit in hits], dtype=object), return_inverse=True)
        vectors = self._vectors(hits)
        in_code = _found_code(hits)
        weight = CODE_COSINE_WEIGHT if in_code else COSINE_WEIGHT
        scores = weight * standardized(_cosines(self._embedder.embed_query(query), vectors, page))
        scores += _term_scores(query, hits, page)
        scores = scores if in_code else _smoothed(scores, vectors)
        scores += _page_gain(scores, page)
        best = np.argsort(-scores, kind="stable")[:limit]
        return [replace(hits[row], score=float(scores[row])) for row in best]

    def _vectors(self, hits: Sequence[Hit]) -> Matrix:
        missing = [row for row, hit in enumerate(hits) if hit.vector is None]
        embedded = self._embedder.embed_documents([hits[row].chunk.embedded_text for row in missing]) if missing else ()
        computed = dict(zip(missing, embedded, strict=True))
        return np.stack([computed[row] if hit.vector is None else hit.vector for row, hit in enumerate(hits)])


def _found_code(hits: Sequence[Hit]) -> bool:
    first = [hit.chunk.text for hit in hits[:CODE_CANDIDATES]]
    return 2 * sum(map(is_code, first)) > len(first)


def _cosines(query: Vector, vectors: Matrix, page: Pages) -> Scores:
    """Similarity to the question, less a share of that to the mean of all pages' mean passages."""
    passages = np.bincount(page)
    common = (1.0 / (passages[page] * len(passages))).astype(np.float32) @ vectors
    return np.asarray(vectors @ (query - COMMON_SHARE * common), dtype=np.float64)


def _term_scores(query: str, hits: Sequence[Hit], page: Pages) -> Scores:
    """Keyword scores of each candidate: of terms, of adjacent pairs, and of terms anywhere on its page."""
    language = stems_of(query)
    query_terms = terms_of(query, language)
    terms = [terms_of(hit.chunk.passage, language) for hit in hits]
    lengths = np.array([len(text) for text in terms])
    counts = count_terms(query_terms, terms)
    by_page = terms_by_page(counts, page)
    idf = inverse_frequency(by_page)
    pairs = count_terms(adjacent_pairs(query_terms), [adjacent_pairs(text) for text in terms])
    pair_idf = inverse_frequency(terms_by_page(pairs, page))
    return (
        TERM_WEIGHT * standardized(bm25(counts, lengths, idf))
        + PAIR_WEIGHT * standardized(bm25(pairs, np.maximum(lengths - 1, 0), pair_idf))
        + PAGE_WEIGHT * standardized((by_page @ idf)[page])
    )


def _smoothed(scores: Scores, vectors: Matrix) -> Scores:
    """The scores mixed with those of the nearest candidates, weighed by cosine."""
    count = min(NEIGHBOURS, len(scores) - 1)
    if count < 1:
        return scores
    similarity = vectors @ vectors.T
    np.fill_diagonal(similarity, -np.inf)
    nearest = np.argpartition(-similarity, count - 1, axis=1)[:, :count]
    weights = np.maximum(np.take_along_axis(similarity, nearest, axis=1), 0.0).astype(np.float64)
    total = weights.sum(axis=1)
    around = np.divide((weights * scores[nearest]).sum(axis=1), total, out=scores.copy(), where=total > 0)
    return np.asarray((1 - NEIGHBOUR_SHARE) * scores + NEIGHBOUR_SHARE * around)


def _page_gain(scores: Scores, page: Pages) -> Scores:
    """The gain of each candidate's page over its best passage."""
    top = np.full(page.max() + 1, -np.inf)
    np.maximum.at(top, page, scores)
    shares = np.bincount(page, weights=np.exp((scores - top[page]) / TEMPERATURE))
    return np.asarray(TEMPERATURE * np.log(shares))[page]
