"""One question of an evaluation: searched, answered as people get it answered, and judged."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256
from time import perf_counter

from lore.errors import ConfigurationError, LoreError
from lore.evaluation.compare.index import total
from lore.evaluation.live.judge import Judge, Judgement
from lore.evaluation.live.results import QuestionResult
from lore.evaluation.metrics.page_scores import score_pages
from lore.evaluation.metrics.retrieval import Search
from lore.evaluation.questions.locate import LocatedQuestion
from lore.evaluation.questions.question_set import JudgedQuestion
from lore.query.events import Answered, Delta
from lore.query.pipeline import Pipeline
from lore.types import Answer, Check, Question

__all__ = ["QuestionRunner", "question_key"]


def question_key(question: JudgedQuestion) -> str:
    """Hash a question and how it is judged: results with the same key are comparable."""
    asked = [question.text, sorted(question.pages.items()), sorted(question.sources), sorted(question.audiences)]
    judged = [question.must_mention, question.reference, question.unanswerable]
    return sha256(json.dumps([asked, judged]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class QuestionRunner:
    """Asks questions. `search` is the pipeline's without its language model, and returns `limit` passages."""

    pipeline: Pipeline
    search: Search
    judge: Judge | None
    limit: int

    def ask(self, located: LocatedQuestion) -> QuestionResult:
        """Ask a question. Raises LoreError, naming the question, if the search fails: that is never a score of 0."""
        try:
            return self._ask(located)
        except ConfigurationError:
            raise
        except LoreError as error:
            raise type(error)(
                f"The question {located.question.text[:200]!r} couldn't be asked: {error.message}",
                remedy=error.remedy,
                retryable=error.retryable,
            ) from error

    def _ask(self, located: LocatedQuestion) -> QuestionResult:
        question = located.question
        started = perf_counter()
        hits = self.search(question.asked(), self.limit)
        search_seconds = perf_counter() - started
        wanted = {**{page: question.pages[page] for page in located.missing}, **located.relevance}
        pages = score_pages(hits, located, wanted)
        answer, first, seconds = _answered(self.pipeline, question.asked())
        judgement = self._judged(question, answer)
        written, judged = answer.trace.usage, judgement.usage
        cited = _pages((citation.document_id for citation in answer.citations), located)
        given = _pages((hit.chunk.document_id for hit in answer.trace.passages), located)
        there = not question.unanswerable
        return QuestionResult(
            key=question_key(question),
            id=question.id,
            question=question.text,
            pages=tuple(question.pages),
            unanswerable=question.unanswerable,
            reference=question.reference,
            found=answer.found,
            answer=answer.text,
            cited=tuple(cited),
            seconds=seconds,
            first_token_seconds=first,
            search_seconds=search_seconds,
            ndcg=pages.ndcg if there else None,
            recall=pages.recall if there else None,
            reciprocal_rank=pages.reciprocal_rank if there else None,
            rank=pages.rank,
            context_recall=_share(wanted, given) if there else None,
            citation_precision=_share(cited, wanted) if there and cited else None,
            citation_recall=_share(wanted, cited) if there else None,
            support=_support(answer.trace.check),
            mentions=question.mentioned_in(answer.text) if there else None,
            verdict=judgement.verdict,
            reason=judgement.reason,
            judge_failure=judgement.failure,
            calls=len(written) + len(judged),
            input_tokens=total([usage.input_tokens for usage in written]),
            output_tokens=total([usage.output_tokens for usage in written]),
            cost=total([usage.cost for usage in written]),
            judge_input_tokens=total([usage.input_tokens for usage in judged]),
            judge_output_tokens=total([usage.output_tokens for usage in judged]),
            judge_cost=total([usage.cost for usage in judged]),
            notes=answer.trace.notes,
        )

    def _judged(self, question: JudgedQuestion, answer: Answer) -> Judgement:
        if self.judge is None or not question.reference:
            return Judgement(None)
        if not answer.found:
            return Judgement("no answer", "Lore answered that it found nothing.")
        return self.judge.judge(question.text, question.reference, answer.text)


def _answered(pipeline: Pipeline, question: Question) -> tuple[Answer, float, float]:
    """Return the answer, the seconds until its first piece, and until its end."""
    started = perf_counter()
    first: float | None = None
    answer: Answer | None = None
    for event in pipeline.stream(question):
        if isinstance(event, Delta) and first is None:
            first = perf_counter() - started
        elif isinstance(event, Answered):
            answer = event.answer
    seconds = perf_counter() - started
    assert answer is not None  # noqa: S101  a stream ends with Answered or raises
    return answer, seconds if first is None else first, seconds


def _pages(documents: Iterable[str], located: LocatedQuestion) -> list[str]:
    """Return the pages that these documents are, without repetition."""
    return list(dict.fromkeys(located.same_page.get(document, document) for document in documents))


def _share(of: Collection[str], among: Collection[str]) -> float:
    return len(set(of) & set(among)) / len(set(of))


def _support(check: Check) -> float | None:
    """Return the share of supported statements; None if nothing was stated, or everything is a verbatim quotation."""
    stated = check.cited + check.uncited
    return check.supported / stated if stated else None
