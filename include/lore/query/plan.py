"""How a question will be searched: one structured call, and what to do when it gives nothing of use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, Field

from include.lore.errors import ModelError
from include.lore.protocols import ChatModel, OnUsage
from include.lore.query.prompts import load_prompt
from include.lore.query.words import content_words
from include.lore.types import Message, Plan, Question

__all__ = ["PlanReply", "make_plan"]

WORDINGS = 3
MAX_WORDING_CHARACTERS = 300
MAX_QUESTION_CHARACTERS = 1_000
MAX_REPLY_CHARACTERS = 4_000
"""How much of each text of a reply is looked at: a model that writes without end must not cost more than that."""
MAX_SMALL_TALK_WORDS = 6
MAX_SMALL_TALK_CONTENT = 2
"""What has more words, more words with a meaning, or a question mark is searched for whatever the model says: a small
model takes "How do I rotate an API key?" for small talk and answers it from memory, without a source.
"""
HISTORY_MESSAGES = 6
HISTORY_CHARACTERS = 600

_DECORATION = re.compile(
    r"^(?:[-*+•#>]+\s+|\(?\d{1,2}[.):](?!\d)\s*|(?:query|wording|question)\s*\d*\s*:\s*)+", re.IGNORECASE
)


class PlanReply(BaseModel):
    """What the model is asked for. It is lenient, because a reply that is half of use is used for that half."""

    question: str = Field("", description="The user's last message as a complete question, in its own language")
    wordings: list[str] = Field(
        default_factory=list,
        description="Exactly three different search queries for it",
        json_schema_extra={"minItems": WORDINGS, "maxItems": WORDINGS},  # bounds the model, not what is accepted
    )
    search: bool = Field(True, description="False only for a mere greeting, thanks or small talk")


def make_plan(
    question: Question, chat_model: ChatModel | None, *, on_usage: OnUsage | None = None
) -> tuple[Plan, tuple[str, ...]]:
    """The plan, and notes on every fallback taken. Never fails: the question itself is always a plan."""
    itself = Plan(question.text, (question.text,))
    if chat_model is None:
        return itself, ()
    try:
        reply = chat_model.structured(_messages(question), PlanReply, on_usage=on_usage)
    except ModelError as error:
        return itself, (f"The plan is the question itself, because the language model failed: {error}",)
    notes: list[str] = []
    standalone = question.text
    if question.history:  # without history the question stands alone, and no model can improve on it
        standalone = next(_lines([reply.question], MAX_QUESTION_CHARACTERS), question.text)
    wordings = list(_distinct(_lines(reply.wordings, MAX_WORDING_CHARACTERS)))[:WORDINGS]
    search = reply.search
    if not search and _asks(question.text):
        notes.append("The language model took the message for small talk; it asks something, so it was searched for.")
        search = True
    if len(wordings) < WORDINGS:
        if search:
            usable = f"{len(wordings)} usable wordings of {WORDINGS}"
            notes.append(f"The language model gave {usable}; the question was added.")
        wordings = list(_distinct([standalone, *wordings]))
    return Plan(standalone, tuple(wordings), search), tuple(notes)


def _asks(text: str) -> bool:
    words = text.split()
    return (
        any(mark in text for mark in "?？؟")
        or len(words) > MAX_SMALL_TALK_WORDS
        or len(set(content_words(text))) > MAX_SMALL_TALK_CONTENT
    )


def _messages(question: Question) -> list[Message]:
    turns = [
        f"{message.role}: {message.content[:HISTORY_CHARACTERS]}"
        for message in question.history[-HISTORY_MESSAGES:]
        if message.role != "system"
    ]
    conversation = "Conversation so far:\n" + "\n".join(turns) + "\n\n" if turns else ""
    return [Message("system", load_prompt("plan")), Message("user", f"{conversation}Last message: {question.text}")]


def _lines(texts: Iterable[str], limit: int) -> Iterator[str]:
    """The lines of what a model wrote, without numbers, bullets, quotes and emptiness."""
    for text in texts:
        for raw in text[:MAX_REPLY_CHARACTERS].splitlines():
            line = " ".join(_DECORATION.sub("", raw.strip()).strip().strip("\"'“”„«»`*_").split())
            if re.search(r"\w{2}", line):
                yield line if len(line) <= limit else line[:limit].rpartition(" ")[0] or line[:limit]


def _distinct(lines: Iterable[str]) -> Iterator[str]:
    seen: set[str] = set()
    for line in lines:
        key = " ".join(re.findall(r"\w+", line.casefold()))
        if key not in seen:
            seen.add(key)
            yield line
