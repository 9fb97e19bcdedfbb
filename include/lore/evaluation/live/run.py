"""The live index evaluated on a team's questions, as people ask them: searched, answered, judged, measured.

The evaluation reads one version of the index through the pipeline of the settings, and records nothing. An interrupted
run loses one question at most: `EvaluationJournal` keeps the others, and the same run resumes from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from lore.evaluation.live.changes import changes_between
from lore.evaluation.live.figures import costs_of, figures_of, timings_of
from lore.evaluation.live.files import EvaluationJournal, last_run
from lore.evaluation.live.judge import Judge, judge_prompt_version
from lore.evaluation.live.question import QuestionRunner, question_key
from lore.evaluation.live.results import Assessment, QuestionResult, Setup
from lore.evaluation.metrics.retrieval import pipeline_search
from lore.evaluation.questions.locate import LocatedQuestion, locate
from lore.evaluation.questions.question_set import QuestionSet
from lore.protocols import Embedder, Index, Store
from lore.query.prompts import prompt_version
from lore.settings import Settings
from lore.wiring.models import make_chat_model, make_judge_model, make_reranker
from lore.wiring.query import make_pipeline

__all__ = ["EvaluatedIndex", "assess", "open_evaluated"]

Listener: TypeAlias = Callable[[int, int], None]
MOST_NOTES = 5


@dataclass(frozen=True, slots=True)
class EvaluatedIndex:
    """The evaluated parts: an index at one version, the pipeline that asks it, and all settings that the figures depend
    on.
    """

    index: Index
    asker: QuestionRunner
    setup: Setup


def open_evaluated(settings: Settings, store: Store, embedder: Embedder, question_set: str) -> EvaluatedIndex:
    """Open the live index with the pipeline and the judge of the settings. No model is called yet."""
    index = store.snapshot()
    reranker = make_reranker(settings, embedder)
    chat_model = make_chat_model(settings)
    judge_model = make_judge_model(settings)
    judge = Judge(judge_model) if judge_model else None
    prompts = {"judge": judge_prompt_version()} if judge else {}
    if chat_model:
        prompts |= {name: prompt_version(name) for name in ("plan", "answer")}
    setup = Setup(
        question_set=question_set,
        version=index.version(),
        embedder=embedder.name,
        reranker=reranker.name if reranker else "none",
        chat_model=chat_model.name if chat_model else "",
        judge_model=judge.name if judge else "",
        alpha=settings.query.alpha,
        retrieve_limit=settings.query.retrieve_limit,
        rerank_limit=settings.query.rerank_limit,
        prompts=prompts,
        synced={id_: state.synced_at.isoformat() for id_, state in store.states().items() if state.synced_at},
    )
    search = pipeline_search(index, embedder, reranker, alpha=settings.query.alpha)
    pipeline = make_pipeline(settings, index=index, embedder=embedder)
    return EvaluatedIndex(index, QuestionRunner(pipeline, search, judge, settings.query.retrieve_limit), setup)


def assess(
    questions: QuestionSet,
    evaluated: EvaluatedIndex,
    folder: Path,
    *,
    resume: bool = True,
    on_resume: Callable[[int], None] = lambda done: None,
    listener: Listener = lambda done, total: None,
) -> Assessment:
    """Ask every question, and compare with the last run of the set in `folder`.

    Resumes an interrupted run unless `resume` is False; `on_resume` gets the number of questions already done. The
    journal stays until the caller has saved the evaluation: `EvaluationJournal(folder, setup).remove()`. Raises
    ConfigurationError for questions that can't judge this index, StoreError and other LoreErrors if it can't be asked.
    """
    located, missing = _located(questions, evaluated.index)
    journal = EvaluationJournal(folder, evaluated.setup)
    if not resume:
        journal.remove()
    done = journal.done()
    kept = [done[key] for one in located if (key := question_key(one.question)) in done]
    if kept:
        on_resume(len(kept))
    results = tuple(_results(located, done, journal, evaluated.asker, listener))
    before = last_run(folder, questions.name, [result.key for result in results])
    return Assessment(
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        setup=evaluated.setup,
        results=results,
        figures=figures_of(results),
        timings=timings_of(results),
        costs=costs_of(results),
        notes=tuple(_notes(questions, missing, evaluated.setup, results)),
        changes=changes_between(before, evaluated.setup, results) if before else None,
    )


def _located(questions: QuestionSet, index: Index) -> tuple[list[LocatedQuestion], tuple[str, ...]]:
    """Return all questions in order, and the pages that the index lacks, which count as not found."""
    answerable = any(not question.unanswerable for question in questions.questions)
    found = locate(questions, index.documents(), minimum=1 if answerable else 0)
    by_id = {one.question.id: one for one in found.questions}
    everything = [
        by_id.get(question.id) or LocatedQuestion(question, {}, missing=tuple(question.pages))
        for question in questions.questions
    ]
    return everything, found.missing_pages


def _results(
    located: Sequence[LocatedQuestion],
    done: Mapping[str, QuestionResult],
    journal: EvaluationJournal,
    asker: QuestionRunner,
    listener: Listener,
) -> Iterator[QuestionResult]:
    cold = True
    for number, one in enumerate(located, start=1):
        result = done.get(question_key(one.question))
        if result is None:
            result = replace(asker.ask(one), cold=cold)
            cold = False
            journal.add(result)
        listener(number, len(located))
        yield replace(result, id=one.question.id)


def _notes(
    questions: QuestionSet, missing: Sequence[str], setup: Setup, results: Sequence[QuestionResult]
) -> Iterator[str]:
    if not setup.chat_model:
        yield "No language model is set: answers quote passages word for word."
    yield from _about_judging(questions, setup, results)
    if not any(result.unanswerable for result in results):
        yield "No question is marked `unanswerable`, so abstention isn't measured."
    if questions.drafts:
        yield f"Drafts left out until somebody accepts them: {questions.drafts:,}."
    if missing:
        named = ", ".join(page[:100] for page in missing[:MOST_NOTES])
        yield f"Pages that the index lacks count as not found: {len(missing):,} ({named})."
    unpriced = sum(result.cost is None or result.judge_cost is None for result in results)
    if unpriced:
        yield f"Questions of unknown cost (a model reported no tokens or has no price): {unpriced:,}."
    notes = Counter(note for result in results if result.found for note in set(result.notes))
    for note, count in notes.most_common(MOST_NOTES):
        yield f"Said of {count:,} answer{'' if count == 1 else 's'}: {note}"


def _about_judging(questions: QuestionSet, setup: Setup, results: Sequence[QuestionResult]) -> Iterator[str]:
    """Yield the reasons for missing verdicts, in general or for some answers."""
    with_reference = sum(bool(question.reference) for question in questions.questions)
    if not setup.judge_model:
        yield "Correctness needs a language model as a judge: set LORE_JUDGE_MODEL or LORE_CHAT_MODEL."
    elif not with_reference:
        yield "No question has a `reference` answer, so correctness isn't measured."
    failed = [result for result in results if result.judge_failure]
    if failed:
        named = ", ".join(result.id for result in failed[:MOST_NOTES])
        why = failed[0].judge_failure
        yield f"Answers without a verdict because the judge failed: {len(failed):,} ({named}). {why}"
