"""Splitting along headings: passages that fit the embedder, verbatim, never cut inside code or a table without need.

The document is scanned once into blocks (headings, fenced code, tables, paragraphs and lists). A stretch that is over
the budget is cut at its strongest break, a heading of the highest level in it, and neighbours that are small are put
together again; only a block that is over the budget by itself is cut inside: code and tables between lines, prose by
semantic-text-splitter between list items, sentences or words.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from include.lore.convert.markdown import plain
from include.lore.ingest.section_urls import Heading, SectionUrls
from include.lore.protocols import Embedder
from include.lore.types import Chunk, Document

__all__ = ["MarkdownSplitter"]

NAMESPACE = uuid.UUID("6f1f6a0e-6f0b-5d0b-9b0a-3c1d5f5a2b11")
CHARACTERS_PER_TOKEN = 4
LARGEST_BUDGET = 1500
"""Longer passages rank worse and quote worse, however much an embedder can read."""
LONGEST_NAME = 500
"""Title and headings stand in every passage below them, so one of a megabyte would make gigabytes."""
PARAGRAPH = 7
"""The break before a block that is no heading; headings break with their level, 1 to 6, and 1 is the strongest."""

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"([ \t]*)(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class _Block:
    start: int
    end: int
    level: int
    path: tuple[str, ...]
    by_lines: bool = False

    @property
    def is_heading(self) -> bool:
        return self.level < PARAGRAPH and bool(self.path)


class MarkdownSplitter:
    """Cuts converted documents into passages of at most `max_characters`.

    Scripts in which a character is about a token (Chinese, Japanese, Korean) get a budget that is smaller by as much.
    """

    def __init__(self, max_characters: int) -> None:
        self.max_characters = max_characters
        self.name = f"markdown-3:{max_characters}"

    @staticmethod
    def budget_for(embedder: Embedder) -> int:
        """Characters of a passage that the embedder reads to its end."""
        return min(LARGEST_BUDGET, embedder.max_tokens * CHARACTERS_PER_TOKEN)

    def split(self, document: Document) -> list[Chunk]:
        """The passages in order; every `text` is `document.text[start:end]`, and `url` leads to its section."""
        text, title = document.text, document.title[:LONGEST_NAME]
        budget = _budget(text, self.max_characters)
        seen: Counter[tuple[tuple[str, ...], str]] = Counter()
        chunks: list[Chunk] = []
        blocks = list(_blocks(text))
        urls = SectionUrls(
            document, (Heading(block.start, block.level, block.path[-1]) for block in blocks if block.is_heading)
        )
        for start, end, path in _pieces(text, blocks, budget):
            start, end = _trim(text, start, end)
            if start == end:
                continue
            headings = path[1:] if path and path[0] == title else path
            piece = text[start:end]
            key = (headings, piece)
            chunks.append(
                Chunk(
                    id=_chunk_id(document.id, headings, piece, seen[key]),
                    document_id=document.id,
                    source_id=document.source_id,
                    url=urls.at(start),
                    title=title,
                    headings=headings,
                    text=piece,
                    position=len(chunks),
                    start=start,
                    end=end,
                    audiences=document.audiences,
                    updated_at=document.updated_at,
                )
            )
            seen[key] += 1
        return chunks


def _chunk_id(document_id: str, headings: tuple[str, ...], text: str, occurrence: int) -> str:
    parts = (document_id, *headings, text, str(occurrence))
    name = "\0".join(f"{len(part)}:{part}" for part in parts)
    return str(uuid.uuid5(NAMESPACE, name.encode("utf-8", "backslashreplace").decode()))


def _budget(text: str, characters: int) -> int:
    if not text:
        return characters
    share = sum(1 for _ in _WIDE.finditer(text)) / len(text)
    return max(1, round(characters / (1 + share * (CHARACTERS_PER_TOKEN - 1))))


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Take white space off the end and blank lines off the front; the first line keeps its indentation."""
    end = start + len(text[start:end].rstrip())
    blank = len(text[start:end]) - len(text[start:end].lstrip())
    return (start + text[start : start + blank].rfind("\n") + 1 if blank else start), end


# ---------------------------------------------------------------------------------------------------------- blocks


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield start, end
        start = end


def _blocks(text: str) -> Iterator[_Block]:
    """Scan into blocks that touch: each ends where the next begins, blank lines belong to the block before."""
    lines = list(_lines(text))
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
        yield _Block(lines[index][0], lines[last][1], level, names, by_lines)
        index = last + 1


