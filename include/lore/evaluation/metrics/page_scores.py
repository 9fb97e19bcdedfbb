"""Scores of one search by judged pages: a search finds passages, people judge pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from lore.evaluation.metrics.ranking import ndcg_at, recall_at, reciprocal_rank_at
from lore.evaluation.metrics.retrieval import pages_in
from lore.evaluation.questions.locate import LocatedQuestion
from lore.types import Hit

__all__ = ["PageScores", "ranking_of", "score_pages"]


@dataclass(frozen=True, slots=True)
class PageScores:
    """nDCG and reciprocal rank of the first ten pages, the recall of these and of all pages found, and the rank of the
    first judged page (None: not found). `ranking` holds the pages, best first.
    """

    ndcg: float
    reciprocal_rank: float
    recall_at_10: float
    recall: float
    rank: int | None
    ranking: tuple[str, ...]


def score_pages(
    hits: Sequence[Hit], question: LocatedQuestion, relevance: Mapping[str, int] | None = None
) -> PageScores:
    """Score the pages by the question's own judgements, or by `relevance` instead."""
    judged = question.relevance if relevance is None else relevance
    ranking = ranking_of(hits, question)
    return PageScores(
        ndcg=ndcg_at(10, ranking, judged),
        reciprocal_rank=reciprocal_rank_at(10, ranking, judged),
        recall_at_10=recall_at(10, ranking, judged),
        recall=recall_at(len(ranking), ranking, judged),
        rank=next((rank for rank, page in enumerate(ranking, start=1) if page in judged), None),
        ranking=tuple(ranking),
    )


def ranking_of(hits: Sequence[Hit], question: LocatedQuestion) -> list[str]:
    """Rank pages by their best chunks; ties are ordered by id, so that storage order makes no difference (as in
    trec_eval).
    """
    ordered: Iterable[Hit] = (
        hit
        for _, equal in groupby(hits, key=lambda hit: hit.score)
        for hit in sorted(equal, key=lambda hit: hit.chunk.document_id)
    )
    return list(dict.fromkeys(question.same_page.get(page, page) for page in pages_in(ordered)))
