"""The plan of a search: one structured model call, with rules as the fallback."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

from lore.errors import ModelError
from lore.protocols import ChatModel, OnUsage
from lore.query.content_words import content_words
from lore.query.delimiters import escape_delimiters
from lore.query.prompts import load_prompt
from lore.query.understand.context import GlobalContext
from lore.query.understand.filters import (
    SearchableSource,
    describe_filters,
    filters_by_rules,
    validate_filters,
    visible_sources,
)
from lore.query.understand.follow_up import restore_subject, standalone_question
from lore.query.understand.plan_reply import WORDINGS, PlanReply, distinct, usable_lines
from lore.query.understand.small_talk import is_small_talk
from lore.types import Filters, Message, Plan, Question

__all__ = ["HISTORY_CHARACTERS", "HISTORY_MESSAGES", "PlannedQuestion", "make_plan"]

MAX_WORDING_CHARACTERS = 300
MAX_QUESTION_CHARACTERS = 1_000
MAX_SMALL_TALK_WORDS = 6
MAX_SMALL_TALK_CONTENT = 2
"""Longer messages, and those with a question mark, are always searched for: a small model takes "How do I rotate an API
key?" for small talk and answers it from memory, without a source.
"""
HISTORY_MESSAGES = 6
HISTORY_CHARACTERS = 600
"""The last turns of a conversation that a plan is made from, and the characters of each."""
LISTED_SOURCES = 40

_TAGS = ("assistant", "sources", "conversation", "turn", "message")


@dataclass(frozen=True, slots=True)
class _PlanInputs:
    """Inputs of the planning beside the question. `sources` are those that the asker may name."""

    context: GlobalContext | None
    sources: Sequence[SearchableSource]
    today: date


@dataclass(frozen=True, slots=True)
class PlannedQuestion:
    """A plan, with notes for the asker, and the parts of a model's reply that it ignored, for the trace."""

    plan: Plan
    notes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    failure: ModelError | None = None


def make_plan(
    question: Question,
    chat_model: ChatModel | None,
    *,
    context: GlobalContext | None = None,
    sources: Sequence[SearchableSource] = (),
    today: date | None = None,
    on_usage: OnUsage | None = None,
) -> PlannedQuestion:
    """Return the plan, with notes on its filters and on every fallback. Never fails: the question itself is a plan.

    Of `sources`, those hidden from the asker are left out here. `on_usage` gets the usage of the call, even if its
    reply is unusable.
    """
    inputs = _PlanInputs(context, visible_sources(sources, question), today or datetime.now(UTC).date())
    if chat_model is None:
        return _planned(_plan_by_rules(question, inputs))
    try:
        reply = chat_model.structured(_messages(question, inputs), PlanReply, on_usage=on_usage)
    except ModelError as error:
        note = f"The plan is the question itself, because the language model failed: {error.message}"
        return replace(_planned(_plan_by_rules(question, inputs), note), failure=error)
    ignored: list[str] = []
    planned = _planned(_plan_of(reply, question, inputs, ignored))
    return replace(planned, ignored=tuple(ignored))


def _planned(plan: Plan, *notes: str) -> PlannedQuestion:
    searched = describe_filters(plan.filters)
    return PlannedQuestion(plan, (*notes, *([f"The question narrows the search: {searched}."] if searched else [])))


def _plan_by_rules(question: Question, inputs: _PlanInputs) -> Plan:
    """Return the plan without a language model."""
    if is_small_talk(question.text):
        return Plan(question.text, (question.text,), search=False)
    standalone = standalone_question(question)
    if inputs.context and not question.sources and inputs.context.line_for(question.text):
        return Plan(standalone, (standalone,), search=False, from_context=True)
    return Plan(standalone, (standalone,), filters=filters_by_rules(question, inputs.sources, inputs.today))


