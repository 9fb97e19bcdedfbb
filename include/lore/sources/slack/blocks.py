"""Markdown from Block Kit: the blocks of messages and attachments that apps post."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lore.sources.payload import Payload, as_integer, as_list, as_mapping, as_mappings, as_text
from lore.sources.slack.mrkdwn import SlackNames, escape, to_markdown

__all__ = ["added_blocks"]

MAX_DEPTH = 4
STYLES = (("bold", "*"), ("italic", "_"), ("strike", "~"), ("code", "`"))
MENTIONS = {"user": ("@", "user_id"), "channel": ("#", "channel_id"), "usergroup": ("!subteam^", "usergroup_id")}
TEXT_FIELDS = ("title", "subtitle", "text", "body", "description", "alt_text", "fields", "elements", "rows")
"""Fields of a block with text or with further blocks; buttons and inputs (`actions`, `input`) have none for readers."""
SHARED_WORDS = 0.75
"""Share of a rich text's words in the message's text from which on the two are the same."""
NOT_WORDS = re.compile(r"\(https?://[^)\s]*\)|:[\w+-]+:")
"""Targets of links, and emoji, which text and blocks write differently."""
SKIPPED = frozenset({"actions", "context_actions", "input", "divider"})


def added_blocks(blocks: object, said: str, names: SlackNames) -> list[str]:
    """Return the Markdown of the blocks whose words are missing in `said`, a message's own text.

    Slack repeats what a person types in both, with small differences; an app's text may only summarize its blocks.
    """
    found = _words(said)
    pieces = (
        piece for block in _as_blocks(blocks) for piece in _pieces(block, names) if not _repeats(block, piece, found)
    )
    return [piece for piece in pieces if _words(piece)]


def _repeats(block: Payload, piece: str, said: list[str]) -> bool:
    words = _words(piece)
    if f" {' '.join(words)} " in f" {' '.join(said)} ":
        return True
    shared = sum(word in said for word in words)
    return block.get("type") == "rich_text" and shared >= SHARED_WORDS * len(words)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", NOT_WORDS.sub(" ", text).casefold())


def _as_blocks(value: object) -> list[Payload]:
    return as_mappings(value if isinstance(value, list) else [value])


def _pieces(block: Payload, names: SlackNames, depth: int = 0) -> Iterator[str]:
    kind, text = as_text(block.get("type")), block.get("text")
    if kind in SKIPPED or depth > MAX_DEPTH:
        return
    if kind in ("plain_text", "raw_text"):
        yield escape(as_text(text))
    elif kind == "mrkdwn":
        yield to_markdown(as_text(text), names)
    elif kind == "markdown":
        yield as_text(text).strip()
    elif kind == "rich_text":
        yield to_markdown("\n".join(_rich_text(block)), names)
    elif kind == "table":
        yield _table(block, names)
    else:
        for value in (block.get(field) for field in TEXT_FIELDS):
            if isinstance(value, str):
                yield escape(value)
            for inner in _as_blocks(value):
                yield from _pieces(inner, names, depth + 1)


def _rich_text(block: Payload) -> Iterator[str]:
    """Yield rich text as mrkdwn, a list item or paragraph each."""
    for element in as_mappings(block.get("elements")):
        kind = element.get("type")
        if kind == "rich_text_list":
            indent = "  " * min(as_integer(element.get("indent")) or 0, 8)
            for number, item in enumerate(as_mappings(element.get("elements")), 1):
                mark = f"{number}." if element.get("style") == "ordered" else "•"
                yield f"{indent}{mark} {_inline(item)}"
        elif kind == "rich_text_preformatted":
            yield f"```\n{_inline(element, code=True)}\n```"
        elif kind == "rich_text_quote":
            yield "\n".join(f"&gt; {line}" for line in _inline(element).split("\n"))
        else:
            yield _inline(element)


def _inline(element: Payload, *, code: bool = False) -> str:
    return "".join(_mrkdwn(part, code) for part in as_mappings(element.get("elements")))


def _mrkdwn(part: Payload, code: bool) -> str:
    kind, text = as_text(part.get("type")), _escape_entities(as_text(part.get("text")))
    if kind in MENTIONS:
        sign, key = MENTIONS[kind]
        return f"<{sign}{as_text(part.get(key))}>"
    if kind == "broadcast":
        return f"<!{as_text(part.get('range'))}>"
    if kind == "emoji":
        return f":{as_text(part.get('name'))}:"
    if kind == "date":
        return _escape_entities(as_text(part.get("fallback")))
    if kind == "link":
        url = as_text(part.get("url"))
        return f"<{url}|{text}>" if text else f"<{url}>"
    if code or not text.strip():
        return text
    for style, mark in STYLES:
        if as_mapping(part.get("style")).get(style) is True:
            text = f"{mark}{text}{mark}"
    return text


def _escape_entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _table(block: Payload, names: SlackNames) -> str:
    rows = [
        [" ".join(" ".join(_pieces(as_mapping(cell), names, 1)).replace("|", r"\|").split()) for cell in as_list(row)]
        for row in as_list(block.get("rows"))
    ]
    if not rows or not rows[0]:
        return ""
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
