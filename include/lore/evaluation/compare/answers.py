"""Answers for a comparison: from the query pipeline over each index, and from the model alone without context."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from statistics import fmean
from time import perf_counter
from typing import TypeVar

from lore.errors import ModelError
from lore.evaluation.compare.index import total
from lore.evaluation.compare.results import AnswerFigures, AnswerOutcome
from lore.evaluation.questions.locate import LocatedQuestion
from lore.prompts import read_prompt
from lore.protocols import ChatModel, OnUsage
from lore.query.pipeline import Pipeline
from lore.types import Message, Usage

__all__ = ["PlanOnce", "answer_alone", "answer_from", "figures_of"]

Schema = TypeVar("Schema")
LONGEST_ANSWER = 20_000


class PlanOnce:
    """A chat model that plans each question once, however many ways of searching follow.

    All of them then search with the same wordings, and a plan is paid for once. Answers are written each time.
    """

    def __init__(self, chat_model: ChatModel) -> None:
        self.name = chat_model.name
        self._chat_model = chat_model
        self._replies: dict[tuple[tuple[Message, ...], type], object] = {}
        self._lock = threading.Lock()

    def structured(
        self, messages: Sequence[Message], schema: type[Schema], *, on_usage: OnUsage | None = None
    ) -> Schema:
        """See `ChatModel.structured`; a repeated request gets the earlier reply."""
        key = (tuple(messages), schema)
        with self._lock:
            if key not in self._replies:
                self._replies[key] = self._chat_model.structured(messages, schema, on_usage=on_usage)
            reply = self._replies[key]
        assert isinstance(reply, schema)  # noqa: S101  the key holds the schema
        return reply

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        """See `ChatModel.stream`."""
        return self._chat_model.stream(messages, on_usage=on_usage)


def answer_from(pipeline: Pipeline, question: LocatedQuestion) -> AnswerOutcome:
    """Return the pipeline's answer. Raises what `Pipeline.ask` raises."""
    started = perf_counter()
    answer = pipeline.ask(question.question.asked())
    written = [usage for usage in answer.trace.usage if usage.stage == "answer"]
    cited = {citation.document_id for citation in answer.citations}
    return AnswerOutcome(
        text=answer.text,
        found=answer.found,
        cites_page=any(question.same_page.get(page, page) in question.relevance for page in cited),
        mentions=question.question.mentioned_in(answer.text),
        input_tokens=total([usage.input_tokens for usage in written]) if written else None,
        output_tokens=total([usage.output_tokens for usage in written]) if written else None,
        cost=total([usage.cost for usage in written]) if written else None,
        seconds=perf_counter() - started,
        notes=answer.trace.notes,
    )


def answer_alone(chat_model: ChatModel, question: LocatedQuestion) -> AnswerOutcome:
    """Return the model's answer without any document; an answer is empty if the model fails."""
    started = perf_counter()
    prompt = read_prompt("lore.evaluation.prompts", "no_context")
    usage: list[Usage] = []
    text, notes = "", tuple[str, ...]()
    try:
        messages = [Message("system", prompt), Message("user", question.question.text)]
        for piece in chat_model.stream(messages, on_usage=usage.append):
            text += piece
            if len(text) > LONGEST_ANSWER:
                break
    except ModelError as error:
        notes = (f"The language model failed: {error}",)
    return AnswerOutcome(
        text=text.strip(),
        found=bool(text.strip()),
        cites_page=None,
        mentions=question.question.mentioned_in(text),
        input_tokens=total([each.input_tokens for each in usage]) if usage else None,
        output_tokens=total([each.output_tokens for each in usage]) if usage else None,
        cost=total([each.cost for each in usage]) if usage else None,
        seconds=perf_counter() - started,
        notes=notes,
    )


def figures_of(answers: Sequence[AnswerOutcome]) -> AnswerFigures | None:
    """Return the means over the answers, None if there are none."""
    if not answers:
        return None
    return AnswerFigures(
        questions=len(answers),
        found=fmean(answer.found for answer in answers),
        cites_page=_mean([answer.cites_page for answer in answers]),
        mentions=_mean([answer.mentions for answer in answers]),
        input_tokens=_mean([answer.input_tokens for answer in answers]),
        output_tokens=_mean([answer.output_tokens for answer in answers]),
        cost=_mean([answer.cost for answer in answers]),
        seconds=fmean(answer.seconds for answer in answers),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
