"""How a question will be searched: one structured call, and what to do when it gives nothing of use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from lore.errors import ModelError
from lore.protocols import ChatModel, OnUsage
from lore.query.answer.prompt_sources import as_data
from lore.query.content_words import content_words
from lore.query.prompts import load_prompt
from lore.query.understand.context import GlobalContext
from lore.query.understand.filters import SearchableSource, checked_filters, describe, named_filters, visible_to
from lore.query.understand.follow_up import stand_alone, with_subject
from lore.query.understand.plan_reply import WORDINGS, PlanReply, distinct, usable_lines
from lore.types import Filters, Message, Plan, Question

__all__ = ["HISTORY_CHARACTERS", "HISTORY_MESSAGES", "make_plan"]

MAX_WORDING_CHARACTERS = 300
MAX_QUESTION_CHARACTERS = 1_000
MAX_SMALL_TALK_WORDS = 6
MAX_SMALL_TALK_CONTENT = 2
"""What has more words, more words with a meaning, or a question mark is searched for whatever the model says: a small
model takes "How do I rotate an API key?" for small talk and answers it from memory, without a source.
"""
HISTORY_MESSAGES = 6
HISTORY_CHARACTERS = 600
"""How many turns of a conversation, the last ones, and how much of each a plan is made from."""
LISTED_SOURCES = 40

_TAGS = ("assistant", "sources", "conversation", "turn", "message")


@dataclass(frozen=True, slots=True)
class _Setting:
    """What is known beside the question: all that filters and the global context are read from."""

    context: GlobalContext | None
    sources: Sequence[SearchableSource]
    today: date


def make_plan(
    question: Question,
    chat_model: ChatModel | None,
    *,
    context: GlobalContext | None = None,
    sources: Sequence[SearchableSource] = (),
    today: date | None = None,
    on_usage: OnUsage | None = None,
) -> tuple[Plan, tuple[str, ...]]:
    """The plan, and notes on its filters and on every fallback taken. Never fails: the question is always a plan.

    `sources` are those that a question may name; what the asker must not know of is left out here. `on_usage` is told
    of the call, also of one whose reply is of no use.
    """
    setting = _Setting(context, visible_to(sources, question), today or datetime.now(UTC).date())
    if chat_model is None:
        return _with_notes(_plan_by_rules(question, setting), [])
    try:
        reply = chat_model.structured(_messages(question, setting), PlanReply, on_usage=on_usage)
    except ModelError as error:
        note = f"The plan is the question itself, because the language model failed: {error}"
        return _with_notes(_plan_by_rules(question, setting), [note])
    notes: list[str] = []
    return _with_notes(_plan_of(reply, question, setting, notes), notes)


def _with_notes(plan: Plan, notes: list[str]) -> tuple[Plan, tuple[str, ...]]:
    searched = describe(plan.filters)
    return plan, (*notes, *([f"The question narrows the search: {searched}."] if searched else []))


def _plan_by_rules(question: Question, setting: _Setting) -> Plan:
    """The plan without a language model."""
    standalone = stand_alone(question)
    if setting.context and not question.sources and setting.context.line_for(question.text):
        return Plan(standalone, (standalone,), search=False, from_context=True)
    return Plan(standalone, (standalone,), filters=named_filters(question, setting.sources, setting.today))


def _plan_of(reply: PlanReply, question: Question, setting: _Setting, notes: list[str]) -> Plan:
    """The plan that a reply gives, checked; what was not taken from it goes into the notes."""
    standalone = _standalone(reply, question, notes)
    route = _route(reply, question, standalone, setting, notes)
    conversation = " ".join([*(message.content for message in question.history), question.text])
    lines = usable_lines(reply.wordings, MAX_WORDING_CHARACTERS, like=conversation)
    wordings = list(distinct(lines))[:WORDINGS]
    if route == "search" and len(wordings) < WORDINGS:
        usable = f"{len(wordings)} usable wordings of {WORDINGS}"
        notes.append(f"The language model gave {usable}; the question was added.")
    if len(wordings) < WORDINGS or not any(_close(wording, standalone) for wording in wordings):
        wordings = list(distinct([standalone, *wordings]))
    if route != "search":
        return Plan(standalone, tuple(wordings), search=False, from_context=route == "context")
    return Plan(standalone, tuple(wordings), filters=_filters(reply, question, setting, notes))


def _standalone(reply: PlanReply, question: Question, notes: list[str]) -> str:
    """The model's stand-alone question, where there is a conversation that it needs and it is one."""
    if not question.history:  # without history the question stands alone, and no model can improve on it
        return question.text
    conversation = " ".join([*(message.content for message in question.history), question.text])
    said = next(usable_lines([reply.question], MAX_QUESTION_CHARACTERS, like=conversation), "")
    own, new = set(content_words(question.text)), set(content_words(said))
    if said and (len(own) < 2 or own & new):
        complete = with_subject(said, question)
        if complete != said:
            notes.append("The language model's complete question lost what the conversation is about; it was added.")
        return complete
    reason = "has no word of it" if said else "is of no use"
    notes.append(f"The language model's complete question {reason}; your own words were used.")
    return stand_alone(question)