def _block_at(
    text: str, lines: list[tuple[int, int]], fences: dict[int, int], index: int
) -> tuple[int, int, str, bool]:
    """The block that starts at a line: its last line, its level, its title, and whether it is cut by lines only."""
    line = text[slice(*lines[index])].rstrip("\r\n")
    if heading := _ATX.match(line):
        return index, len(heading[1]), plain(heading[2] or "")[:LONGEST_NAME], False
    if index in fences:
        return fences[index], PARAGRAPH, "", True
    last, table = index, False
    while last + 1 < len(lines):
        following = text[slice(*lines[last + 1])].rstrip("\r\n")
        if not following.strip() or _ATX.match(following) or last + 1 in fences:
            break
        if not table and (underline := _SETEXT.match(following)) and line.strip():
            words = " ".join(text[lines[index][0] : lines[last][1]].split())
            return last + 1, 1 if underline[1][0] == "=" else 2, plain(words)[:LONGEST_NAME], False
        table = table or ("|" in text[slice(*lines[last])] and "|" in following and bool(_TABLE_RULE.match(following)))
        last += 1
    return last, PARAGRAPH, "", table


def _fences(text: str, lines: list[tuple[int, int]]) -> dict[int, int]:
    """The fenced code blocks: the line that opens each and the line that closes it. One pass, whatever the input."""
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


# ---------------------------------------------------------------------------------------------------------- pieces


def _pieces(text: str, blocks: list[_Block], budget: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Cut a run of blocks that touch into stretches (start, end, heading path) within the budget."""
    if not blocks:
        return
    if _size(text, blocks[0].start, blocks[-1].end) <= budget:
        yield blocks[0].start, blocks[-1].end, _common([block.path for block in blocks])
        return
    groups = _groups(blocks)
    if len(groups) == 1:
        yield from _cut(text, groups[0], budget)
        return
    run: list[_Block] = []
    for group in groups:
        if run and _size(text, run[0].start, group[-1].end) > budget:
            yield from _pieces(text, run, budget)
            run = []
        run = run + group
    yield from _pieces(text, run, budget)


def _groups(blocks: list[_Block]) -> list[list[_Block]]:
    """Divide at the strongest break inside the run. A heading stays with what follows it."""
    breaks = [
        position
        for position in range(1, len(blocks))
        if blocks[position - 1].level == PARAGRAPH or blocks[position].level <= blocks[position - 1].level
    ]
    if not breaks:
        return [blocks]
    strongest = min(blocks[position].level for position in breaks)
    edges = [0, *(position for position in breaks if blocks[position].level == strongest), len(blocks)]
    return [blocks[start:end] for start, end in pairwise(edges)]


def _cut(text: str, blocks: list[_Block], budget: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Cut inside one block that is over the budget; headings before it stay with its first piece."""
    block, start = blocks[-1], blocks[0].start
    cut = _cut_lines if block.by_lines else _cut_prose
    pieces = list(cut(text, block.start, block.end, budget))
    headings = block.start - start
    if headings > budget // 2:
        pieces[:0] = _cut_prose(text, start, block.start, budget)
    elif headings:
        first = pieces.pop(0)
        pieces[:0] = cut(text, *first, budget - headings)
        pieces[0] = (start, pieces[0][1])
    for piece_start, piece_end in pieces:
        yield piece_start, piece_end, block.path


def _cut_lines(text: str, start: int, end: int, budget: int) -> Iterator[tuple[int, int]]:
    """Whole lines up to the budget; a line that is longer by itself is cut like prose."""
    piece = start
    for line_start, line_end in _lines(text[start:end]):
        line_start, line_end = line_start + start, line_end + start
        if line_start > piece and _size(text, piece, line_end) > budget:
            yield piece, line_start
            piece = line_start
        if _size(text, line_start, line_end) > budget:
            yield from _cut_prose(text, line_start, line_end, budget)
            piece = line_end
    if piece < end:
        yield piece, end


def _cut_prose(text: str, start: int, end: int, budget: int) -> Iterator[tuple[int, int]]:
    from semantic_text_splitter import MarkdownSplitter as SemanticSplitter

    splitter = SemanticSplitter(budget, trim=False)
    while start < end:
        slab_end = _slab_end(text, start, end, budget)
        for offset, piece in splitter.chunk_indices(_SURROGATE.sub("\ufffd", text[start:slab_end])):
            yield start + offset, start + offset + len(piece)
        start = slab_end


def _slab_end(text: str, start: int, end: int, budget: int) -> int:
    """Where to stop a stretch for the splitter, whose time grows with the square of a text without breaks."""
    limit = start + budget * 20
    if limit >= end:
        return end
    for mark in ("\n", " "):
        if (found := text.rfind(mark, start + budget, limit)) > 0:
            return found + 1
    return limit


def _size(text: str, start: int, end: int) -> int:
    start, end = _trim(text, start, end)
    return end - start


def _common(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    shortest = min(paths, key=len)
    for depth, name in enumerate(shortest):
        if any(path[depth] != name for path in paths):
            return shortest[:depth]
    return shortest
