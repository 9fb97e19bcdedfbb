"""The text beside a message's blocks: what a notification shows and a screen reader says."""

from __future__ import annotations

from lore.markdown import parser
from lore.slackbot.render.characters import JOINER, mrkdwn, pieces

__all__ = ["LONGEST_TEXT", "plain"]

LONGEST_TEXT = 2_800


def plain(markdown: str) -> str:
    """Return safe Markdown as plain text for Slack, only its beginning if it is long; "" for nothing."""
    text, item, end = "", "", 0
    for token in parser().parse(markdown[: 3 * LONGEST_TEXT]):
        if token.type == "list_item_open":
            item += f"{token.info}{token.markup} "
        elif token.type in ("inline", "fence") and token.map:
            said = "".join("\n" if one.type == "softbreak" else one.content for one in token.children or [])
            gap = "\n\n" if token.map[0] > end else "\n" if token.map[1] > end else " | "
            text += gap * bool(text) + item + (said or token.content.rstrip("\n"))
            item, end = "", token.map[1]
    text = text.replace(JOINER, "").strip()
    escaped = mrkdwn(text)
    if len(escaped) <= LONGEST_TEXT:
        return escaped
    most = LONGEST_TEXT - 1
    while len(escaped := mrkdwn(next(pieces(text, most)).rstrip()) + "…") > LONGEST_TEXT:
        most -= len(escaped) - LONGEST_TEXT
    return escaped
