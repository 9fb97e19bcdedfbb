"""The text of a message without Slack's markup: whom it addresses, and its question as Markdown."""

from __future__ import annotations

import re

from lore.sources.slack.mrkdwn import SlackNames, to_markdown
from lore.visible_text import UNSEEN

__all__ = ["addresses_others", "has_words", "mentions", "question_text"]

MAX_CHARACTERS = 12_000
"""Characters of a message that are read; a longer question is a log that was pasted."""

_MENTION = re.compile(r"(?:(?<![ \t])[ \t]+)?<@(?P<user>[A-Z0-9]+)(?:\|[^<>\n]*)?>[ \t]*(?:[:,](?![\w+'-]+:)[ \t]*)?")
_OTHERS = re.compile(r"<(?:@(?P<user>[A-Z0-9]+)|!(?:subteam\^|channel|here|everyone))")
_EMOJI = re.compile(r":[\w+'-]+:")


def mentions(text: str, user: str) -> bool:
    """Return True if a message, in Slack's mrkdwn, mentions this user. Slack has no mentions in code."""
    return any(match["user"] == user for match in _MENTION.finditer(text))


def addresses_others(text: str, bot: str) -> bool:
    """Return True if a message mentions a group, or somebody who isn't the bot."""
    return any(match["user"] != bot for match in _OTHERS.finditer(text))


def question_text(text: str, bot: str, names: SlackNames | None = None) -> str:
    """Return the question in a message as Markdown, without the bot's mention, at most MAX_CHARACTERS long.

    Invisible characters are removed: a model would read what people can't. A person unknown to `names` keeps the id, so
    that a mention stays data and reaches nobody.
    """
    return to_markdown(_without(text[:MAX_CHARACTERS].translate(UNSEEN), bot), names or SlackNames()).strip()


def has_words(text: str) -> bool:
    """Return True if the text has a word, not only emoji and punctuation."""
    return re.search(r"\w", _EMOJI.sub(" ", text)) is not None


def _without(text: str, bot: str) -> str:
    def gap(match: re.Match[str]) -> str:
        if match["user"] != bot:
            return match[0]
        before, after = text[: match.start()][-1:], text[match.end() :][:1]
        return "" if before in ("", "\n") or after in ("", "\n", *"?!.;") else " "

    return _MENTION.sub(gap, text)
