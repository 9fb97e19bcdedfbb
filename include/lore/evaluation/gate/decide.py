"""The decision on promotion: may a candidate version of the index replace the live one?

Both versions are asked the same questions, and each question is scored on both by nDCG@10 on whole pages. The decision
rests on the mean of the differences, candidate − live, with its one-sided 95 % bounds from a paired bootstrap:

    refused     upper bound < −margin     the candidate is shown to be worse than the margin allows
    accepted    lower bound ≥ −margin     it is shown not to be, and the questions could have shown it (below)
    undecided   otherwise                 these questions cannot tell

Acceptance is a test of non-inferiority. A rule that refuses only what is shown to be worse would let a bad candidate
pass whenever there are too few questions to show anything. A bare comparison of means would refuse harmless candidates
by chance. Each of the two statements is wrong in about one of twenty cases where it is hardest, with a true difference
at the margin. An undecided candidate is not promoted, nor called worse: a person looks at the questions.

A bootstrap knows only the differences that it was given. Damage that removes the page of one question in ten goes
unseen by ten questions in a third of all cases, and a bootstrap of ten zeros is certain of zero. So acceptance also
requires one of three things:

- There are enough questions. If a share margin / (live nDCG) of all questions lost its pages, which costs just the
  margin, at least one question asked would show it with the same confidence (the rule of three: Hanley and
  Lippman-Hand, JAMA 249(13), 1983).
- The first ten pages hardly changed: the candidate's first ten lack no greater share of the live version's than the
  margin. That is ten pages a question to judge by instead of one, and lets an identical candidate pass with a small
  question set.
- The candidate is shown to be better (lower bound > 0), which makes up for a loss of the margin that went unseen.

docs/gate.md has the measured error rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean
from time import perf_counter
from typing import Literal, TypeAlias

from lore.errors import ConfigurationError, LoreError
from lore.evaluation.gate.verdict import Decision, Figures, LeftOut, Outcome, Verdict
from lore.evaluation.metrics.bootstrap import Bounds, paired_bootstrap
from lore.evaluation.metrics.page_scores import PageScores, score_pages
from lore.evaluation.metrics.ranking import percentile
from lore.evaluation.metrics.retrieval import Search
from lore.evaluation.questions.locate import LocatedQuestion, LocatedSet

__all__ = ["judge"]

Side: TypeAlias = Literal["live", "candidate"]
SIDES: tuple[Side, Side] = ("live", "candidate")
MOST_NEEDED = 10_000
ROUNDING = 1e-12
"""Largest floating-point difference between means that are equal."""


def judge(
    questions: LocatedSet,
    live: Search,
    candidate: Search,
    *,
    margin: float,
    retrieve_limit: int = 100,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Verdict:
    """Ask both versions every question and decide; `progress` gets the number of questions done and the total.

    `margin` is the tolerated loss of mean nDCG@10, from 0 to 1. Equal hits on both sides give a difference of exactly
    0. Raises what a search raises, naming the side and the question: a failed search is never a score of 0.
    """
    if not 0 <= margin < 1:
        raise ConfigurationError(f"The gate's margin is {margin}.", remedy="Set one from 0 to below 1.")
    if len(questions.questions) < 2:
        raise ConfigurationError(f"{questions.name}: one question cannot decide.", remedy="Add questions.")
    searches: dict[Side, Search] = {"live": live, "candidate": candidate}
    for side in SIDES:  # the first query of a version opens files and builds graphs
        _ask(side, searches[side], questions.questions[0], retrieve_limit)
    results: dict[Side, list[_Result]] = {side: [] for side in SIDES}
    for number, question in enumerate(questions.questions, start=1):
        for side in SIDES if number % 2 else reversed(SIDES):  # neither profits from what the other warmed up
            results[side].append(_ask(side, searches[side], question, retrieve_limit))
        if progress is not None:
            progress(number, len(questions.questions))
    outcomes = tuple(map(_outcome, questions.questions, results["live"], results["candidate"]))
    bounds = paired_bootstrap(
        [outcome.difference for outcome in outcomes], confidence=confidence, resamples=resamples, seed=seed
    )
    live_figures = _figures(results["live"])
    kept = fmean(outcome.kept for outcome in outcomes)
    hardly_changed = 1.0 - kept <= margin + ROUNDING
    enough = 0 if hardly_changed or bounds.lower > 0 else _enough(margin, live_figures.ndcg_at_10, confidence)
    decision = _decide(bounds, margin, shown=len(outcomes) >= enough)
    needed = max(enough, _needed(bounds, margin, confidence, len(outcomes)))
    return Verdict(
        decision=decision,
        question_set=questions.name,
        margin=margin,
        difference=bounds.mean,
        lower=bounds.lower,
        upper=bounds.upper,
        confidence=confidence,
        resamples=resamples,
        kept=kept,
        live=live_figures,
        candidate=_figures(results["candidate"]),
        outcomes=outcomes,
        questions_needed=needed if decision == "undecided" and needed <= MOST_NEEDED else None,
        left_out=tuple(LeftOut(left.id, left.text, tuple(left.pages)) for left in questions.left_out),
        missing_pages=questions.missing_pages,
    )


def _decide(bounds: Bounds, margin: float, *, shown: bool) -> Decision:
    if bounds.upper < -margin - ROUNDING:
        return "refused"
    return "accepted" if bounds.lower >= -margin - ROUNDING and shown else "undecided"


def _enough(margin: float, live: float, confidence: float) -> int:
    """Return how many questions would reveal, at least by one of them, that the largest tolerable share of all
    questions lost its pages.
    """
    if margin >= live:
        return 1
    if margin == 0:
        return MOST_NEEDED + 1
    return math.ceil(math.log(1.0 - confidence) / math.log(1.0 - margin / live))


def _needed(bounds: Bounds, margin: float, confidence: float, asked: int) -> int:
    """Return how many questions would bring a bound to the margin if mean and deviation stayed the same."""
    if bounds.lower >= -margin:
        return asked
    distance = abs(bounds.mean + margin)
    reach = NormalDist().inv_cdf(confidence) * bounds.deviation
    if reach > distance * math.sqrt(MOST_NEEDED):
        return MOST_NEEDED + 1
    return max(asked + 1, math.ceil((reach / distance) ** 2))


@dataclass(frozen=True, slots=True)
class _Result:
    """The result of one question on one side."""

    pages: PageScores
    seconds: float


def _ask(side: Side, search: Search, question: LocatedQuestion, limit: int) -> _Result:
    started = perf_counter()
    try:
        hits = search(question.question.asked(), limit)
    except ConfigurationError:
        raise
    except LoreError as error:
        raise LoreError(
            f"The {side} version couldn't be asked {question.question.text[:200]!r}: {error.message}",
            remedy=error.remedy,
            retryable=error.retryable,
        ) from error
    seconds = perf_counter() - started
    return _Result(score_pages(hits, question), seconds)


def _outcome(question: LocatedQuestion, live: _Result, candidate: _Result) -> Outcome:
    judged = question.question
    return Outcome(
        id=judged.id,
        question=judged.text,
        pages=tuple(judged.pages),
        live=live.pages.ndcg,
        candidate=candidate.pages.ndcg,
        live_rank=live.pages.rank,
        candidate_rank=candidate.pages.rank,
        kept=_kept(live.pages.ranking[:10], candidate.pages.ranking[:10]),
    )


def _kept(live: Sequence[str], candidate: Sequence[str]) -> float:
    return len(set(live) & set(candidate)) / len(live) if live else 1.0


def _figures(results: Sequence[_Result]) -> Figures:
    return Figures(
        ndcg_at_10=fmean(result.pages.ndcg for result in results),
        mrr_at_10=fmean(result.pages.reciprocal_rank for result in results),
        recall=fmean(result.pages.recall for result in results),
        pages_retrieved=fmean(len(result.pages.ranking) for result in results),
        ms_p50=1000 * percentile([result.seconds for result in results], 0.5),
    )
