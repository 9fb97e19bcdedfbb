"""Strategies side by side: the same documents indexed in several ways, the same questions searched in several ways.

Every index is an embedded one in a temporary folder, whatever store is set. Judgements are about pages, so a page ranks
where its best passage does. Differences between indexes come with bounds (a paired bootstrap over questions), since few
questions show little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from lore.errors import ConfigurationError
from lore.evaluation.compare.answers import PlanOnce
from lore.evaluation.compare.corpus import Corpus, open_sources, read_corpus
from lore.evaluation.compare.index import BuiltIndex, IndexBuilder
from lore.evaluation.compare.questions import ComparisonParts, ComparisonRun, ProgressListener
from lore.evaluation.compare.results import (
    RETRIEVALS,
    STRATEGIES,
    Comparison,
    IndexPlan,
    QuestionOutcome,
    Retrieval,
)
from lore.evaluation.questions.locate import LocatedSet, locate
from lore.evaluation.questions.question_set import QuestionSet, load_questions
from lore.redact.redactor import Redactor
from lore.settings import Settings
from lore.wiring.models import make_chat_model, make_embedder, make_prices, make_reranker
from lore.wiring.strategies import EXTRACTIVE, make_summarizer

__all__ = ["compare"]

ANSWERED = 10
"""Number of questions answered in each way: a language model's answers cost time and money."""


def compare(
    names: Sequence[str],
    question_file: Path,
    settings: Settings,
    *,
    plans: Sequence[IndexPlan] = tuple(map(IndexPlan, STRATEGIES)),
    retrievals: Sequence[Retrieval] = RETRIEVALS,
    limit_questions: int | None = None,
    answers: int = ANSWERED,
    listener: ProgressListener = lambda *_: None,
) -> Comparison:
    """Build an index for each plan and search it in each way; answer the first `answers` questions as well.

    Without a chat model, answers quote passages and "none" is left out. Without a summary model either, extractive
    summaries take its place. The notes say both. Raises ConfigurationError for an unusable corpus or question set,
    SourceError, ModelError and StoreError.
    """
    questions = load_questions(question_file)
    if limit_questions is not None:
        questions = replace(questions, questions=questions.questions[:limit_questions])
    embedder = make_embedder(settings)
    chat_model = make_chat_model(settings)
    planner = PlanOnce(chat_model) if chat_model else None
    parts = ComparisonParts(settings, embedder, make_reranker(settings, embedder), planner)
    retrievals, notes = _possible(retrievals, parts)
    corpus = read_corpus(
        open_sources(names, settings), Redactor(settings.ingest.redact), lambda done: listener("reading", done, None)
    )
    located = locate(questions, corpus.documents, minimum=1)
    summary_model = settings.models.summary_model or settings.models.chat_model or EXTRACTIVE
    if summary_model == EXTRACTIVE and any(plan.strategy != "basic" for plan in plans):
        notes = (*notes, "No language model is set for summaries, so they are sentences of the passages.")
    with TemporaryDirectory(prefix="lore-compare-") as temporary:
        builder = IndexBuilder(
            Path(temporary),
            settings,
            embedder,
            lambda on_usage: make_summarizer(settings, summary_model, on_usage=on_usage),
            make_prices(settings),
        )
        built = {
            plan.name: builder.build(plan, corpus.documents, _stage_listener(listener, f"building {plan.name}"))
            for plan in plans
        }
        run = ComparisonRun(parts, located, answers, listener)
        run.all(built, retrievals)
    return _comparison(corpus, questions, located, parts, built, run, notes)


def _possible(retrievals: Sequence[Retrieval], parts: ComparisonParts) -> tuple[list[Retrieval], tuple[str, ...]]:
    """Return the ways to search that the configured models allow, and the reasons for leaving out the others."""
    left_out: dict[Retrieval, str] = {}
    if parts.chat_model is None:
        left_out["none"] = "Answers without context need a language model, and none is set."
    if parts.reranker is None:
        left_out["hybrid+rerank"] = "Reranking is left out, because LORE_RERANKER=none."
    possible = [retrieval for retrieval in retrievals if retrieval not in left_out]
    notes = tuple(left_out[retrieval] for retrieval in retrievals if retrieval in left_out)
    if not possible:
        raise ConfigurationError("There is nothing to compare.", remedy=" ".join(notes))
    return possible, notes


def _comparison(
    corpus: Corpus,
    questions: QuestionSet,
    located: LocatedSet,
    parts: ComparisonParts,
    built: Mapping[str, BuiltIndex],
    run: ComparisonRun,
    notes: Sequence[str],
) -> Comparison:
    settings, named = parts.settings, [pair.name for pair in run.scores]
    outcomes = tuple(
        QuestionOutcome(
            id=each.question.id,
            question=each.question.text,
            pages=tuple(each.relevance),
            searches={name: run.searches[name][each.question.id] for name in named if name in run.searches},
            answers={
                name: run.answered[name][each.question.id] for name in named if each.question.id in run.answered[name]
            },
        )
        for each in located.questions
    )
    return Comparison(
        corpus=corpus.name,
        question_set=questions.name,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        documents=len(corpus.documents),
        failed=corpus.failed,
        questions=len(located.questions),
        left_out=len(located.left_out),
        embedder=parts.embedder.name,
        reranker=parts.reranker.name if parts.reranker else "none",
        chat_model=parts.chat_model.name if parts.chat_model else "",
        alpha=settings.query.alpha,
        retrieve_limit=settings.query.retrieve_limit,
        rerank_limit=settings.query.rerank_limit,
        indexes=tuple(index.figures for index in built.values()),
        pairs=tuple(run.scores),
        outcomes=outcomes,
        notes=tuple(notes),
    )


def _stage_listener(listener: ProgressListener, what: str) -> Callable[[int, int], None]:
    return lambda done, total: listener(what, done, total)
