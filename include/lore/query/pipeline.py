"""The journey of a question: plan → hybrid search for each wording → dedup → rerank → join → answer → check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from lore.errors import ConfigurationError, LoreError, ModelError
from lore.protocols import ChatModel, Embedder, Index, Recorder, Reranker
from lore.query.answer.compose import Writing
from lore.query.budget import Budget
from lore.query.deadlines import within
from lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved
from lore.query.prompts import prompt_version
from lore.query.retrieve.dedup import dedup
from lore.query.retrieve.passages import Passage, join, read_pages, spare
from lore.query.retrieve.rerank import rerank
from lore.query.retrieve.search import retrieve
from lore.query.state import Run
from lore.query.understand.context import GlobalContext
from lore.query.understand.filters import SearchableSource, describe, fitting, narrowed
from lore.query.understand.plan import make_plan
from lore.types import Answer, Filters, Hit, Plan, Question

__all__ = ["Deadlines", "Pipeline"]

MAX_QUESTION_CHARACTERS = 10_000
PAGES_SHARE = 0.1
"""How much of the time of the search the pages of its passages may take: they only make a good answer better."""

DATED_DEPTH = 4
"""How many times as many passages are searched for where most of them may be left out for their date."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How many seconds each stage may take before the journey goes on without it, or with what it has."""

    plan: float = 30.0
    search: float = 30.0
    rerank: float = 15.0
    answer: float = 180.0


