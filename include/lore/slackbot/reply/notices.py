"""Which of the bot's own words are for what, and how they look; the words themselves are in `render.phrases`."""

from __future__ import annotations

from lore.errors import ConfigurationError, LoreError, ModelError, StoreError
from lore.slackbot.queue.rate_limits import RateLimitHit
from lore.slackbot.render import phrases
from lore.slackbot.types import SlackMessage

__all__ = ["for_error", "limited", "plain", "working"]


def plain(text: str) -> SlackMessage:
    """A message that says just this; nothing in it is markup."""
    return SlackMessage(({"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}},), text)


def working(status: str) -> SlackMessage:
    """A status as a message, which stands where the answer will be."""
    words = status.removeprefix("is ")
    text = words[:1].upper() + words[1:]
    return SlackMessage(
        ({"type": "context", "elements": [{"type": "plain_text", "text": text, "emoji": False}]},), text
    )


def limited(refusal: RateLimitHit) -> str:
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
