"""Reranking of candidates, which falls back on the order of the search and never fails."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lore.errors import ModelError
from lore.protocols import FallbackReranker, OnUsage, Reranker
from lore.query.deadlines import TimeLimit
from lore.types import Hit, Reranking

__all__ = ["rerank"]


def rerank(
    reranker: Reranker | None,
    question: str,
    candidates: Sequence[Hit],
    limit: int,
    *,
    time: TimeLimit,
    refusal: str = "",
    on_usage: OnUsage | None = None,
) -> Reranking:
    """Return the best `limit` candidates, in the reranker's order.

    If the reranker fails or is late, the order of the search remains, with a note. So it does if the budget refuses the
    reranker (`refusal` is the reason) and it has no free one behind it.
    """
    if not reranker or not candidates:
        return Reranking(tuple(candidates[:limit]), "")
    ranking = partial(_ranking, reranker, question, candidates, limit, refusal, on_usage)
    try:
        return time.call(ranking, "It")
    except ModelError as error:
        note = f"The passages are in the order of the search, because the reranker failed: {error}"
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
        hits, name, notes = ranking.hits[:limit], ranking.reranker, ranking.notes
    elif refusal:
        return Reranking(tuple(candidates[:limit]), "", (refusal,))
    else:
        hits, name, notes = tuple(reranker.rerank(question, candidates, limit)[:limit]), reranker.name, ()
    if not hits and not notes:
        raise ModelError("It returned no passages.")
    return Reranking(hits, name, notes)
