"""The text beside a message's blocks: what a notification shows and a screen reader says."""

from __future__ import annotations

import html
import re

from lore.slackbot.render.characters import JOINER, mrkdwn, pieces
from lore.slackbot.render.links import unescaped

__all__ = ["LONGEST_TEXT", "plain"]

LONGEST_TEXT = 2_800

_FENCE = re.compile(r"^(?:> )*```[\w+#.\-]*$\n?", re.MULTILINE)
_LINK = re.compile(r"\[((?:[^\[\]\\]|\\.|\[[^\[\]]*\])*)\]\((?:https?|mailto):[^()\s]*\)")
_LINE_START = re.compile(r"^(?:> ?)*(?:#{1,6} )?", re.MULTILINE)
_DELIMITER = re.compile(r"^\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$\n?", re.MULTILINE)
_STRONG = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*|~~(?=\S)(.+?)(?<=\S)~~")
_CODE = re.compile(r"(?<![`\\])(`+)(?!`)(.+?)(?<!`)\1(?!`)")


def plain(markdown: str) -> str:
    """Safe Markdown as plain text for Slack, its first characters if it is long; "" for nothing."""
    text = _FENCE.sub("", markdown[: 3 * LONGEST_TEXT])
    text = _LINE_START.sub("", _DELIMITER.sub("", text))
    text = _LINK.sub(r"\1", text)
    text = _STRONG.sub(lambda match: match[1] or match[2], text)
    text = _CODE.sub(r"\2", text)
    text = html.unescape(unescaped(text)).replace(JOINER, "").strip()
    escaped = mrkdwn(text)
    if len(escaped) <= LONGEST_TEXT:
        return escaped
    most = LONGEST_TEXT - 1
    while len(escaped := mrkdwn(next(pieces(text, most)).rstrip()) + "…") > LONGEST_TEXT:
        most -= len(escaped) - LONGEST_TEXT
    return escaped
