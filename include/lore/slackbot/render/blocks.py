"""Markdown as fragments of safe Markdown: markdown-it-py finds the blocks, this module writes their lines again.

The lines are written in the few forms that Slack's markdown block documents: code blocks stand at the left margin
between three backticks, thematic breaks are `---`, an indented paragraph is a paragraph. HTML is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from lore.slackbot.render.characters import CODE_TICK, JOINER, guard_code, pieces
from lore.slackbot.render.fragments import BreakRank, Fragment
from lore.slackbot.render.inline import safe_line, words

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["fragments"]

MOST_COLUMNS = 20
LONGEST_HEADING = 150
"""Characters of a header in Slack."""
LONGEST_ROW = 1_500
LONGEST_CODE_LINE = 600
LONGEST_PIECE = 300
DEEPEST_QUOTE = 5
DEEPEST_INDENT = 32
DEEPEST_NESTING = 60
FENCE = "```"
"""The only sign of a code block that Slack documents. Joiners part three backticks in the code itself."""

_LINE = re.compile(r"(?P<quote>(?:[ ]{0,3}>[ ]?)*)(?P<indent>[ \t]*)(?P<rest>.*)", re.DOTALL)
_ITEMS = re.compile(r"(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$))*")
_LANGUAGE = re.compile(r"[\w+#.\-]{1,40}")
_UNDERLINE = re.compile(r"(?:=+|-+)\s*$")
_MAY_BE_A_MARK = re.compile(r"[-+*_=~`:|#\d.)>\s\[\]!<&\\]*$|[|#]|`{3}|~{3}")
_TICKS = re.compile("`{3,}")


@cache
def _parser() -> MarkdownIt:
    """Return the parser of blocks: without HTML, and without what would change the meaning of lines before it."""
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark", {"maxNesting": DEEPEST_NESTING}).enable("table")
    return markdown.disable(["reference", "lheading", "code", "html_block", "inline"])


def fragments(text: str, *, whole: bool = True) -> list[Fragment]:
    """Return the fragments of a text, in order.

    Where the text isn't `whole`, return only those that nothing following can change.
    """
    return list(_BlockWriter(text, whole).write())


@dataclass(frozen=True, slots=True)
class _Head:
    """The beginning of a line: quotation marks, spaces and list markers."""

    quote: str
    indent: int
    items: str = ""

    @classmethod
    def of(cls, prefix: str) -> _Head:
        match = _LINE.match(prefix)
        assert match  # noqa: S101  every part of the pattern may be empty
        quote = "> " * min(match["quote"].count(">"), DEEPEST_QUOTE)
        return cls(quote, len(match["indent"].expandtabs(4)), match["rest"].expandtabs(4))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a paragraph or table, apart from its beginning."""

    number: int
    head: _Head
    content: str


