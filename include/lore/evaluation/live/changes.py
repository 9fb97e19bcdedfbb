"""Changes since an earlier evaluation: figures by paired differences, and question by question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean

from lore.evaluation.live.figures import METRICS, Metric
from lore.evaluation.live.results import (
    Assessment,
    Changes,
    FigureChange,
    QuestionChange,
    QuestionResult,
    Setup,
)
from lore.evaluation.metrics.bootstrap import paired_bootstrap

__all__ = ["changes_between"]

SMALLEST = 1e-9
ANSWERED = {True: "answered", False: "not answered"}
Pair = tuple[QuestionResult, QuestionResult]


def changes_between(before: Assessment, setup: Setup, results: Sequence[QuestionResult]) -> Changes:
    """Return the differences over the questions of both runs. Verdicts by another judge or prompt are left out."""
    then = {result.key: result for result in before.results}
    pairs = [(then[result.key], result) for result in results if result.key in then]
    metrics = [
        metric for metric in METRICS.values() if metric.name != "correctness" or _same_judge(before.setup, setup)
    ]
    moved = [change for change in (_question(*pair, metrics) for pair in pairs) if change is not None]
    return Changes(
        before_at=before.made_at,
        common=len(pairs),
        added=len(results) - len(pairs),
        gone=len(then) - len(pairs),
        setup=tuple(_setup(before.setup, setup)),
        figures=tuple(figure for metric in metrics if (figure := _figure(metric, pairs)) is not None),
        worse=tuple(sorted((one for one in moved if one.size < 0), key=lambda one: one.size)),
        better=tuple(sorted((one for one in moved if one.size >= 0), key=lambda one: -one.size)),
    )


def _same_judge(before: Setup, now: Setup) -> bool:
    return (before.judge_model, before.prompts.get("judge")) == (now.judge_model, now.prompts.get("judge"))


def _figure(metric: Metric, pairs: Sequence[Pair]) -> FigureChange | None:
    values = [(metric.of(before), metric.of(now)) for before, now in pairs]
    if not metric.paired:
        first, second = ([value for value in side if value is not None] for side in zip(*values, strict=True))
        if not first or not second:
            return None
        before, now = fmean(first), fmean(second)
        return FigureChange(metric.name, before, now, now - before, None, None, len(second))
    both = [(before, now) for before, now in values if before is not None and now is not None]
    if not both:
        return None
    before, now = (fmean(side) for side in zip(*both, strict=True))
    differences = [second - first for first, second in both]
    lower = upper = None
    if len(set(differences)) > 1:
        bounds = paired_bootstrap(differences, confidence=0.975)
        lower, upper = bounds.lower, bounds.upper
    return FigureChange(metric.name, before, now, fmean(differences), lower, upper, len(both))


def _question(before: QuestionResult, now: QuestionResult, metrics: Sequence[Metric]) -> QuestionChange | None:
    moves: list[str] = []
    size = 0.0
    for metric in metrics:
        if metric.name in ("answered", "abstention_precision", "abstention_recall"):
            continue  # reported once, under its own name
        then, here = metric.of(before), metric.of(now)
        if then is None or here is None or abs(here - then) < SMALLEST:
            continue
        size += here - then
        if metric.name == "correctness":
            moves.append(f"{before.verdict} → {now.verdict}")
        else:
            moves.append(f"{metric.title} {then:.2f} → {here:.2f}")
    if before.found != now.found:
        moves.insert(0, f"{ANSWERED[before.found]} → {ANSWERED[now.found]}")
        size += 1.0 if now.found != now.unanswerable else -1.0
    return QuestionChange(now.id, now.question, tuple(moves), size) if moves else None


def _setup(before: Setup, now: Setup) -> Iterator[str]:
    for title, then, here in (
        ("embedder", before.embedder, now.embedder),
        ("reranker", before.reranker, now.reranker),
        ("language model", before.chat_model, now.chat_model),
        ("judge", before.judge_model, now.judge_model),
        ("version of the index", before.version, now.version),
        ("alpha", before.alpha, now.alpha),
        ("passages searched for", before.retrieve_limit, now.retrieve_limit),
        ("passages given", before.rerank_limit, now.rerank_limit),
    ):
        if then != here:
            yield f"{title}: {then or 'none'} then, {here or 'none'} now"
    for name in sorted(before.prompts.keys() & now.prompts.keys()):
        if before.prompts[name] != now.prompts[name]:
            yield f"the prompt for {name} is another one"
    synced = sorted(source for source, at in now.synced.items() if before.synced.get(source) != at)
    if synced:
        yield f"synced in between: {', '.join(synced)}"
