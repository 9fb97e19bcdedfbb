"""The journey of a question: plan → hybrid search for each wording → dedup → rerank → answer → check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from uuid import uuid4

from include.lore.errors import ConfigurationError, ModelError
from include.lore.protocols import ChatModel, Embedder, Index, OnUsage, Recorder, Reranker
from include.lore.query import answer as answering
from include.lore.query.citations import AnswerCheck, citations_of
from include.lore.query.dedup import dedup
from include.lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved
from include.lore.query.plan import make_plan
from include.lore.query.prompts import prompt_version
from include.lore.query.quotes import cite
from include.lore.query.relevance import irrelevant
from include.lore.query.retrieve import retrieve
from include.lore.types import Answer, Check, Citation, Hit, Plan, Question, Ranked, Trace, Usage

__all__ = ["Pipeline"]

MAX_QUESTION_CHARACTERS = 10_000
NEAREST_PAGES = 3


class Pipeline:
    """Answers questions over an index. It holds no state between questions and may be used by several threads."""

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
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._reranker = reranker
        self._chat_model = chat_model
        self._alpha = alpha
        self._retrieve_limit = retrieve_limit
        self._rerank_limit = rerank_limit
        self._recorder = recorder

    def search(self, question: Question) -> list[Hit]:
        """The passages for a question as it is written, best first, without any language model."""
        question, _ = _validated(question)
        return self.passages(Plan(question.text, (question.text,)), question)

    def passages(self, plan: Plan, question: Question) -> list[Hit]:
        """The passages that an answer would be written from, for a plan that is already made: best first.

        Raises StoreError when a search fails and ModelError when the embedder does; a reranker that fails is done
        without.
        """
        run = _Run(question, self._models(), plan, self._index.snapshot())
        for _ in self._find(run):
            pass
        return list(run.passages)

    def ask(self, question: Question) -> Answer:
        """Answer a question. Raises ConfigurationError when it is empty, StoreError, and ModelError of the embedder."""
        answer: Answer | None = None
        for event in self.stream(question):
            if isinstance(event, Answered):
                answer = event.answer
        assert answer is not None  # noqa: S101  a stream ends with Answered or raises
        return answer

    def stream(self, question: Question) -> Iterator[Event]:
        """What happens while a question is answered; the last event is Answered. Raises as `ask` does.

        The answer is recorded before that event, also one that found nothing or was written without the model that
        failed. The texts of all Delta events in a row are the answer's text.
        """
        question, notes = _validated(question)
        plan = Plan(question.text, (question.text,))
        index = self._index.snapshot()
        return self._stream(_Run(question, self._models(), plan, index, list(notes), version=index.version()))

    def _stream(self, run: _Run) -> Iterator[Event]:
        started = perf_counter()
        if self._chat_model:
            run.prompts["plan"] = prompt_version("plan")
        run.plan, notes = make_plan(run.question, self._chat_model, on_usage=run.on_usage("plan"))
        run.notes.extend(notes)
        run.seconds["plan"] = perf_counter() - started
        yield Planned(run.plan)
        if run.plan.search:
            yield from self._find(run)
        answer_started = perf_counter()
        for piece in self._answer(run):
            if piece:
                run.text.append(piece)
                yield Delta(piece)
        run.seconds["answer"] = perf_counter() - answer_started
        run.seconds["total"] = perf_counter() - started
        answer = run.answer()
        if self._recorder:
            self._recorder.record(answer)
        yield Answered(answer)

    def _find(self, run: _Run) -> Iterator[Event]:
        started = perf_counter()
        results = retrieve(
            run.index,
            self._embedder,
            run.plan.wordings,
            run.question,
            limit=self._retrieve_limit,
            alpha=self._alpha,
        )
        candidates = dedup(results)
        run.retrieved, run.candidates = sum(map(len, results)), len(candidates)
        run.seconds["retrieve"] = perf_counter() - started
        yield Retrieved(tuple(map(len, results)), len(candidates))
        started = perf_counter()
        run.passages = tuple(self._rerank(run, candidates))
        run.ranking = _ranking(candidates, run.passages)
        run.seconds["rerank"] = perf_counter() - started
        yield Reranked(run.passages)

    def _rerank(self, run: _Run, candidates: Sequence[Hit]) -> Sequence[Hit]:
        if self._reranker and candidates:
            try:
                ranked = self._reranker.rerank(run.plan.question, candidates, self._rerank_limit)
                if ranked:
                    return ranked[: self._rerank_limit]
                reason = "It gave no passages."
            except ModelError as error:
                reason = str(error)
            run.notes.append(f"The passages are in the order of the search; the reranker failed: {reason}")
        return candidates[: self._rerank_limit]

    # ----------------------------------------------------------------------------------------------------- answer

    def _answer(self, run: _Run) -> Iterator[str]:
        """The checked pieces of the answer; what else there is to say about it goes into the run."""
        if not run.plan.search and self._chat_model:
            yield from self._small_talk(run, self._chat_model)
        elif not run.passages and run.index.count().chunks == 0:
            yield from _not_found(run, answering.EMPTY_INDEX)
        elif irrelevant(run.plan.question, run.passages):
            run.notes.append("Nothing that was found has to do with the question.")
            yield from _not_found(run, answering.NOTHING_FOUND)
        elif self._chat_model:
            yield from self._write(run, self._chat_model)
        else:
            yield f"{answering.NO_MODEL}\n\n"
            yield from _quote(run)

    def _small_talk(self, run: _Run, chat_model: ChatModel) -> Iterator[str]:
        check = AnswerCheck(())
        run.prompts["small_talk"] = prompt_version("small_talk")
        try:
            for piece in answering.small_talk(chat_model, run.plan.question, on_usage=run.on_usage("answer")):
                yield check.feed(piece)
        except ModelError as error:
            run.notes.append(f"The language model failed: {error}")
            yield check.finish() or "Ask me something, and I will look it up."
        else:
            yield check.finish()
        run.check = check.result

    def _write(self, run: _Run, chat_model: ChatModel) -> Iterator[str]:
        check = AnswerCheck(run.passages)
        run.prompts["answer"] = prompt_version("answer")
        try:
            pieces = answering.written_answer(
                chat_model, run.plan.question, run.passages, on_usage=run.on_usage("answer")
            )
            if pieces is None:
                run.notes.append("The language model found no answer in the passages.")
                yield from _not_found(run, answering.NOTHING_FOUND)
                return
            for piece in pieces:
                yield check.feed(piece)
            rest = check.finish()
            if not "".join([*run.text, rest]).strip():
                raise ModelError("Nothing that may be shown came from it.")
        except ModelError as error:
            run.notes.append(f"The answer quotes the passages, because the language model failed: {error}")
            yield check.finish()
            lead = "*The language model failed here" if run.text else "*The language model failed"
            yield ("\n\n" if run.text else "") + f"{lead}, so these are the best passages, word for word.*\n\n"
            run.check = check.result
            yield from _quote(run)
            return
        run.check = check.result
        if run.check.kept_citations:
            yield rest
        else:
            yield from _uncited(run, rest)

    def _models(self) -> dict[str, str]:
        parts = {"embedder": self._embedder, "reranker": self._reranker, "chat": self._chat_model}
        return {role: part.name for role, part in parts.items() if part is not None}


@dataclass
class _Run:
    """What is known of one question so far; all of its searches are of one version of the `index`."""

    question: Question
    models: Mapping[str, str]
    plan: Plan
    index: Index
    notes: list[str] = field(default_factory=list)
    retrieved: int = 0
    candidates: int = 0
    passages: tuple[Hit, ...] = ()
    ranking: tuple[Ranked, ...] = ()
    prompts: dict[str, str] = field(default_factory=dict)
    usage: list[Usage] = field(default_factory=list)
    version: int | None = None
    text: list[str] = field(default_factory=list)
    check: Check = field(default_factory=Check)
    found: bool = True
    nearest: tuple[Citation, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    def on_usage(self, stage: str) -> OnUsage:
        """What a model of this stage tells its usage to."""
        return partial(self._used, stage)

    def _used(self, stage: str, usage: Usage) -> None:
        self.usage.append(replace(usage, stage=stage))

    def answer(self) -> Answer:
        text = "".join(self.text)
        trace = Trace(
            plan=self.plan,
            retrieved=self.retrieved,
            candidates=self.candidates,
            passages=self.passages,
            ranking=self.ranking,
            check=self.check,
            models=self.models,
            prompts=self.prompts,
            usage=tuple(self.usage),
            seconds=self.seconds,
            notes=tuple(self.notes),
            version=self.version,
        )
        citations = citations_of(text, self.passages, self.check.kept_citations, self.plan.question)
        return Answer(self.question, text, citations, self.found, trace, self.nearest, uuid4().hex)


def _ranking(candidates: Sequence[Hit], passages: Sequence[Hit]) -> tuple[Ranked, ...]:
    reranked = {hit.chunk.id: place for place, hit in enumerate(passages, start=1)}
    return tuple(
        Ranked(hit.chunk.id, hit.chunk.document_id, hit.chunk.title, place, reranked.get(hit.chunk.id), hit.score)
        for place, hit in enumerate(candidates, start=1)
    )


def _validated(question: Question) -> tuple[Question, tuple[str, ...]]:
    text = question.text.strip()
    if not text:
        raise ConfigurationError("The question is empty.", remedy="Ask something in words.")
    if len(text) <= MAX_QUESTION_CHARACTERS:
        return replace(question, text=text), ()
    note = f"The question was cut to its first {MAX_QUESTION_CHARACTERS:,} characters."
    return replace(question, text=text[:MAX_QUESTION_CHARACTERS]), (note,)


def _not_found(run: _Run, sentence: str) -> Iterator[str]:
    run.found = False
    run.nearest = _nearest(run)
    yield sentence


def _uncited(run: _Run, rest: str) -> Iterator[str]:
    """The end of an answer without citations: a warning, or "not found" where the model ends with that verdict."""
    verdict = answering.late_verdict("".join([*run.text, rest]))
    if verdict:
        run.notes.append("The language model found no answer in the passages.")
        yield rest[: max(0, len(rest) - len(verdict[0]))].rstrip()
        yield "\n\n"
        yield from _not_found(run, answering.NOTHING_FOUND)
        return
    yield rest
    run.notes.append("The answer cites no source.")
    run.nearest = _nearest(run)
    yield f"\n\n{answering.UNCITED}"


def _quote(run: _Run) -> Iterator[str]:
    numbers = answering.worth_quoting(run.plan.question, run.passages)
    run.check = replace(run.check, kept_citations=tuple(sorted({*run.check.kept_citations, *numbers})))
    yield answering.quoted_answer(run.plan.question, run.passages, numbers)


def _nearest(run: _Run) -> tuple[Citation, ...]:
    """The closest pages, each once."""
    pages: dict[str, Hit] = {}
    for hit in run.passages:
        pages.setdefault(hit.chunk.document_id, hit)
    nearest = list(pages.values())[:NEAREST_PAGES]
    return tuple(cite(number, hit, run.plan.question) for number, hit in enumerate(nearest, start=1))
