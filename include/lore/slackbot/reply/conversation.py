"""The conversation before a question, as history: the asker's messages, the bot's answers, and what others wrote.

Messages of others are context and never instruction: they are turns of their own, and no filter is read from them.
Those of bots and of Slack are left out, except the first of a thread: people ask about an alert.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from lore.query.understand.plan import HISTORY_CHARACTERS, HISTORY_MESSAGES
from lore.slackbot.events.addressing import is_acknowledgement, is_question
from lore.slackbot.events.incoming import SAID, SLACKBOT
from lore.slackbot.events.mentions import has_words, question_text
from lore.slackbot.render import phrases
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.errors import log_level
from lore.slackbot.types import BotIdentity, SlackCallError, SlackQuestion
from lore.sources.payload import Payload, as_mapping, as_mappings, as_text
from lore.sources.slack.attachments import attachment_quotes
from lore.sources.slack.blocks import added_blocks
from lore.sources.slack.mrkdwn import SlackNames
from lore.sources.slack.values import is_ts
from lore.types import Message
from lore.visible_text import UNSEEN

__all__ = ["history", "is_addressed"]

log = logging.getLogger(__name__)

RECENT_SECONDS = 3600.0
"""In a direct message without threads, older messages are another conversation."""
DIRECT_MESSAGES = 20
ANSWERS_LOOKED_FOR = 2
"""The bot answers a direct message in a thread below it; so many of the last ones are read."""

Role: TypeAlias = Literal["user", "assistant", "other"]

_CITATION = re.compile(r"\s?\[\d{1,3}\](?!\()")


@dataclass(frozen=True, slots=True)
class _Turn:
    role: Role
    text: str


def history(
    question: SlackQuestion, slack: BotApi, identity: BotIdentity, on_note: Callable[[str], None] = lambda _: None
) -> tuple[Message, ...]:
    """Return the conversation before a question, oldest first: at most HISTORY_MESSAGES turns of HISTORY_CHARACTERS.

    The newest turns are kept, and the first message of a thread, which often names the topic. A command has none. Never
    raises SlackCallError: the question is then answered without history, and `on_note` is called.
    """
    try:
        said = _said(question, slack)
    except SlackCallError as error:
        log.log(log_level(error, logging.WARNING), "Couldn't read the conversation before %s: %s", question.key, error)
        on_note(phrases.NO_CONVERSATION)
        return ()
    first = next(iter(said), {}).get("ts")
    turns = [_turn(one, question, identity, root=one.get("ts") == first == question.thread_ts) for one in said]
    return tuple(Message(turn.role, turn.text) for turn in _chosen([turn for turn in turns if turn]))


def is_addressed(question: SlackQuestion, slack: BotApi, identity: BotIdentity) -> bool:
    """Return True if a message in a thread, which mentions nobody, speaks to the bot. Raises SlackCallError.

    Right below its answer to the asker that is a question, or anything else while only those two have spoken. Further
    down it is a question while only those two have spoken; among more people it is nothing.
    """
    before = _before(question, slack.replies(question.channel, question.thread_ts))
    people = {
        as_text(one.get("user")) for one in before if not (one.get("bot_id") or one.get("subtype") == "bot_message")
    }
    is_alone = people - {identity.user, SLACKBOT, ""} <= {question.user}
    if not (before and _is_own(before[-1], identity) and _asker(before, identity) == question.user):
        return is_alone and is_question(question.text)
    return is_question(question.text) or (is_alone and not is_acknowledgement(question.text))


def _asker(messages: Sequence[Payload], identity: BotIdentity) -> str:
    """Return the person to whom the bot wrote the last message; one that still grows doesn't say."""
    key = as_text(_note(messages[-1]).get("key"))
    asked = [one for one in messages if not _is_own(one, identity)]
    return next((as_text(one.get("user")) for one in reversed(asked) if not key or f":{one.get('ts')}" in key), "")


def _is_own(message: Payload, identity: BotIdentity) -> bool:
    bot = as_text(message.get("bot_id"))
    return as_text(message.get("user")) == identity.user or bot == identity.bot != ""


def _note(message: Payload) -> Payload:
    """Return what one of the bot's messages says of itself."""
    return as_mapping(as_mapping(message.get("metadata")).get("event_payload"))


