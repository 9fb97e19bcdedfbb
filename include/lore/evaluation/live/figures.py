"""Means over the questions of an evaluation, with intervals for other questions of the kind.

Yes-or-no shares have Wilson's interval (Wilson, "Probable inference, the law of succession, and statistical inference",
JASA 22, 1927; Brown, Cai and DasGupta, Statistical Science 16(2), 2001, for why), since a bootstrap of ten times yes is
certain of yes. Other means have the percentiles of `bootstrap`, both bounds at 97.5 %.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

from lore.evaluation.compare.index import total
from lore.evaluation.live.results import Costs, Figure, QuestionResult, Timing
from lore.evaluation.metrics.bootstrap import paired_bootstrap
from lore.evaluation.metrics.ranking import percentile

__all__ = ["METRICS", "Metric", "costs_of", "figures_of", "interval", "timings_of"]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure from 0 to 1, higher is better. `of` is its value for one question, None if it has none.

    Two runs are compared question by question, except by metrics that are not `paired`: the questions that those cover
    depend on the run.
    """

    name: str
    title: str
    meaning: str
    of: Callable[[QuestionResult], float | None]
    paired: bool = True


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("ndcg_at_10", "nDCG@10", "how high the right pages are among the first ten", lambda one: one.ndcg),
        Metric("mrr_at_10", "MRR@10", "1 / rank of the first right page", lambda one: one.reciprocal_rank),
        Metric("recall", "recall", "right pages among all that the search found", lambda one: one.recall),
        Metric(
            "context_recall",
            "context recall",
            "right pages among the passages that the answer is written from",
            lambda one: one.context_recall,
        ),
        Metric(
            "answered",
            "answered",
            "answerable questions that were answered",
            lambda one: None if one.unanswerable else float(one.found),
        ),
        Metric(
            "citation_precision",
            "citation precision",
            "right pages among those that are cited",
            lambda one: one.citation_precision,
        ),
        Metric("citation_recall", "citation recall", "right pages that are cited", lambda one: one.citation_recall),
        Metric(
            "support",
            "support",
            "sentences that state a fact which their passage bears out",
            lambda one: one.support,
        ),
        Metric("mentions", "mentions", "words of `must_mention` that the answer holds", lambda one: one.mentions),
        Metric("correctness", "correctness", "by the judge: 1 correct, ½ partly, 0 wrong", lambda one: one.correctness),
        Metric(
            "abstention_precision",
            "abstention precision",
            "unanswerable questions among those that were not answered",
            lambda one: None if one.found else float(one.unanswerable),
            paired=False,
        ),
        Metric(
            "abstention_recall",
            "abstention recall",
            "unanswerable questions that were not answered",
            lambda one: float(not one.found) if one.unanswerable else None,
        ),
    )
}
"""All metrics by name, in display order."""


def figures_of(results: Sequence[QuestionResult]) -> tuple[Figure, ...]:
    """Return the means of all metrics that any question has a value for; abstention needs an unanswerable one."""
    figures: list[Figure] = []
    for metric in METRICS.values():
        if metric.name.startswith("abstention") and not any(result.unanswerable for result in results):
            continue
        values = [value for value in map(metric.of, results) if value is not None]
        if values:
            lower, upper = interval(values)
            figures.append(Figure(metric.name, fmean(values), lower, upper, len(values)))
    return tuple(figures)


def interval(values: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Return the two-sided 95 % interval of the mean of values from 0 to 1; None for fewer than two values, or equal
    ones.
    """
    if len(values) < 2:
        return None, None
    if set(values) <= {0.0, 1.0}:
        return _wilson(fmean(values), len(values))
    if len(set(values)) == 1:
        return None, None
    bounds = paired_bootstrap(values, confidence=1 - (1 - CONFIDENCE) / 2)
    return max(0.0, bounds.lower), min(1.0, bounds.upper)


def timings_of(results: Sequence[QuestionResult]) -> tuple[Timing, ...]:
    """Return the seconds until the first piece of an answer, until its end, and of the search alone. Cold questions
    count only if there are no others.
    """
    timed = [result for result in results if not result.cold] or results
    measured = {
        "first token": [result.first_token_seconds for result in timed],
        "whole answer": [result.seconds for result in timed],
        "search": [result.search_seconds for result in timed],
    }
    return tuple(Timing(name, percentile(each, 0.5), percentile(each, 0.95)) for name, each in measured.items())


def costs_of(results: Sequence[QuestionResult]) -> Costs:
    """Return the sums over all questions."""
    return Costs(
        calls=sum(result.calls for result in results),
        input_tokens=total([result.input_tokens for result in results]),
        output_tokens=total([result.output_tokens for result in results]),
        cost=total([result.cost for result in results]),
        judge_input_tokens=total([result.judge_input_tokens for result in results]),
        judge_output_tokens=total([result.judge_output_tokens for result in results]),
        judge_cost=total([result.judge_cost for result in results]),
    )


def _wilson(share: float, count: int) -> tuple[float, float]:
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2)
    middle = share + z * z / (2 * count)
    reach = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    width = 1 + z * z / count
    return max(0.0, (middle - reach) / width), min(1.0, (middle + reach) / width)
