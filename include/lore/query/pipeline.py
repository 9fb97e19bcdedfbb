"""The journey of a question: plan → search for each wording → dedup → rerank → join → answer → check → verify."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

from lore.errors import ConfigurationError, LoreError, ModelError
from lore.protocols import ChatModel, Embedder, Index, Recorder, Reranker
from lore.query.answer.compose import AnswerComposer
from lore.query.answer.llm import AnswerWriter
from lore.query.answer.result import finished_answer
from lore.query.answer.verification import Verifier
from lore.query.budget import Budget
from lore.query.deadlines import Deadlines
from lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved, Verified
from lore.query.model_watch import ModelWatch, OnModelChange
from lore.query.prompts import prompt_version
from lore.query.retrieve.dedup import dedup
from lore.query.retrieve.passages import SourcePassage, join_neighbours, read_pages, rerank_depth
from lore.query.retrieve.rerank import rerank
from lore.query.retrieve.search import retrieve
from lore.query.state import QuestionState
from lore.query.understand.context import GlobalContext
from lore.query.understand.filters import SearchableSource, describe_filters, filter_by_date, narrow_question
from lore.query.understand.plan import make_plan
from lore.query.understand.spelling import correct_spelling
from lore.types import Answer, Filters, Hit, Plan, Question

__all__ = ["Pipeline", "PipelineModels", "PipelineSettings"]

MAX_QUESTION_CHARACTERS = 10_000
PAGES_SHARE = 0.1
"""The share of the search's time for reading pages, which only improve a good answer."""
DATED_DEPTH = 4
"""Factor on the number of passages searched for if a date filter may leave out most of them."""


@dataclass(frozen=True, slots=True)
class PipelineModels:
    """The models of a pipeline. Without a chat model rules plan, and answers quote passages.

    `context_tokens` is the size of the chat model's context; None derives it from the model's name.
    """

    embedder: Embedder
    reranker: Reranker | None = None
    chat: ChatModel | None = None
    context_tokens: int | None = None
    verifier: ChatModel | None = None
    """The model that verifies what `chat` wrote; None leaves it to the check by words and meaning."""


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """Parameters of a pipeline: weight of the vector ranking (0 to 1), hits for each wording, sources of an answer."""

    alpha: float
    retrieve_limit: int
    rerank_limit: int
    deadlines: Deadlines = field(default_factory=Deadlines)


