"""The bot's own messages: which phrase of `render.phrases` is for what, and how it looks."""

from __future__ import annotations

from lore.errors import ConfigurationError, ModelError, StoreError
from lore.slackbot.render import phrases
from lore.slackbot.types import SlackMessage

__all__ = ["for_error", "plain", "status_message"]


def plain(text: str) -> SlackMessage:
    """Return a message with this text, which is no markup."""
    return SlackMessage(({"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}},), text)


def status_message(status: str) -> SlackMessage:
    """Return a status as a message, which stands in for Slack's own."""
    text = status.removeprefix("is ").capitalize()
    return SlackMessage(
        ({"type": "context", "elements": [{"type": "plain_text", "text": text, "emoji": False}]},), text
    )


def for_error(error: Exception) -> str:
    """Return what the asker is told of an error. The reason is in the log, where it helps."""
    if isinstance(error, ConfigurationError):
        return phrases.MISCONFIGURED
    if isinstance(error, StoreError):
        return phrases.INDEX_UNREADABLE
    return phrases.MODEL_FAILED if isinstance(error, ModelError) else phrases.TRY_AGAIN
