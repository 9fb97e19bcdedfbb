"""What a message says once Slack's markup is taken off: whom it speaks to, and the question as plain Markdown."""

from __future__ import annotations

import re

from lore.sources.slack.mrkdwn import SlackNames, to_markdown
from lore.visible_text import UNSEEN

__all__ = ["addresses_others", "has_words", "mentions", "question_text"]

MAX_CHARACTERS = 12_000
"""More than this of a message is not read: a question that is longer is a log that was pasted."""

_MENTION = re.compile(r"(?:(?<![ \t])[ \t]+)?<@(?P<user>[A-Z0-9]+)(?:\|[^<>\n]*)?>[ \t]*(?:[:,](?![\w+'-]+:)[ \t]*)?")
_OTHERS = re.compile(r"\s*<(?:@(?P<user>[A-Z0-9]+)|!(?:subteam\^|channel|here|everyone))")
_EMOJI = re.compile(r":[\w+'-]+:")


def mentions(text: str, user: str) -> bool:
    """Whether a message, in Slack's mrkdwn, mentions this user. What stands in code is no mention."""
    return any(match["user"] == user for match in _MENTION.finditer(text))


def addresses_others(text: str, bot: str) -> bool:
    """Whether a message begins with a mention of somebody else than the bot, or of a group."""
    match = _OTHERS.match(text)
    return match is not None and match["user"] != bot


def question_text(text: str, bot: str, names: SlackNames | None = None) -> str:
    """The question in a message: without the mention of the bot, as plain Markdown, cut at MAX_CHARACTERS, and without
    what nobody sees: a model would read what people cannot, and halves of characters are no text to a model at all.

    Whom `names` does not know keeps the id, so that a mention of another person stays data and reaches nobody.
    """
    return to_markdown(_without(text[:MAX_CHARACTERS].translate(UNSEEN), bot), names or SlackNames()).strip()


def has_words(text: str) -> bool:
    """Whether there is a word in it: not only emoji and punctuation."""
    return re.search(r"\w", _EMOJI.sub(" ", text)) is not None


def _without(text: str, bot: str) -> str:
    def gap(match: re.Match[str]) -> str:
        if match["user"] != bot:
            return match[0]
        before, after = text[: match.start()][-1:], text[match.end() :][:1]
        return "" if before in ("", "\n") or after in ("", "\n", *"?!.;") else " "

    return _MENTION.sub(gap, text)