def _plan_of(reply: PlanReply, question: Question, inputs: _PlanInputs, notes: list[str]) -> Plan:
    """Return the plan of a reply, checked; `notes` gets the parts that were rejected."""
    standalone = _standalone(reply, question, notes)
    route = _route(reply, question, standalone, inputs, notes)
    conversation = " ".join([*(message.content for message in question.history), question.text])
    lines = usable_lines(reply.wordings, MAX_WORDING_CHARACTERS, like=conversation)
    wordings = list(distinct(lines))[:WORDINGS]
    if route == "search" and len(wordings) < WORDINGS:
        usable = f"{len(wordings)} of {WORDINGS} usable wordings"
        notes.append(f"The language model wrote {usable}; the question was added.")
    if len(wordings) < WORDINGS or not any(_is_close(wording, standalone) for wording in wordings):
        wordings = list(distinct([standalone, *wordings]))
    if route != "search":
        return Plan(standalone, tuple(wordings), search=False, from_context=route == "context")
    return Plan(standalone, tuple(wordings), filters=_filters(reply, question, inputs, notes))


def _standalone(reply: PlanReply, question: Question, notes: list[str]) -> str:
    """Return the model's stand-alone question if it is usable, else the question completed by rules."""
    if not question.history:  # without history the question is complete already
        return question.text
    conversation = " ".join([*(message.content for message in question.history), question.text])
    rewritten = next(usable_lines([reply.question], MAX_QUESTION_CHARACTERS, like=conversation), "")
    own, new = set(content_words(question.text)), set(content_words(rewritten))
    if rewritten and (len(own) < 2 or own & new):
        complete = restore_subject(rewritten, question)
        if complete != rewritten:
            notes.append("The language model's complete question lost the conversation's subject; it was added.")
        return complete
    reason = "has no word of yours" if rewritten else "is unusable"
    notes.append(f"The language model's complete question {reason}; your own words were used.")
    return standalone_question(question)


def _route(reply: PlanReply, question: Question, standalone: str, inputs: _PlanInputs, notes: list[str]) -> str:
    if reply.route == "small_talk" and _is_request(question.text):
        notes.append("The language model took the message for small talk; it is a question, so it was searched for.")
        return "search"
    if reply.route == "context" and question.sources:
        return "search"
    if reply.route == "context" and not (inputs.context and inputs.context.may_answer(standalone)):
        notes.append(
            "The language model chose the global context, which is too far from the question; it was searched for."
        )
        return "search"
    return reply.route


def _filters(reply: PlanReply, question: Question, inputs: _PlanInputs, notes: list[str]) -> Filters:
    """Return the model's valid filters, else those that the question's words set by rules."""
    filters, more = validate_filters(
        reply.sources, reply.updated_after, reply.updated_before, question, inputs.sources, inputs.today
    )
    notes.extend(more)
    return filters if filters != Filters() else filters_by_rules(question, inputs.sources, inputs.today)


def _is_request(text: str) -> bool:
    words = text.split()
    return (
        any(mark in text for mark in "?？؟")
        or len(words) > MAX_SMALL_TALK_WORDS
        or len(set(content_words(text))) > MAX_SMALL_TALK_CONTENT
    )


def _is_close(wording: str, question: str) -> bool:
    """Return True if a wording has half of the question's content words."""
    wanted = set(content_words(question))
    return 2 * len(wanted & set(content_words(wording))) >= len(wanted)


def _messages(question: Question, inputs: _PlanInputs) -> list[Message]:
    """Return the request; outside text is in tags, and nothing in it can look like a tag."""
    parts = []
    if inputs.context:
        parts.append(_tagged("assistant", f"{inputs.context.name}\n{inputs.context.text}"))
    if len(inputs.sources) > 1:
        listed = (f"{source.id}: {source.title} ({source.kind})" for source in inputs.sources[:LISTED_SOURCES])
        parts.append(_tagged("sources", "\n".join(listed)))
    turns = [
        f'<turn role="{message.role}">{_escaped(message.content[:HISTORY_CHARACTERS])}</turn>'
        for message in question.history[-HISTORY_MESSAGES:]
        if message.role != "system"
    ]
    if turns:
        parts.append("<conversation>\n" + "\n".join(turns) + "\n</conversation>")
    parts.append(f"Today is {inputs.today:%Y-%m-%d}.")
    parts.append(f"<message>{_escaped(question.text)}</message>")
    return [Message("system", load_prompt("plan")), Message("user", "\n\n".join(parts))]


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>\n{_escaped(text)}\n</{tag}>"


def _escaped(text: str) -> str:
    return escape_delimiters(text, _TAGS)
