"""The blocks of a passage: paragraphs, list items, table rows and code, each with the lines that it can't do without.

A passage is cut from a page, so it may begin inside a list, a table or a code block.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from lore.markdown import parser

if TYPE_CHECKING:
    from markdown_it.token import Token

__all__ = ["ASKS", "Kind", "PassageBlock", "Span", "blocks", "sentences"]

Kind: TypeAlias = Literal["paragraph", "item", "row", "code"]
Span: TypeAlias = tuple[int, int]

_SENTENCE = re.compile(r".+?(?:[.!?][\"')\]`*_]*(?=\s)|[。！？][」』）]*|\Z)\s*", re.DOTALL)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|bzw|(?-i:ca)|nr|usw|ggf|inkl|z\.b|d\.h|[A-Z])\.|^\s*\d+\.)\s*$",
    re.IGNORECASE,
)
_LABEL = re.compile(r"(?:\*\*[^*]+\*\*(?: \([^()]*\))?|`[^`\n]+`(?:,? *(?:or|and|/)? *`[^`\n]+`)*):?")
ASKS = ("?", "？", "か。")
"""Ends of a question, also in Chinese and Japanese."""
LONGEST_LABEL = 120
LABEL_LEVEL = 7
"""Below all levels of headings."""


@dataclass(frozen=True, slots=True)
class PassageBlock:
    """A block at characters `start` to `end` of a text.

    `headings` are those above it in the text, outermost first; a paragraph that is only a bold phrase or a name in
    code, such as a term or the author of a message, is the innermost. `section` is the span from there to the next of
    them. `group` is the span of the whole list or table around an item or row, else its own span. `lead` is the span of
    the lines to show with it: a table's header with its rule, or the sentence before a list or code; None without one.
    `asks` is True for a paragraph that ends with a question, as the first message of a thread does.
    """

    kind: Kind
    start: int
    end: int
    headings: tuple[str, ...] = ()
    section: Span = (0, 0)
    group: Span = (0, 0)
    lead: Span | None = None
    asks: bool = False


def blocks(text: str) -> list[PassageBlock]:
    """Return the blocks of a text in order. Blocks never overlap; headings, labels and rules are not among them."""
    reader = _Reader(text)
    found = list(reader.read())
    starts = [0, *reader.section_starts, len(text)]
    return [replace(block, section=_section(block.start, starts)) for block in found]


def _section(place: int, starts: list[int]) -> Span:
    after = bisect_right(starts, place)
    return starts[after - 1], starts[min(after, len(starts) - 1)]


def sentences(text: str, start: int, end: int) -> list[Span]:
    """Return the spans of the sentences between two characters; an abbreviation doesn't end one."""
    spans: list[Span] = []
    begin = start
    for match in _SENTENCE.finditer(text, start, end):
        if match.end() < end and _ABBREVIATION.search(text[begin : match.end()]):
            continue
        if text[begin : match.end()].strip():
            spans.append((begin, begin + len(text[begin : match.end()].rstrip())))
        begin = match.end()
    return spans


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer(r"\r\n|\r|\n", text)), len(text)]
        self._headings: list[tuple[int, str]] = []
        self._paragraph: Span | None = None
        self.section_starts: list[int] = []

    def read(self) -> Iterator[PassageBlock]:
        tokens = parser().parse(self._text)
        place = 0
        while place < len(tokens):
            token = tokens[place]
            match token.type:
                case "heading_open":
                    self._heading(token, tokens[place + 1].content)
                    place += 2
                case "fence" | "code_block":
                    yield self._block("code", token, lead=self._introduction())
                case "table_open":
                    yield from self._rows(tokens, place)
                    place = _closing(tokens, place)
                case "bullet_list_open" | "ordered_list_open":
                    yield from self._items(tokens, place)
                    place = _closing(tokens, place)
                case "paragraph_open" | "html_block":
                    block = self._block("paragraph", token)
                    block = replace(block, asks=self._text[block.start : block.end].endswith(ASKS))
                    if self._is_label(block):
                        self.section_starts.append(block.start)
                    else:
                        yield block
                        self._paragraph = (block.start, block.end)
                        place += 1
                        continue
            if token.nesting >= 0 and token.type not in ("inline", "blockquote_open"):
                self._paragraph = None
            place += 1

    def _heading(self, token: Token, content: str) -> None:
        level = int(token.tag[1:])
        self._headings = [(depth, name) for depth, name in self._headings if depth < level]
        self._headings.append((level, content.strip()))
        self.section_starts.append(self._span(token)[0])

    def _is_label(self, block: PassageBlock) -> bool:
        """Take a paragraph that is only a bold phrase or names in code as a heading of what follows."""
        text = self._text[block.start : block.end].strip()
        if len(text) > LONGEST_LABEL or not _LABEL.fullmatch(text):
            return False
        self._headings = [
            *((depth, name) for depth, name in self._headings if depth < LABEL_LEVEL),
            (LABEL_LEVEL, text),
        ]
        return True

    def _rows(self, tokens: list[Token], place: int) -> Iterator[PassageBlock]:
        group = self._span(tokens[place])
        first = self._lines.index(group[0])
        header = (group[0], self._end(first + 2))
        body = False
        for token in tokens[place : _closing(tokens, place)]:
            body = body or token.type == "tbody_open"
            if body and token.type == "tr_open":
                yield self._block("row", token, group=group, lead=header)

    def _items(self, tokens: list[Token], place: int) -> Iterator[PassageBlock]:
        """Yield the items of a list; of nested lists the innermost ones, and what an outer item says before them."""
        group, lead = self._span(tokens[place]), self._introduction()
        end = _closing(tokens, place)
        starts = [at for at in range(place, end) if tokens[at].type == "list_item_open"]
        for at in starts:
            start, stop = self._span(tokens[at])
            inner = next(
                (one for one in range(at + 1, _closing(tokens, at)) if tokens[one].type.endswith("_list_open")), None
            )
            if inner is not None:
                stop = self._span(tokens[inner])[0]
            stop = start + len(self._text[start:stop].rstrip())
            if self._text[start:stop].strip():
                yield PassageBlock("item", start, stop, self._names(), group=group, lead=lead)

    def _introduction(self) -> Span | None:
        """Return the last sentence of the paragraph just before, if it is there to introduce what follows."""
        if self._paragraph is None:
            return None
        last = sentences(self._text, *self._paragraph)[-1:]
        return last[0] if last else None

    def _block(self, kind: Kind, token: Token, *, group: Span | None = None, lead: Span | None = None) -> PassageBlock:
        start, end = self._span(token)
        return PassageBlock(kind, start, end, self._names(), group=group or (start, end), lead=lead)

    def _names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self._headings)

    def _span(self, token: Token) -> Span:
        first, after = token.map or (0, 0)
        return self._lines[first], self._end(after)

    def _end(self, line: int) -> int:
        """Return where the text before a line ends, without the line breaks between."""
        end = self._lines[min(line, len(self._lines) - 1)]
        return len(self._text[:end].rstrip("\r\n"))


def _closing(tokens: list[Token], place: int) -> int:
    """Return the place of the token that closes the one at `place`."""
    level = tokens[place].level
    return next(at for at in range(place + 1, len(tokens)) if tokens[at].level == level and tokens[at].nesting == -1)