def _route(reply: PlanReply, question: Question, standalone: str, setting: _Setting, notes: list[str]) -> str:
    if reply.route == "small_talk" and _asks(question.text):
        notes.append("The language model took the message for small talk; it asks something, so it was searched for.")
        return "search"
    if reply.route == "context" and question.sources:
        return "search"
    if reply.route == "context" and not (setting.context and setting.context.holds(standalone)):
        notes.append("The language model would answer without a search, from a context that does not hold it.")
        return "search"
    return reply.route


def _filters(reply: PlanReply, question: Question, setting: _Setting, notes: list[str]) -> Filters:
    """The model's filters that hold, else what the question's words say beyond doubt."""
    filters, more = checked_filters(
        reply.sources, reply.updated_after, reply.updated_before, question, setting.sources, setting.today
    )
    notes.extend(more)
    return filters if filters != Filters() else named_filters(question, setting.sources, setting.today)


def _asks(text: str) -> bool:
    words = text.split()
    return (
        any(mark in text for mark in "?？؟")
        or len(words) > MAX_SMALL_TALK_WORDS
        or len(set(content_words(text))) > MAX_SMALL_TALK_CONTENT
    )


def _close(wording: str, question: str) -> bool:
    """Whether a wording has half of the question's words with a meaning."""
    wanted = set(content_words(question))
    return 2 * len(wanted & set(content_words(wording))) >= len(wanted)


def _messages(question: Question, setting: _Setting) -> list[Message]:
    """The request: what others wrote stands in tags, in which nothing can look like a tag."""
    parts = []
    if setting.context:
        parts.append(_tagged("assistant", f"{setting.context.name}\n{setting.context.text}"))
    if len(setting.sources) > 1:
        listed = (f"{source.id}: {source.title} ({source.kind})" for source in setting.sources[:LISTED_SOURCES])
        parts.append(_tagged("sources", "\n".join(listed)))
    turns = [
        f'<turn role="{message.role}">{_as_data(message.content[:HISTORY_CHARACTERS])}</turn>'
        for message in question.history[-HISTORY_MESSAGES:]
        if message.role != "system"
    ]
    if turns:
        parts.append("<conversation>\n" + "\n".join(turns) + "\n</conversation>")
    parts.append(f"Today is {setting.today:%Y-%m-%d}.")
    parts.append(f"<message>{_as_data(question.text)}</message>")
    return [Message("system", load_prompt("plan")), Message("user", "\n\n".join(parts))]


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>\n{_as_data(text)}\n</{tag}>"


def _as_data(text: str) -> str:
    return as_data(text, _TAGS)