def _said(question: SlackQuestion, slack: BotApi) -> list[Payload]:
    """Return the messages before the question, oldest first."""
    if question.via == "command":
        return []
    if question.thread_ts != question.ts:
        return _before(question, slack.replies(question.channel, question.thread_ts))
    if question.room != "direct":
        return []  # it begins a thread
    latest = slack.history(question.channel, latest=question.ts, limit=DIRECT_MESSAGES)
    recent = [one for one in _before(question, latest) if float(question.ts) - float(one["ts"]) <= RECENT_SECONDS]
    answered = [as_text(one.get("ts")) for one in recent if one.get("reply_count")][-ANSWERS_LOOKED_FOR:]
    threads = {ts: _before(question, slack.replies(question.channel, ts)) for ts in answered}
    return [said for one in recent for said in threads.get(as_text(one.get("ts")), [one])]


def _before(question: SlackQuestion, messages: Iterable[Payload]) -> list[Payload]:
    return [one for one in messages if is_ts(one.get("ts")) and float(one["ts"]) < float(question.ts)]


def _turn(message: Payload, question: SlackQuestion, identity: BotIdentity, *, root: bool) -> _Turn | None:
    """Return the text and speaker of a message; None if it is no part of the conversation."""
    user, bot = as_text(message.get("user")), as_text(message.get("bot_id"))
    if _is_own(message, identity):
        text = _answer(message)
        return _Turn("assistant", text) if text else None
    by_bot = bool(bot) or user == SLACKBOT or message.get("subtype") == "bot_message"
    if message.get("hidden") or (by_bot and not root):
        return None
    if not by_bot and (not user or str(message.get("subtype") or "") not in SAID):
        return None
    text = question_text(as_text(message.get("text")), identity.user)
    if by_bot:
        blocks = added_blocks(message.get("blocks"), text, SlackNames())
        text = "\n".join([text, *blocks, *attachment_quotes(message, SlackNames())]).strip().translate(UNSEEN)
    if not has_words(text):
        return None
    return _Turn("user" if user == question.user and not by_bot else "other", text)


def _answer(message: Payload) -> str:
    """Return the text of one of the bot's answers, without sources and buttons; "" for its other messages."""
    payload = _note(message)
    if payload and not payload.get("answer"):
        return ""  # a status, an apology or a greeting
    blocks = as_mappings(message.get("blocks"))
    text = "\n\n".join(said for block in blocks if (said := _block_text(block)))
    if not text and payload:
        text = as_text(message.get("text"))
    return _CITATION.sub("", text.translate(UNSEEN)).strip()


def _block_text(block: Payload) -> str:
    """Return the text of a block; sources are in `context` blocks, buttons in `context_actions`."""
    if block.get("type") in ("markdown", "header"):
        text = block.get("text")
        return as_text(text) or as_text(as_mapping(text).get("text"))
    if block.get("type") in ("rich_text", "table"):
        return "".join(_pieces(block)).strip()
    return ""


def _pieces(element: object, depth: int = 0) -> Iterator[str]:
    """Yield the texts inside rich text, each paragraph and list item on a line."""
    if isinstance(element, list):
        for one in element if depth < 16 else ():
            yield from _pieces(one, depth + 1)
    elif isinstance(element, dict) and depth < 16:
        yield as_text(element.get("text"))
        for key in ("elements", "rows"):
            yield from _pieces(element.get(key), depth + 1)
        yield "\n" if as_text(element.get("type")).startswith("rich_text_") else ""


def _chosen(turns: Sequence[_Turn]) -> list[_Turn]:
    """Return the first turn and the last ones; messages of one speaker in a row are one turn."""
    if not turns:
        return []
    first = _Turn(turns[0].role, _shortened(turns[0].text, HISTORY_CHARACTERS))
    groups = groupby(turns[1:], key=lambda turn: turn.role)
    rest = [_Turn(role, _joined([turn.text for turn in group])) for role, group in groups]
    return [first, *rest[-(HISTORY_MESSAGES - 1) :]]


def _joined(texts: Sequence[str]) -> str:
    """Join texts, the newest ones where not all fit."""
    kept: list[str] = []
    room = HISTORY_CHARACTERS
    for text in reversed(texts):
        if kept and len(text) >= room:
            break
        kept.insert(0, _shortened(text, room))
        room -= len(kept[0]) + 1
    return "\n".join(kept)


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return (text[: limit - 2].rpartition(" ")[0] or text[: limit - 2]) + " …"