class Pipeline:
    """Answers questions over an index. It holds no state between questions and may be used by several threads.

    `context_tokens` is how much the chat model reads and writes in all; None: by its name. `context` is what the
    assistant knows of itself, and `sources` are those that a question may name.
    """

    def __init__(
        self,
        index: Index,
        embedder: Embedder,
        reranker: Reranker | None,
        chat_model: ChatModel | None,
        *,
        alpha: float,
        retrieve_limit: int,
        rerank_limit: int,
        recorder: Recorder | None = None,
        context_tokens: int | None = None,
        deadlines: Deadlines | None = None,
        context: GlobalContext | None = None,
        sources: Sequence[SearchableSource] = (),
        budget: Budget | None = None,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._reranker = reranker
        self._chat_model = chat_model
        self._alpha = alpha
        self._retrieve_limit = retrieve_limit
        self._rerank_limit = rerank_limit
        self._recorder = recorder
        self._deadlines = deadlines or Deadlines()
        self._context = context
        self._budget = budget
        self.sources = tuple(sources)
        self._make_plan = partial(make_plan, context=context, sources=self.sources)
        self._writing = Writing(chat_model, embedder, context_tokens=context_tokens, seconds=self._deadlines.answer)

    def search(self, question: Question) -> list[Hit]:
        """The passages for a question as it is written, best first and as they were indexed, without language model.

        Raises StoreError when the search fails.
        """
        question, _ = _validated(question)
        run = self._run(question, Plan(question.text, (question.text,)))
        with closing(run):
            self._retrieve(run)
            self._rerank(run, self._rerank_limit)
        return list(run.ranked)

    def passages(self, plan: Plan, question: Question) -> list[Hit]:
        """The passages that an answer would be written from, for a plan that is already made: best first.

        Raises StoreError when all of its searches fail.
        """
        run = self._run(question, plan)
        with closing(run):
            for _ in self._gather(run):
                pass
        return list(run.passages)

    def ask(self, question: Question, *, plan: Plan | None = None) -> Answer:
        """Answer a question, by a plan that is made already if one is given.

        Raises ConfigurationError when it is empty, StoreError when the index cannot be read.
        """
        answer: Answer | None = None
        for event in self.stream(question, plan=plan):
            if isinstance(event, Answered):
                answer = event.answer
        assert answer is not None  # noqa: S101  a stream ends with Answered or raises
        return answer

    def stream(self, question: Question, *, plan: Plan | None = None) -> Iterator[Event]:
        """What happens while a question is answered; the last event is Answered. Raises as `ask` does.

        The answer is recorded before that event, also one that found nothing or was written without the model that
        failed. The texts of all Delta events in a row are the answer's text.
        """
        question, notes = _validated(question)
        run = self._run(question, Plan(question.text, (question.text,)))
        run.version = run.index.version()
        run.notes.extend(notes)
        return self._stream(run, plan)

    def _run(self, question: Question, plan: Plan) -> Run:
        parts = {"embedder": self._embedder, "reranker": self._reranker, "chat": self._chat_model}
        models = {role: part.name for role, part in parts.items() if part is not None}
        purse = self._budget.open() if self._budget else None
        return Run(question, models, plan, self._index.snapshot(), purse=purse)

    def _stream(self, run: Run, plan: Plan | None) -> Iterator[Event]:
        with closing(run):
            yield from self._journey(run, plan)

    def _journey(self, run: Run, plan: Plan | None) -> Iterator[Event]:
        started = perf_counter()
        if plan is None:
            self._plan(run)
        else:
            run.plan = plan
        run.seconds["plan"] = perf_counter() - started
        yield Planned(run.plan)
        if run.plan.search or run.plan.from_context:
            yield from self._gather(run)
        answer_started = perf_counter()
        yield from self._deltas(run)
        if run.plan.from_context and not run.text:  # the model did not find the answer there
            run.plan = replace(run.plan, search=True, from_context=False)
            yield from self._gather(run)
            yield from self._deltas(run)
        run.seconds["answer"] = perf_counter() - answer_started
        run.seconds["total"] = perf_counter() - started
        answer = run.answer()
        if self._recorder:
            self._recorder.record(answer)
        yield Answered(answer)

    def _plan(self, run: Run) -> None:
        chat_model = self._chat_model
        if chat_model and (refusal := run.refusal("plan", chat_model.name)):
            run.notes.append(refusal)
            chat_model = None
        if chat_model:
            run.prompts["plan"] = prompt_version("plan")
        seconds = self._deadlines.plan
        late = ModelError(f"It took longer than {seconds:g} s.", remedy="Raise LORE_PLAN_SECONDS.")
        planning = partial(self._make_plan, run.question, chat_model, on_usage=run.on_usage("plan"))
        try:
            run.plan, notes = within(seconds, planning, late)
            run.notes.extend(notes)
        except ModelError as error:
            run.plan, notes = self._make_plan(run.question, None)
            run.notes.extend((f"The plan is the question itself, because planning failed: {error}", *notes))

    def _deltas(self, run: Run) -> Iterator[Delta]:
        for piece in self._writing.pieces(run):
            if piece:
                run.text.append(piece)
                yield Delta(piece)

    # ------------------------------------------------------------------------------------------------------- search

    def _gather(self, run: Run) -> Iterator[Event]:
        """Fill in the passages: the global context where the plan is to answer from it, else what a search finds."""
        if not run.plan.from_context:
            yield from self._find(run)
        elif self._context is None:  # a plan that was made when there was one
            run.plan = replace(run.plan, search=True, from_context=False)
            yield from self._find(run)
        else:
            line = None if self._chat_model else self._context.line_for(run.question.text)
            hit = line or self._context.passage
            run.sources = (Passage(hit, (hit,)),)
            yield Reranked(run.passages)

    def _find(self, run: Run) -> Iterator[Event]:
        started = perf_counter()
        counts = self._retrieve(run)
        run.seconds["retrieve"] = perf_counter() - started
        yield Retrieved(counts, len(run.candidates))
        started = perf_counter()
        self._rerank(run, spare(self._rerank_limit))
        run.seconds["rerank"] = perf_counter() - started
        started = perf_counter()
        run.sources = self._join(run)
        run.seconds["join"] = perf_counter() - started
        yield Reranked(run.passages)

    def _retrieve(self, run: Run) -> tuple[int, ...]:
        """Fill in the candidates; returns how many hits each wording had. Filters that leave nothing are let go."""
        filters = run.plan.filters
        counts = self._search(run, narrowed(run.question, filters), filters)
        if not run.candidates and filters != Filters():
            run.notes.append(f"Nothing was found {describe(filters)}, so everything was searched.")
            counts = self._search(run, run.question, Filters())
        return counts

    def _search(self, run: Run, question: Question, filters: Filters) -> tuple[int, ...]:
        retrieval = retrieve(
            run.index,
            self._embedder,
            run.plan.wordings,
            question,
            limit=self._retrieve_limit * (DATED_DEPTH if filters.updated_after or filters.updated_before else 1),
            alpha=self._alpha,
            seconds=self._deadlines.search,
        )
        run.notes.extend(retrieval.notes)
        results = [fitting(hits, filters) for hits in retrieval.results]
        run.candidates = tuple(dedup(results))
        counts = tuple(map(len, results))
        run.retrieved = sum(counts)
        return counts

    def _rerank(self, run: Run, limit: int) -> None:
        """Fill in the best `limit` candidates: in the order of the reranker, else in that of the search."""
        run.ranked = run.candidates[:limit]
        if self._reranker is None or not run.candidates:
            return
        refusal = run.refusal("rerank", self._reranker.name, len(run.candidates))
        seconds, on_usage = self._deadlines.rerank, run.on_usage("rerank")
        late = ModelError(f"It took longer than {seconds:g} s.", remedy="Raise LORE_RERANK_SECONDS.")
        arguments = (self._reranker, run.plan.question, run.candidates, limit)
        try:
            ranking = within(seconds, partial(rerank, *arguments, refusal=refusal, on_usage=on_usage), late)
        except ModelError as error:
            run.notes.append(f"The passages are in the order of the search; the reranker failed: {error}")
            return
        run.ranked = ranking.hits
        run.notes.extend(ranking.notes)
        if ranking.reranker:
            run.models = {**run.models, "reranker": ranking.reranker}

    def _join(self, run: Run) -> tuple[Passage, ...]:
        """The sources of the answer: neighbours joined where their pages can be read, else the passages as they are."""
        pages = {}
        try:
            seconds = self._deadlines.search * PAGES_SHARE
            pages = read_pages(run.index, run.ranked, run.question.audiences, seconds) if run.ranked else {}
        except LoreError as error:
            run.notes.append(f"Passages of one page were not joined, because it could not be read: {error}")
        return join(run.ranked, self._rerank_limit, pages)


def _validated(question: Question) -> tuple[Question, tuple[str, ...]]:
    text = question.text.strip()
    if not text:
        raise ConfigurationError("The question is empty.", remedy="Ask something in words.")
    if len(text) <= MAX_QUESTION_CHARACTERS:
        return replace(question, text=text), ()
    note = f"The question was cut to its first {MAX_QUESTION_CHARACTERS:,} characters."
    return replace(question, text=text[:MAX_QUESTION_CHARACTERS]), (note,)
