"""The stage that orders the candidates: it never fails, and says what it fell back on."""

from __future__ import annotations

from collections.abc import Sequence

from lore.errors import ModelError
from lore.protocols import FallbackReranker, OnUsage, Reranker
from lore.types import Hit, Reranking

__all__ = ["rerank"]


def rerank(
    reranker: Reranker | None,
    question: str,
    candidates: Sequence[Hit],
    limit: int,
    *,
    refusal: str = "",
    on_usage: OnUsage | None = None,
) -> Reranking:
    """The best `limit` candidates: as the reranker orders them, or in the order of the search where there is none, it
    fails, or it may not be paid for (`refusal` says why) and has no other behind it.
    """
    if not reranker or not candidates:
        return Reranking(tuple(candidates[:limit]), "")
    try:
        ranking = _ranking(reranker, question, candidates, limit, refusal, on_usage)
        if ranking.hits or ranking.notes:
            return ranking
        reason = "It gave no passages."
    except ModelError as error:
        reason = str(error)
    note = f"The passages are in the order of the search; the reranker failed: {reason}"
    return Reranking(tuple(candidates[:limit]), "", (note,))


def _ranking(
    reranker: Reranker,
    question: str,
    candidates: Sequence[Hit],
    limit: int,
    refusal: str,
    on_usage: OnUsage | None,
) -> Reranking:
    if isinstance(reranker, FallbackReranker):
        ranking = reranker.rank(question, candidates, limit, refusal=refusal, on_usage=on_usage)
        return Reranking(ranking.hits[:limit], ranking.reranker, ranking.notes)
    if refusal:
        return Reranking(tuple(candidates[:limit]), "", (refusal,))
    return Reranking(tuple(reranker.rerank(question, candidates, limit)[:limit]), reranker.name)
