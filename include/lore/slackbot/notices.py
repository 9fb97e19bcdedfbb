"""Which of the bot's own words are for what: a status, a place in the queue, a limit, an error, an interruption."""

from __future__ import annotations

from include.lore.errors import ConfigurationError, LoreError, ModelError, StoreError
from include.lore.slackbot.limits import Refusal
from include.lore.slackbot.render import phrases
from include.lore.slackbot.words import Message

__all__ = ["LOOKING", "UNSURE", "for_error", "limited", "place", "plain", "working"]

LOOKING = "is looking for an answer…"
UNSURE = "I was interrupted, and cannot tell whether my answer reached you. If you do not see one, please ask again."


def plain(text: str) -> Message:
    """A message that says just this; nothing in it is markup."""
    return Message(({"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}},), text)


def working(status: str) -> Message:
    """A status as a message, which stands where the answer will be."""
    words = status.removeprefix("is ")
    text = words[:1].upper() + words[1:]
    return Message(({"type": "context", "elements": [{"type": "plain_text", "text": text, "emoji": False}]},), text)


def place(number: int) -> str:
    """The status of a question that waits; the one that is answered next has place 1."""
    return f"is busy, your place is {number:,}…"


def limited(refusal: Refusal) -> str:
    """Why a question is not taken, and when the next one can be."""
    says = phrases.user_limit if refusal.whose == "person" else phrases.channel_limit
    return says(refusal.limit, refusal.seconds)


def for_error(error: LoreError) -> str:
    """What a person is told of an error. What went wrong is in the log; here it would help nobody."""
    if isinstance(error, ConfigurationError):
        return phrases.MISCONFIGURED
    if isinstance(error, StoreError):
        return phrases.INDEX_UNREADABLE
    return phrases.MODEL_FAILED if isinstance(error, ModelError) else phrases.TRY_AGAIN