class _BlockWriter:
    """Writes the blocks of one text, line by line."""

    def __init__(self, text: str, whole: bool) -> None:
        self._lines = text.split("\n")
        self._whole = whole
        self._tokens = _parser().parse(text)
        self._known = len(self._lines) - (not whole and not self._ends_in_prose())
        """The number of lines that are certain to be what they look like."""
        self._next = 0
        """The number of the first line that isn't written yet."""
        self._started = False
        self._above = ""
        self._after_heading = False
        self._quote = ""
        self._column = 0
        """The column at which the text of the last list item begins; 0 outside of lists."""

    def write(self) -> Iterator[Fragment]:
        """Yield the fragments of all blocks."""
        for number, token in enumerate(self._tokens):
            if token.map is None or token.map[0] >= self._known:
                continue
            first, end = token.map
            if token.type == "paragraph_open":
                yield from self._skip_to(first)
                contents = self._tokens[number + 1].content.split("\n")[: self._known - first]
                yield from self._prose([self._line(line, one.strip()) for line, one in enumerate(contents, first)])
            elif token.type == "heading_open":
                yield from self._skip_to(first)
                yield from self._heading(first, token.markup, self._tokens[number + 1].content)
            elif token.type == "fence":
                yield from self._skip_to(first)
                yield from self._fence(token, first, end)
            elif token.type == "hr":
                yield from self._skip_to(first)
                quote = _Head.of(self._lines[first]).quote
                yield self._single(first, f"{quote}---", self._space(first, quote), BreakRank.BLOCK, part=True)
            elif token.type == "table_open":
                yield from self._skip_to(first)
                yield from self._table(first, min(end, self._known))
        yield from self._skip_to(self._known)

    def _ends_in_prose(self) -> bool:
        """True if the last line, which may not be whole, is certain to be one of a paragraph."""
        for token, inline in zip(self._tokens, self._tokens[1:], strict=False):
            if token.type == "paragraph_open" and token.map and token.map[1] == len(self._lines):
                last = inline.content.rpartition("\n")[2].strip()
                return bool(last) and self._lines[-1].rstrip().endswith(last) and not _MAY_BE_A_MARK.match(last)
        return False

    # ------------------------------------------------------------------------------------------- beginnings of lines

    def _skip_to(self, number: int) -> Iterator[Fragment]:
        """Write the lines before this one that the parser has in no block: marks alone, and what is nested too deep."""
        for skipped in range(self._next, min(number, self._known)):
            line = self._line(skipped)
            if line.content.strip("#"):
                yield from self._prose([line])
            elif line.content or line.head.items:
                yield self._single(skipped, self._lines[skipped].strip(), self._space(skipped), BreakRank.LINE)

    def _line(self, number: int, content: str | None = None) -> _Line:
        """Return a line apart from its beginning; the parser says what its `content` is, or patterns do."""
        line = self._lines[number].rstrip()
        if content and line.endswith(content):
            return _Line(number, _Head.of(line.removesuffix(content)), content)
        head = _Head.of(line)
        items = _ITEMS.match(head.items)
        end = items.end() if items else 0
        return _Line(number, replace(head, items=head.items[:end]), content or head.items[end:])

    def _gap(self, number: int) -> list[str]:
        """Return the quotation marks on each of the blank lines before this one."""
        return [_Head.of(line).quote.rstrip() for line in self._lines[self._next : number]] if self._started else []

    def _space(self, number: int, apart: str | None = None) -> str:
        """Return what stands before a line: a line feed, two after a blank line, or where it has to be `apart`."""
        gap = self._gap(number) or ([] if apart is None else [apart.rstrip()])
        if not self._started:
            return ""
        return f"\n{'' if '' in gap else gap[0]}\n" if gap else "\n"

    def _ranked(self, rank: BreakRank) -> BreakRank:
        """Return the rank of a line: what a heading, or a line with a colon, introduces stays with it."""
        if self._after_heading:
            return BreakRank.GLUED
        introduced = rank < BreakRank.SECTION and self._above.rstrip("*_ ").endswith((":", "："))
        return min(rank, BreakRank.LINE) if introduced else rank

    def _begin(self, line: _Line, word: Fragment, apart: str | None = None) -> Fragment:
        """Return the first word of a line with what stands before it."""
        number, head = line.number, line.head
        gap = self._gap(number) or ([] if apart is None else [apart])
        indent = self._indented(head, bool(gap))
        if head.items:
            rank = BreakRank.ITEM if indent == 0 and (gap or self._column) else BreakRank.LINE
            self._column = indent + len(head.items)
        else:
            rank = BreakRank.LINE if not gap or indent else BreakRank.BLOCK
        if head.quote and gap and "" not in gap:
            rank = BreakRank.ITEM
        begun = replace(
            word,
            text=head.quote + " " * indent + head.items + word.text,
            space=self._space(number, apart),
            rank=self._ranked(rank),
            reopening="" if head.quote or head.items else word.reopening.removesuffix(JOINER),
            indent=0 if head.quote else indent,
        )
        self._next, self._started, self._above, self._after_heading = number + 1, True, begun.text, False
        return begun

    def _indented(self, head: _Head, gap: bool) -> int:
        """Return by how many spaces a line is indented, so that nobody takes it for code."""
        if head.quote != self._quote or (head.indent == 0 and gap and not head.items):
            self._column = 0
        self._quote = head.quote
        if not self._column:
            return min(head.indent, 3) if head.items else 0
        return min(head.indent, self._column + 3, DEEPEST_INDENT)

    def _single(self, number: int, text: str, space: str, rank: BreakRank, **more: Any) -> Fragment:
        """Return a line that is one fragment."""
        fragment = Fragment(text, space, self._ranked(rank), **more)
        self._next, self._started, self._above = number + 1, True, text
        self._after_heading, self._column = False, 0
        return fragment

    # --------------------------------------------------------------------------------------------- paragraphs, headings

    def _prose(self, lines: Sequence[_Line], apart: str | None = None) -> Iterator[Fragment]:
        """Write the lines of a paragraph. A line that may be a row of a table is read for itself."""
        for has_bar, group in groupby(lines, key=lambda line: "|" in line.content):
            together = list(group)
            for chunk in [[line] for line in together] if has_bar else self._chunks(together):
                yield from self._words(chunk, apart)
                apart = None

    def _chunks(self, lines: list[_Line]) -> list[list[_Line]]:
        """Return lines whose code and links may go on from one into the next.

        The last line may still become a row of a table, so it is read only if nothing is open before it.
        """
        if self._whole or len(lines) < 2 or lines[-1].number < len(self._lines) - 1:
            return [lines]
        before = "\n".join(map(self._escaped, lines[:-1])) + "\n"
        if len(words(before, whole=False)) == len(words(before)):
            return [lines[:-1], lines[-1:]]
        self._known -= 1
        return [lines[:-1]]

    def _words(self, lines: Sequence[_Line], apart: str | None) -> Iterator[Fragment]:
        """Write lines that are read together."""
        last = lines[-1].number
        is_unfinished = last == len(self._lines) - 1
        tail = self._lines[last][len(self._lines[last].rstrip()) :] if is_unfinished else "\n"
        text = "\n".join(map(self._escaped, lines)) + tail
        place = -1
        for word in words(text, whole=self._whole or last < self._known - 1):
            if place < 0 or "\n" in word.space:
                place += word.space.count("\n") + (place < 0)
                yield self._begin(lines[place], word, apart)
                apart = None
            else:
                self._above += word.space + word.text
                yield replace(word, reopening=self._quote + word.reopening)
        self._next = last + 1

    def _escaped(self, line: _Line) -> str:
        """Return the content of a line, which must not underline the one above."""
        is_below = line.number > 0 and _Head.of(self._lines[line.number - 1]).items != ""
        return "\\" * (is_below and _UNDERLINE.match(line.content) is not None) + line.content

    def _heading(self, number: int, marks: str, text: str) -> Iterator[Fragment]:
        line = self._lines[number]
        head = _Head.of(line[: line.find(marks)])
        safe = safe_line(text)
        if len(text) > LONGEST_HEADING:
            yield from self._prose([_Line(number, replace(head, indent=0), text)], head.quote.rstrip())
        elif safe:
            written = f"{head.quote}{head.items}{marks} {safe}"
            yield self._single(number, written, self._space(number), BreakRank.SECTION, part=True)
            self._above, self._after_heading = "", True

    # ------------------------------------------------------------------------------------------------- code and tables

    def _fence(self, token: Token, first: int, end: int) -> Iterator[Fragment]:
        head = _Head.of(self._lines[first][: self._lines[first].find(token.markup)])
        language = _LANGUAGE.match(token.info.strip())
        quote, rank = head.quote, BreakRank.BLOCK if self._gap(first) else BreakRank.LINE
        opening, closing = f"{quote}{FENCE}{language[0] if language else ''}", f"{quote}{FENCE}"
        if head.items:  # below an empty line: a bare mark would underline the line above
            marker = quote + " " * self._indented(head, bool(self._gap(first))) + head.items.rstrip()
            yield self._single(first, marker, self._space(first, quote), BreakRank.LINE)
            rank = BreakRank.GLUED
        yield self._single(first, opening, self._space(first), rank, after=f"\n{closing}", part=True)
        code = token.content.removesuffix("\n").split("\n") if token.content else []
        around = Fragment("", closing=f"\n{closing}", reopening=f"{opening}\n", after=f"\n{closing}")
        rank, space = BreakRank.GLUED, "\n"
        for line in code[: self._known - first - 1]:
            if line.strip():
                yield from _code_line(line.rstrip(), quote, replace(around, space=space, rank=rank))
                rank, space = BreakRank.SENTENCE, "\n"
            else:
                rank, space = BreakRank.LINE if rank else rank, f"{space}{quote.rstrip()}\n"
        is_closed = end - first > len(code) + 1
        self._next, self._above = min(end, self._known), ""
        if self._whole or end < self._known + is_closed:
            yield replace(around, text=closing, space=space, rank=BreakRank.GLUED, after="")

    def _table(self, first: int, end: int) -> Iterator[Fragment]:
        """Write a table; one that is too wide for Slack becomes lines of text."""
        header, *others = [self._line(number) for number in range(first, end)]
        yield from self._prose([header])
        head, table, rank = self._above, "", BreakRank.GLUED
        is_wide = any(line.content.strip("|").count("|") >= MOST_COLUMNS for line in others[:1])
        for line in others:
            inset = line.head.quote + " " * min(line.head.indent, self._column)
            if is_wide:
                bare = "\\" * (line.number == first + 1) + line.content
                yield from self._prose([replace(line, content=bare)])
            elif line.number == first + 1:
                yield self._single(line.number, inset + line.content, "\n", BreakRank.GLUED)
                table = f"{head}\n{line.content}\n" if len(head) + len(line.content) <= LONGEST_ROW else ""
            elif len(row := safe_line(line.content)) > LONGEST_ROW:
                yield from self._prose([line])
            else:
                self._next, self._above = line.number + 1, ""
                yield Fragment(inset + row, "\n", rank, reopening=table, row=True)
                rank = BreakRank.ITEM


def _code_line(code: str, quote: str, around: Fragment) -> Iterator[Fragment]:
    """Write a line of code as `around` says, in pieces where it is endless."""
    safe = _TICKS.sub(lambda run: CODE_TICK * len(run[0]), guard_code(code))
    for number, piece in enumerate(pieces(safe, LONGEST_PIECE) if len(safe) > LONGEST_CODE_LINE else [safe]):
        if number:
            yield replace(around, text=piece, space="", rank=BreakRank.INSIDE, reopening=around.reopening + quote)
        else:
            yield replace(around, text=quote + piece)
