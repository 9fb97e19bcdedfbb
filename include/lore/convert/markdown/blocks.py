"""Blocks of a Markdown text, between which a splitter cuts: headings, fenced code, tables, paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from lore.convert.markdown.headings import plain_text

__all__ = ["LONGEST_NAME", "PARAGRAPH", "Block", "blocks_of", "lines_of"]

LONGEST_NAME = 500
"""Every passage repeats its title and headings, so a title of a megabyte would make gigabytes."""
LONGEST_HEADER = 400
"""Characters of a table's header that each of its pieces repeats."""
PARAGRAPH = 7
"""Level of a block that isn't a heading; headings have 1 to 6, and the lowest number is the strongest break."""

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a text. `path` are the headings above it, and its own; `by_lines` allows cuts between lines only."""

    start: int
    end: int
    level: int
    path: tuple[str, ...]
    by_lines: bool = False
    header: str = ""
    """Of a table: its header row and the line below it."""
    body: int = 0
    """Of a table: where its rows start."""

    @property
    def is_heading(self) -> bool:
        """True for a heading with a name."""
        return self.level < PARAGRAPH and bool(self.path)


def lines_of(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each line, with its line feed."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, end
        start = end


def blocks_of(text: str) -> Iterator[Block]:
    """Yield adjoining blocks; blank lines belong to the block before them."""
    lines = list(lines_of(text))
    fences = _fences(text, lines)
    path: list[tuple[int, str]] = []
    index = 0
    while index < len(lines):
        last, level, title, by_lines = _block_at(text, lines, fences, index)
        if level < PARAGRAPH:
            path = [item for item in path if item[0] < level] + [(level, title)]
        while last + 1 < len(lines) and not text[slice(*lines[last + 1])].strip():
            last += 1
        names = tuple(name for _, name in path if name)
        header, body = _table_header(text, lines[index : last + 1]) if by_lines and index not in fences else ("", 0)
        yield Block(lines[index][0], lines[last][1], level, names, by_lines, header, body)
        index = last + 1


def _block_at(
    text: str, lines: list[tuple[int, int]], fences: dict[int, int], index: int
) -> tuple[int, int, str, bool]:
    """Return the block that starts at a line: last line, level, title, and True if it is cut between lines only."""
    line = text[slice(*lines[index])].rstrip("\r\n")
    if heading := _ATX.match(line):
        return index, len(heading[1]), plain_text(heading[2] or "")[:LONGEST_NAME], False
    if index in fences:
        return fences[index], PARAGRAPH, "", True
    last, table = index, False
    while last + 1 < len(lines):
        following = text[slice(*lines[last + 1])].rstrip("\r\n")
        if not following.strip() or _ATX.match(following) or last + 1 in fences:
            break
        if not table and (underline := _SETEXT.match(following)) and line.strip():
            words = " ".join(text[lines[index][0] : lines[last][1]].split())
            return last + 1, 1 if underline[1][0] == "=" else 2, plain_text(words)[:LONGEST_NAME], False
        table = table or ("|" in text[slice(*lines[last])] and "|" in following and bool(_TABLE_RULE.match(following)))
        last += 1
    return last, PARAGRAPH, "", table


def _table_header(text: str, lines: list[tuple[int, int]]) -> tuple[str, int]:
    """Return a table's header row with the line below it, "" for a very long one, and the start of its first row."""
    for (start, _), (rule, end) in pairwise(lines):
        if "|" in text[start:rule] and _TABLE_RULE.match(text[rule:end].rstrip("\r\n")):
            header = text[start:end].rstrip()
            return (header, end) if len(header) <= LONGEST_HEADER else ("", end)
    return "", 0


def _fences(text: str, lines: list[tuple[int, int]]) -> dict[int, int]:
    """Return the fenced code blocks, opening line → closing line, in one pass over any input."""
    fences: dict[int, int] = {}
    unclosed: set[tuple[str, int]] = set()
    index = 0
    while index < len(lines):
        opening = _FENCE.match(text, *lines[index])
        if opening:
            mark, indent = opening[2], opening[1]
            closing = _closing(text, lines, index, mark) if (mark[0], len(mark)) not in unclosed else None
            if closing is None:
                unclosed.add((mark[0], len(mark)))
                # CommonMark lets an open fence run to the end, but one inside a list ends with the list.
                closing = None if indent else len(lines) - 1
            if closing is not None:
                fences[index] = closing
                index = closing
        index += 1
    return fences


def _closing(text: str, lines: list[tuple[int, int]], opening: int, mark: str) -> int | None:
    pattern = re.compile(rf"[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?\n?$")
    for index in range(opening + 1, len(lines)):
        if pattern.fullmatch(text, *lines[index]):
            return index
    return None
