"""The sources of an answer as a compact list: a number and a linked title on each line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lore.slackbot.render import phrases
from lore.slackbot.render.characters import JOINER, mrkdwn, shorten
from lore.slackbot.types import Block
from lore.types import Answer, Citation
from lore.visible_text import web_address

__all__ = ["source_blocks"]

MOST_SOURCES = 10
MOST_NEAREST = 5
LONGEST_TITLE = 80
LONGEST_LINK = 600
LONGEST_LIST = 2_400
"""Characters of the list: together with the longest Markdown, Slack still accepts the message."""

_MARKS = re.compile(r"([*_~`])")


def source_blocks(answer: Answer) -> tuple[Block, ...]:
    """Return a block with the cited sources, or the nearest pages if there are none; () for neither."""
    if answer.citations:
        lines = [(f"[{citation.number}] ", citation) for citation in answer.citations]
        return (_context(phrases.SOURCES, lines, MOST_SOURCES),)
    if answer.nearest:
        return (_context(phrases.NEAREST, [("• ", citation) for citation in answer.nearest], MOST_NEAREST),)
    return ()


def _context(heading: str, entries: Sequence[tuple[str, Citation]], most: int) -> Block:
    lines = [f"*{heading}*"]
    length = len(lines[0])
    for lead, citation in entries[:most]:
        line = lead + _named(citation)
        if length + len(line) + 1 > LONGEST_LIST:
            break
        lines.append(line)
        length += len(line) + 1
    left = len(entries) - (len(lines) - 1)
    if left:
        lines.append(phrases.and_more(left))
    return small_print("\n".join(lines))


def small_print(text: str) -> Block:
    """Return a block of small text. `text` is mrkdwn in which Slack makes no links or mentions of its own."""
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text, "verbatim": True}]}


def _named(citation: Citation) -> str:
    """Return a page's title and last heading, as a link if it has an address."""
    heading = citation.headings[-1] if citation.headings else ""
    names = dict.fromkeys(name for part in (citation.title, heading) if (name := shorten(part, LONGEST_TITLE)))
    title = (
        shorten(" › ".join(names), LONGEST_TITLE) or shorten(citation.document_id, LONGEST_TITLE) or phrases.UNTITLED
    )
    label = _MARKS.sub(rf"{JOINER}\1{JOINER}", mrkdwn(title.replace("`", "'"))).replace("|", "∣")
    address = mrkdwn(web_address(citation.url))
    return f"<{address}|{label}>" if address and len(address) <= LONGEST_LINK else label
