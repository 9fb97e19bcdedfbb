"""Passages that an answer is written from: neighbours on a page joined, each with the state of its page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from lore.errors import StoreError
from lore.protocols import Index
from lore.query.deadlines import TimeLimit
from lore.types import Chunk, Document, Hit
from lore.visible_text import visible

__all__ = ["SourcePassage", "join_neighbours", "read_pages", "rerank_depth"]

MAX_JOINED_CHARACTERS = 3_000
"""Three passages of the usual size. More of one page would push other pages out."""
MAX_GAP_IN_SECTION = 1_200
"""Characters between two passages of one section: about one passage that the search didn't find."""
MAX_GAP_BETWEEN_SECTIONS = 400
"""Characters between two sections below one heading of the page: a paragraph."""
MAX_STATE_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class SourcePassage:
    """A numbered source of an answer. `hit` has its text, and `parts` the hits it was joined from, in page order.

    `state` is the page's state at its source, such as "closed (completed)" of an issue, or ""; `page` is None if it
    couldn't be read.
    """

    hit: Hit
    parts: tuple[Hit, ...]
    state: str = ""
    page: Document | None = None


def rerank_depth(limit: int) -> int:
    """Return the number of passages to rank for `limit` places: the next best take those that joining frees."""
    return limit + limit // 2


def read_pages(index: Index, hits: Iterable[Hit], audiences: Sequence[str], time: TimeLimit) -> dict[str, Document]:
    """Return by id the pages of these hits that are stored and that the asker may see, read in one call.

    Raises StoreError, also if the call is late.
    """
    ids = list(dict.fromkeys(hit.chunk.document_id for hit in hits))
    pages = time.call(lambda: list(index.documents(ids=ids)), "Reading the pages", StoreError)
    return {page.id: page for page in pages if set(page.audiences).intersection(audiences)}


def join_neighbours(ranked: Sequence[Hit], limit: int, pages: Mapping[str, Document]) -> tuple[SourcePassage, ...]:
    """Return the best `limit` passages, in the order of the best hit in each.

    Two hits of a page become one passage, a verbatim slice of the page, if the gap between them is empty or short. The
    next hit takes the freed place. Hits stay apart if their page is missing from `pages` or has changed since.
    """
    groups: list[tuple[Hit, ...]] = []
    for hit in ranked:
        if len(groups) == limit:
            break
        groups.append((hit,))
        page = pages.get(hit.chunk.document_id)
        while page is not None and _merge_two(groups, page):
            pass
    return tuple(_passage(group, pages.get(group[0].chunk.document_id)) for group in groups)


def _merge_two(groups: list[tuple[Hit, ...]], page: Document) -> bool:
    """Join two neighbouring groups of the page; return False if there are none."""
    own = [place for place, group in enumerate(groups) if group[0].chunk.document_id == page.id]
    for place in own:
        for other in own:
            if place < other and _are_neighbours(groups[place], groups[other], page.text):
                groups[place] = (*groups[place], *groups.pop(other))
                return True
    return False


def _are_neighbours(one: tuple[Hit, ...], other: tuple[Hit, ...], text: str) -> bool:
    chunks = sorted((hit.chunk for hit in (*one, *other)), key=lambda chunk: chunk.start)
    if not all(map(_is_verbatim, chunks, [text] * len(chunks))):
        return False
    first, second = sorted((_span(one), _span(other)))
    if max(first[1], second[1]) - first[0] > MAX_JOINED_CHARACTERS:
        return False
    gap = text[first[1] : second[0]]
    if not gap.strip():
        return True
    before = next(chunk for chunk in chunks if chunk.end == first[1])
    after = next(chunk for chunk in chunks if chunk.start == second[0])
    return len(gap) <= _max_gap(before.headings, after.headings)


def _max_gap(before: tuple[str, ...], after: tuple[str, ...]) -> int:
    """Return the characters that may separate two passages below these headings."""
    if before == after:
        return MAX_GAP_IN_SECTION
    return MAX_GAP_BETWEEN_SECTIONS if before and before[:1] == after[:1] else 0


def _is_verbatim(chunk: Chunk, text: str) -> bool:
    return chunk.given_text == chunk.headed_text and chunk.text == text[chunk.start : chunk.end]


def _span(group: tuple[Hit, ...]) -> tuple[int, int]:
    return min(hit.chunk.start for hit in group), max(hit.chunk.end for hit in group)


def _passage(group: tuple[Hit, ...], page: Document | None) -> SourcePassage:
    state = visible(str(page.metadata.get("state") or ""))[:MAX_STATE_CHARACTERS] if page else ""
    best = group[0]
    if len(group) == 1 or page is None:
        return SourcePassage(best, group, state, page)
    parts = tuple(sorted(group, key=lambda hit: hit.chunk.start))
    headings = [hit.chunk.headings for hit in parts]
    common = tuple(names[0] for names in takewhile(lambda names: len(set(names)) == 1, zip(*headings, strict=False)))
    start, end = _span(group)
    chunk = replace(
        best.chunk,
        text=page.text[start:end],
        start=start,
        end=end,
        position=parts[0].chunk.position,
        headings=common,
        table_header=parts[0].chunk.table_header,
        url=best.chunk.url if len(set(headings)) == 1 else parts[0].chunk.url,
    )
    return SourcePassage(replace(best, chunk=chunk), parts, state, page)
