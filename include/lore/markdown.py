"""Markdown as CommonMark's parser reads it: tokens that can be written again, and fenced code blocks with their places.

The parser is markdown-it-py. It is imported on first use, because it costs 60 ms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["CODE_SPAN", "CodeBlock", "code_blocks", "inline_tokens", "parser", "write_code_span"]

CODE_SPAN = re.compile(r"(?<![`\\])(`+)(?!`)(.*?)(?<!`)\1(?!`)")
"""A code span of one line, with its ticks and its code, for replacing spans in place; tokens have no positions."""
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A fenced code block: characters `start` to `end` of a text, with both fences.

    `fence` is the opening run of backticks or tildes. `closed` is False for a block that ends with
    the text, or with the list or quotation around it.
    """

    start: int
    end: int
    fence: str
    closed: bool


@cache
def parser() -> MarkdownIt:
    """Return the parser of CommonMark with tables and strikethrough; it may be used by several threads.

    Addresses of links stay as written and none is refused: the caller decides. An escape or a character reference is a
    token `text_special`, with its source in `markup` and its character in `content`.
    """
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    markdown.validateLink = lambda url: True  # type: ignore[method-assign]
    markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]
    markdown.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return markdown


def inline_tokens(line: str) -> list[Token]:
    """Parse one line of prose; a code span, a tag and the ends of a link are tokens, and an image has its own."""
    (inline,) = parser().parseInline(line)
    return inline.children or []


def write_code_span(code: str, ticks: str) -> str:
    """Write the code of a `code_inline` token between its `markup`, padded where CommonMark takes a space off."""
    bare = code.strip(" ")
    padded = bare and (code[0] == code[-1] == " " or "`" in (code[0], code[-1]))
    return f"{ticks} {code} {ticks}" if padded else f"{ticks}{code}{ticks}"


def code_blocks(text: str) -> Iterator[CodeBlock]:
    """Yield the fenced code blocks of a text in order, however deep they are indented: a text may begin in a list."""
    if "```" not in text and "~~~" not in text:
        return
    starts = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    for token in _fence_parser().parse(text):
        if token.type == "fence" and token.map:
            first, after = token.map
            inner = token.content.count("\n") + (not token.content.endswith("\n") and token.content != "")
            closed = after - first > inner + 1
            end = len(text) if after >= len(starts) else starts[after]
            yield CodeBlock(starts[first], len(text[:end].rstrip("\r\n")), token.markup, closed)


@cache
def _fence_parser() -> MarkdownIt:
    """Return a parser of fences in lists and quotations alone; without indented code, a fence may be indented."""
    from markdown_it import MarkdownIt

    return MarkdownIt("zero").enable(["fence", "list", "blockquote"])
