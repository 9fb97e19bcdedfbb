"""How the tests read what was rendered: with a Markdown parser that is not ours, and with eyes for mentions."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Sequence

from lore.slackbot.render.characters import CODE_LESS, CODE_TICK, JOINER
from lore.slackbot.types import SlackMessage
from lore.types import Answer, Citation, Plan, Question, Trace
from lore.visible_text import UNSEEN
from markdown_it import MarkdownIt
from markdown_it.token import Token

__all__ = ["answer", "cited", "code_of", "letters", "markdown_of", "mentions", "misread", "texts_of", "tokens", "words"]

_PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_TOKEN = re.compile(r"<\s*(?:![a-z]|[@#][A-Z0-9])", re.IGNORECASE)
_NAME = re.compile(r"(?<![^\W_])@(?:here|channel|everyone|group)", re.IGNORECASE)
_BARE = re.compile(r"[*_~`\\\u200b-\u200f\ufe00-\ufe0f\u034f]")
_DESTINATION = re.compile(
    r"""\(\s*(?:<(?P<angled>[^<>]*)>|(?P<plain>(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.|\([^\s()]*\))*\))*))
        (?:\s+(?:"[^"]*"|'[^']*'|\([^()]*\)))?\s*\)""",
    re.VERBOSE,
)
_TARGET = re.compile(r"\]" + _DESTINATION.pattern, re.VERBOSE)
_INFO = re.compile(r"(?m)^([ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:`{3,}(?=[^`\n]*$)|~{3,})[ \t]*[\w+#.\-]*)[^\n]*$")
_FENCE = re.compile(r"(?:> )*```")


def answer(text: str, citations: Sequence[Citation] = (), nearest: Sequence[Citation] = ()) -> Answer:
    plan = Plan("q", ("q",))
    return Answer(Question("q"), text, tuple(citations), not nearest, Trace(plan), nearest=tuple(nearest), id="a1")


def cited(number: int = 1, title: str = "A page", url: str = "https://docs.example/a", heading: str = "") -> Citation:
    return Citation(number, f"docs:{number}", "c", "docs", url, title, (heading,) if heading else (), "quote")


def markdown_of(message: SlackMessage) -> str:
    return "\n".join(block["text"] for block in message.blocks if block["type"] == "markdown")


def texts_of(message: SlackMessage) -> Iterator[str]:
    """Every text of a message that Slack reads: its own and that of its blocks."""
    yield message.text
    for block in message.blocks:
        if block["type"] == "markdown":
            yield block["text"]
        for element in block.get("elements", ()):
            if element["type"] == "mrkdwn":
                yield element["text"]


def tokens(markdown: str) -> Iterator[Token]:
    for token in _PARSER.parse(markdown):
        yield token
        yield from token.children or ()


def mentions(message: SlackMessage) -> list[str]:
    """What in a message may call people: Slack's tokens anywhere, names of groups everywhere but in code."""
    found = [match[0] for text in texts_of(message) for match in _TOKEN.finditer(text)]
    lines = [token.children or () for token in tokens(markdown_of(message)) if token.type == "inline"]
    prose = ["".join(" " if child.type == "code_inline" else child.content for child in line) for line in lines]
    small = [element.get("text") for block in message.blocks for element in block.get("elements", ())]
    for text in (message.text, *prose, *(text for text in small if isinstance(text, str))):
        bare = unicodedata.normalize("NFKC", _BARE.sub("", text))
        found.extend(match[0] for match in _NAME.finditer(bare))
    return found


def misread(markdown: str) -> list[str]:
    """What another reader makes of it that it must not: HTML, links elsewhere, code blocks that are not closed."""
    found = []
    for token in tokens(markdown):
        if token.type in ("html_block", "html_inline", "code_block", "image"):
            found.append(f"{token.type}: {token.content[:80]!r}")
        target = str(token.attrs.get("href", "https:"))
        if not re.match(r"https?:|mailto:", target):
            found.append(f"link to {target!r}")
    if sum(1 for line in markdown.split("\n") if _FENCE.match(line)) % 2:
        found.append("a code block is open at the end")
    return found


def words(markdown: str) -> list[str]:
    """The words of a text in order, as read by a person: without addresses of links and what follows the language of a
    code block, references spelt out.
    """
    text = _INFO.sub(r"\1", markdown.replace("\r", "\n")).translate(UNSEEN).replace(JOINER, "").replace("\\&", "&amp;")
    return re.findall(r"\w+", html.unescape(_TARGET.sub("]", text)))


def letters(markdown: str) -> str:
    return "".join(words(markdown))


def code_of(markdown: str) -> list[str]:
    """The code blocks in it, with the signs for which others stand. No code holds an invisible one."""
    assert all(JOINER not in token.content for token in tokens(markdown) if token.type == "fence")
    return [
        token.content.replace(CODE_LESS, "<").replace(CODE_TICK, "`")
        for token in tokens(markdown)
        if token.type == "fence"
    ]
