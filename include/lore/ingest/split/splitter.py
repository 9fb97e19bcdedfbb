"""Splitting along headings: verbatim passages that fit the embedder, with code and tables kept whole if possible.

The document is scanned once into blocks (headings, fenced code, tables, paragraphs and lists). A section over the
budget is cut at its strongest break, a heading of the highest level in it, and small neighbours are merged again. Only
a block over the budget is cut inside: code and tables between lines, prose by semantic-text-splitter between list
items, sentences or words.
"""

from __future__ import annotations

import re
import uuid
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from lore.convert.markdown.blocks import LONGEST_NAME, PARAGRAPH, Block, blocks_of, lines_of
from lore.convert.section_urls import SectionUrls
from lore.protocols import Embedder
from lore.types import Chunk, Document

__all__ = ["MarkdownSplitter"]

NAMESPACE = uuid.UUID("6f1f6a0e-6f0b-5d0b-9b0a-3c1d5f5a2b11")
CHARACTERS_PER_TOKEN = 4
LARGEST_BUDGET = 1500
"""Longer passages rank worse and quote worse, even if an embedder reads more."""

_WIDE = re.compile(r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class MarkdownSplitter:
    """Splits converted documents into passages of at most `max_characters`.

    The budget is smaller for scripts in which a character is about a token (Chinese, Japanese, Korean).
    """

    def __init__(self, max_characters: int) -> None:
        self.max_characters = max_characters
        self.name = f"markdown-4:{max_characters}"

    @staticmethod
    def budget_for(embedder: Embedder) -> int:
        """Return the number of characters that the embedder reads to the end."""
        return min(LARGEST_BUDGET, embedder.max_tokens * CHARACTERS_PER_TOKEN)

    def split(self, document: Document) -> list[Chunk]:
        """The passages in order; every `text` is `document.text[start:end]`, and `url` leads to its section."""
        text, title = document.text, document.title[:LONGEST_NAME]
        budget = _budget(text, self.max_characters)
        seen: Counter[tuple[tuple[str, ...], str]] = Counter()
        chunks: list[Chunk] = []
        blocks = list(blocks_of(text))
        urls = SectionUrls(document, blocks)
        pages = [0, *(page for page in urls.page_starts if page), len(text)]
        tables = [block for block in blocks if block.header]
        for start, end, path in _paged_pieces(text, blocks, pages, budget):
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
                    table_header=_header_above(tables, start),
                )
            )
            seen[key] += 1
        return chunks


def _paged_pieces(
    text: str, blocks: list[Block], pages: list[int], budget: int
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Cut a document of pages into stretches that each lie on one page, so that a citation opens at the right one."""
    for first, last in pairwise(pages):
        yield from _pieces(text, [block for block in blocks if first <= block.start < last], budget)


def _header_above(tables: list[Block], start: int) -> str:
    """Return the header of the table that goes on at a place; "" elsewhere."""
    number = bisect_right(tables, start, key=lambda table: table.start) - 1
    table = tables[number] if number >= 0 else None
    return table.header if table and table.body <= start < table.end else ""


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
    """Trim white space at the end and blank lines at the start; the first line keeps its indentation."""
    end = start + len(text[start:end].rstrip())
    blank = len(text[start:end]) - len(text[start:end].lstrip())
    return (start + text[start : start + blank].rfind("\n") + 1 if blank else start), end


def _pieces(text: str, blocks: list[Block], budget: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Cut adjoining blocks into pieces (start, end, heading path) within the budget."""
    if not blocks:
        return
    if _size(text, blocks[0].start, blocks[-1].end) <= budget:
        yield blocks[0].start, blocks[-1].end, _common([block.path for block in blocks])
        return
    groups = _groups(blocks)
    if len(groups) == 1:
        yield from _cut(text, groups[0], budget)
        return
    run: list[Block] = []
    for group in groups:
        if run and _size(text, run[0].start, group[-1].end) > budget:
            yield from _pieces(text, run, budget)
            run = []
        run = run + group
    yield from _pieces(text, run, budget)


def _groups(blocks: list[Block]) -> list[list[Block]]:
    """Divide at the strongest break. A heading stays with the block after it."""
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


def _cut(text: str, blocks: list[Block], budget: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Cut inside one block over the budget; headings before it stay with its first piece."""
    block, start = blocks[-1], blocks[0].start
    cut = _cut_lines if block.by_lines else _cut_prose
    header = len(block.header) + 1 if block.header and 3 * len(block.header) < budget else 0
    pieces = list(cut(text, block.start, block.end, budget - header))
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
    """Yield whole lines up to the budget; a longer line is cut like prose."""
    piece = start
    for line_start, line_end in lines_of(text[start:end]):
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
    """Return the end of a slab for the splitter, whose time is quadratic in a text without breaks."""
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
