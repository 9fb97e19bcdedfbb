"""The conversation before a question, as history: who asks, what the bot answered, and what others wrote beside it.

What others wrote is context and never instruction: it is given as turns of its own, and nothing is narrowed or done on
its word. What bots and Slack itself wrote is left out, but for what a thread begins with: people ask about an alert.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, TypeAlias

from lore.query.understand.plan import HISTORY_CHARACTERS, HISTORY_MESSAGES
from lore.slackbot.events.incoming import SAID, SLACKBOT
from lore.slackbot.events.mentions import has_words, question_text
from lore.slackbot.slack_api.errors import level
from lore.slackbot.types import BotIdentity, SlackApi, SlackCallError, SlackQuestion
from lore.sources.payload import Payload, as_mapping, as_mappings, as_text
from lore.sources.slack.attachments import attachment_quotes
from lore.sources.slack.blocks import added_blocks
from lore.sources.slack.mrkdwn import SlackNames
from lore.sources.slack.values import is_ts
from lore.types import Message
from lore.visible_text import UNSEEN

__all__ = ["history"]

log = logging.getLogger(__name__)

RECENT_SECONDS = 3600.0
"""In a direct message without threads, what was said longer ago is another conversation."""
DIRECT_MESSAGES = 20
ANSWERS_LOOKED_FOR = 2
"""The bot answers a direct message in a thread below it; so many of the last ones are looked into."""

Role: TypeAlias = Literal["user", "assistant", "other"]

_CITATION = re.compile(r"\s?\[\d{1,3}\](?!\()")


@dataclass(frozen=True, slots=True)
class _Turn:
    role: Role
    text: str


def history(
    question: SlackQuestion, slack: SlackApi, identity: BotIdentity, on_note: Callable[[str], None] | None = None
) -> tuple[Message, ...]:
    """What was said before a question, oldest first, in at most HISTORY_MESSAGES turns of HISTORY_CHARACTERS.

    The newest turns are kept, and the first message of a thread, which often says what it is about. A command has none.
    Never raises SlackCallError: without history, a question is answered as it stands, and `on_note` is told.
    """
    try:
        said = _said(question, slack)
    except SlackCallError as error:
        log.log(level(error, logging.WARNING), "The conversation before %s could not be read: %s", question.key, error)
        if on_note is not None:
            on_note(f"The conversation before could not be read, so the question was taken alone ({error.code}).")
        return ()
    first = next(iter(said), {}).get("ts")
    turns = [_turn(one, question, identity, root=one.get("ts") == first == question.thread_ts) for one in said]
    return tuple(Message(turn.role, turn.text) for turn in _chosen([turn for turn in turns if turn]))


def _said(question: SlackQuestion, slack: SlackApi) -> list[Payload]:
    """The messages before the question, oldest first."""
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
    """What a message says, and who says it; None where it is no part of the conversation."""
    user, bot = as_text(message.get("user")), as_text(message.get("bot_id"))
    if user == identity.user or (bot and bot == identity.bot):
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
    """The text of one of the bot's answers, without its sources and buttons; "" for all else that it says."""
    payload = as_mapping(as_mapping(message.get("metadata")).get("event_payload"))
    if payload and not payload.get("answer"):
        return ""  # it is busy, it apologizes, or it greets
    blocks = as_mappings(message.get("blocks"))
    text = "\n\n".join(said for block in blocks if (said := _block_text(block)))
    if not text and payload:
        text = as_text(message.get("text"))
    return _CITATION.sub("", text.translate(UNSEEN)).strip()


def _block_text(block: Payload) -> str:
    """What a block of an answer says; its sources are in `context`, its buttons in `context_actions`."""
    if block.get("type") in ("markdown", "header"):
        text = block.get("text")
        return as_text(text) or as_text(as_mapping(text).get("text"))
    if block.get("type") in ("rich_text", "table"):
        return "".join(_pieces(block)).strip()
    return ""


def _pieces(element: object, depth: int = 0) -> Iterator[str]:
    """The texts inside rich text, in order; each of its paragraphs and list items on a line."""
    if isinstance(element, list):
        for one in element if depth < 16 else ():
            yield from _pieces(one, depth + 1)
    elif isinstance(element, dict) and depth < 16:
        yield as_text(element.get("text"))
        for key in ("elements", "rows"):
            yield from _pieces(element.get(key), depth + 1)
        yield "\n" if as_text(element.get("type")).startswith("rich_text_") else ""


def _chosen(turns: Sequence[_Turn]) -> list[_Turn]:
    """The first turn and the last ones, what one speaker says in a row made one."""
    if not turns:
        return []
    first = _Turn(turns[0].role, _shortened(turns[0].text, HISTORY_CHARACTERS))
    rest = [_Turn(role, _joined([turn.text for turn in group])) for role, group in groupby(turns[1:], _role)]
    return [first, *rest[-(HISTORY_MESSAGES - 1) :]]


def _role(turn: _Turn) -> Role:
    return turn.role


def _joined(texts: Sequence[str]) -> str:
    """Texts in a row, the newest kept where not all fit."""
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