class Pipeline:
    """Answers questions over an index. It keeps no state between questions, and is thread-safe.

    `context` is the assistant's global context, and `sources` are those that a question may name.
    """

    def __init__(
        self,
        index: Index,
        models: PipelineModels,
        settings: PipelineSettings,
        *,
        context: GlobalContext | None = None,
        sources: Sequence[SearchableSource] = (),
        budget: Budget | None = None,
        recorder: Recorder | None = None,
        on_model_change: OnModelChange = lambda _: None,
    ) -> None:
        self._watch = ModelWatch(on_model_change)
        self._index = index
        self._models = models
        self._settings = settings
        self._context = context
        self._budget = budget
        self._recorder = recorder
        self.sources = tuple(sources)
        self._make_plan = partial(make_plan, context=context, sources=self.sources)
        writer = None
        if models.chat:
            time = settings.deadlines.limit("answer")
            writer = AnswerWriter(models.chat, context_tokens=models.context_tokens, time=time)
        verifier = None
        if models.verifier:
            tokens = models.context_tokens if models.verifier is models.chat else None
            verifier = Verifier(models.verifier, context_tokens=tokens, time=settings.deadlines.limit("verify"))
        self._composer = AnswerComposer(writer, models.embedder, verifier)

    def search(self, question: Question | str, limit: int | None = None) -> list[Hit]:
        """Return the best `limit` passages for a question as it is written, best first, without a language model.

        The default is the number that an answer is written from. Raises ConfigurationError for an empty question,
        StoreError if the search fails.
        """
        question, _ = _validated(question)
        state = self._state(question, Plan(question.text, (question.text,)))
        with closing(state):
            self._retrieve(state)
            self._rerank(state, limit or self._settings.rerank_limit)
        return list(state.ranked)

    def passages(self, plan: Plan, question: Question) -> list[Hit]:
        """Return the passages that an answer would be written from, for a finished plan, best first.

        Raises StoreError if all of its searches fail.
        """
        state = self._state(question, plan)
        with closing(state):
            for _ in self._gather(state):
                pass
        return list(state.passages)

    def ask(self, question: Question | str, *, plan: Plan | None = None) -> Answer:
        """Answer a question, by a finished plan if one is given.

        Raises ConfigurationError for an empty question, StoreError if the index can't be read.
        """
        answer: Answer | None = None
        for event in self.stream(question, plan=plan):
            if isinstance(event, Answered):
                answer = event.answer
        assert answer is not None  # noqa: S101  a stream ends with Answered or raises
        return answer

    def stream(self, question: Question | str, *, plan: Plan | None = None) -> Iterator[Event]:
        """Answer a question and yield the events of its journey, the last one Answered. Raises as `ask` does.

        Every answer is recorded before that event, also one that found nothing or lacks the model that failed. The
        texts of all Delta events, joined, are the answer's text, unless Verified brings a corrected one.
        """
        question, notes = _validated(question)
        state = self._state(question, Plan(question.text, (question.text,)))
        state.version = state.index.version()
        state.notes.extend(notes)
        return self._stream(state, plan)

    def _state(self, question: Question, plan: Plan) -> QuestionState:
        models = self._models
        parts = {"embedder": models.embedder, "reranker": models.reranker, "chat": models.chat}
        parts |= {"verifier": models.verifier} if models.verifier is not models.chat else {}
        names = {role: part.name for role, part in parts.items() if part is not None}
        budget = self._budget.open_question() if self._budget else None
        return QuestionState(question, names, plan, self._index.snapshot(), budget=budget)

    def _stream(self, state: QuestionState, plan: Plan | None) -> Iterator[Event]:
        with closing(state):
            yield from self._journey(state, plan)

    def _journey(self, state: QuestionState, plan: Plan | None) -> Iterator[Event]:
        started = perf_counter()
        if plan is None:
            self._plan(state)
        else:
            state.plan = plan
        state.seconds["plan"] = perf_counter() - started
        yield Planned(state.plan)
        if state.plan.search or state.plan.from_context:
            yield from self._gather(state)
        answer_started = perf_counter()
        yield from self._deltas(state)
        if state.plan.from_context and not state.text:  # the model found no answer in the context
            state.plan = replace(state.plan, search=True, from_context=False)
            yield from self._gather(state)
            yield from self._deltas(state)
        state.seconds["answer"] = perf_counter() - answer_started
        yield from self._verify(state)
        state.seconds["total"] = perf_counter() - started
        self._watch.note(state.failures, called=bool(state.prompts))
        answer = finished_answer(state)
        if self._recorder:
            self._recorder.record(answer)
        yield Answered(answer)

    def _plan(self, state: QuestionState) -> None:
        chat_model = self._models.chat
        if chat_model and (refusal := state.refusal("plan", chat_model.name)):
            state.notes.append(refusal)
            chat_model = None
        if chat_model:
            state.prompts["plan"] = prompt_version("plan")
        planning = partial(self._make_plan, state.question, chat_model, on_usage=state.on_usage("plan"))
        try:
            planned = self._settings.deadlines.limit("plan").call(planning, "It")
        except ModelError as error:
            planned = self._make_plan(state.question, None)
            state.model_failed("The plan is the question itself, because planning failed", error)
        state.plan, state.ignored = planned.plan, planned.ignored
        state.notes.extend(planned.notes)
        state.failures.extend([planned.failure] if planned.failure else [])

    def _deltas(self, state: QuestionState) -> Iterator[Delta]:
        for piece in self._composer.pieces(state):
            if piece:
                state.text.append(piece)
                yield Delta(piece)

    def _verify(self, state: QuestionState) -> Iterator[Verified]:
        started = perf_counter()
        shown = "".join(state.text)
        if self._composer.verify(state):
            state.seconds["verify"] = perf_counter() - started
            text = "".join(state.text)
            yield Verified(text, corrected=text != shown)

    # ------------------------------------------------------------------------------------------------------- search

    def _gather(self, state: QuestionState) -> Iterator[Event]:
        """Set the sources: the global context if the plan chose it, else the passages that a search finds."""
        if not state.plan.from_context:
            yield from self._find(state)
        elif self._context is None:  # the plan is from a time with a context
            state.plan = replace(state.plan, search=True, from_context=False)
            yield from self._find(state)
        else:
            line = None if self._models.chat else self._context.line_for(state.question.text)
            hit = line or self._context.passage
            state.sources = (SourcePassage(hit, (hit,)),)
            yield Reranked(state.passages)

    def _find(self, state: QuestionState) -> Iterator[Event]:
        started = perf_counter()
        counts = self._retrieve(state)
        if not self._models.chat and self._correct_spelling(state):
            counts = self._retrieve(state)
        state.seconds["retrieve"] = perf_counter() - started
        yield Retrieved(counts, len(state.candidates))
        started = perf_counter()
        self._rerank(state, rerank_depth(self._settings.rerank_limit))
        state.seconds["rerank"] = perf_counter() - started
        started = perf_counter()
        state.sources = self._join(state)
        state.seconds["join"] = perf_counter() - started
        yield Reranked(state.passages)

    def _retrieve(self, state: QuestionState) -> tuple[int, ...]:
        """Set the candidates, and return the number of hits of each wording. Filters without a result are dropped."""
        filters = state.plan.filters
        counts = self._search(state, narrow_question(state.question, filters), filters)
        if not state.candidates and filters != Filters():
            state.notes.append(f"Nothing was found {describe_filters(filters)}, so everything was searched.")
            counts = self._search(state, state.question, Filters())
        return counts

    def _correct_spelling(self, state: QuestionState) -> bool:
        """Correct the plan's question by the words of its candidates; return True if it changed."""
        corrected = correct_spelling(state.plan.question, state.candidates)
        if corrected == state.plan.question:
            return False
        state.notes.append(f"Searched for: {corrected}")
        state.plan = replace(state.plan, question=corrected, wordings=(corrected, *state.plan.wordings))
        return True

    def _search(self, state: QuestionState, question: Question, filters: Filters) -> tuple[int, ...]:
        is_dated = filters.updated_after or filters.updated_before
        retrieval = retrieve(
            state.index,
            self._models.embedder,
            state.plan.wordings,
            question,
            limit=self._settings.retrieve_limit * (DATED_DEPTH if is_dated else 1),
            alpha=self._settings.alpha,
            time=self._settings.deadlines.limit("search"),
        )
        state.notes.extend(retrieval.notes)
        results = [filter_by_date(hits, filters) for hits in retrieval.results]
        state.candidates = tuple(dedup(results))
        counts = tuple(map(len, results))
        state.retrieved = sum(counts)
        return counts

    def _rerank(self, state: QuestionState, limit: int) -> None:
        """Set the best `limit` candidates."""
        reranker, candidates = self._models.reranker, state.candidates
        refusal = state.refusal("rerank", reranker.name, len(candidates)) if reranker and candidates else ""
        ranking = rerank(
            reranker,
            state.plan.question,
            candidates,
            limit,
            time=self._settings.deadlines.limit("rerank"),
            refusal=refusal,
            on_usage=state.on_usage("rerank"),
        )
        state.ranked = ranking.hits
        state.notes.extend(ranking.notes)
        if ranking.reranker:
            state.models = {**state.models, "reranker": ranking.reranker}

    def _join(self, state: QuestionState) -> tuple[SourcePassage, ...]:
        """Return the sources of the answer, joined where their pages can be read."""
        pages = {}
        time = self._settings.deadlines.limit("search").share(PAGES_SHARE)
        try:
            pages = read_pages(state.index, state.ranked, state.question.audiences, time) if state.ranked else {}
        except LoreError as error:
            state.notes.append(f"Passages of one page weren't joined, because it couldn't be read: {error}")
        return join_neighbours(state.ranked, self._settings.rerank_limit, pages)


def _validated(question: Question | str) -> tuple[Question, tuple[str, ...]]:
    """Return the question with its text stripped and cut, and notes on that."""
    question = Question(question) if isinstance(question, str) else question
    text = question.text.strip()
    if not text:
        raise ConfigurationError("The question is empty.", remedy="Ask something in words.")
    if len(text) <= MAX_QUESTION_CHARACTERS:
        return replace(question, text=text), ()
    note = f"The question was cut to its first {MAX_QUESTION_CHARACTERS:,} characters."
    return replace(question, text=text[:MAX_QUESTION_CHARACTERS]), (note,)
