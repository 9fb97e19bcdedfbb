"""Rank metrics on document ids, as trec_eval and BEIR define them, so that figures compare with published ones.

`ranking` is a list of document ids, best first, each once. `relevance` maps the judged ids of one query to their
grade; a grade of 0 or less, or no judgement, means not relevant. Every metric lies in [0, 1].

Sources: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4), 2002, with the
gain of trec_eval's `ndcg_cut` (the grade itself, not 2^grade − 1); Thakur et al., "BEIR", NeurIPS 2021, which scores
with it; Voorhees, "The TREC-8 Question Answering Track Report", 1999, for the reciprocal rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

__all__ = ["ndcg_at", "percentile", "recall_at", "reciprocal_rank_at"]


def ndcg_at(k: int, ranking: Sequence[str], relevance: Mapping[str, int]) -> float:
    """Return the discounted cumulated gain of the first k, over that of the best possible ranking; 0.0 if none is
    relevant.
    """
    ideal = _discounted(sorted(relevance.values(), reverse=True)[:k])
    if ideal == 0.0:
        return 0.0
    return _discounted([relevance.get(document, 0) for document in ranking[:k]]) / ideal


def recall_at(k: int, ranking: Sequence[str], relevance: Mapping[str, int]) -> float:
    """Return the share of all relevant documents among the first k; 0.0 if none is relevant."""
    relevant = {document for document, grade in relevance.items() if grade > 0}
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def reciprocal_rank_at(k: int, ranking: Sequence[str], relevance: Mapping[str, int]) -> float:
    """Return 1 / rank of the first relevant document among the first k, or 0.0; its mean over queries is MRR@k."""
    for rank, document in enumerate(ranking[:k], start=1):
        if relevance.get(document, 0) > 0:
            return 1.0 / rank
    return 0.0


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` of the values do not exceed (nearest rank); 0.0 for no values."""
    if not values:
        return 0.0
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _discounted(grades: Sequence[int]) -> float:
    return sum(max(grade, 0) / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))
