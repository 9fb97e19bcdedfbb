"""The passages that an answer is written from: neighbours joined to one, each with the state of its page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from lore.errors import StoreError
from lore.protocols import Index
from lore.query.deadlines import within
from lore.types import Chunk, Document, Hit
from lore.visible_text import visible

__all__ = ["Passage", "join", "read_pages", "spare"]

LONGEST_JOINED = 3_000
"""Characters of a joined passage: three of the usual size. More of one page would push other pages out."""
GAP_IN_SECTION = 1_200
"""Characters that may lie between two passages of one section: about one passage that was not found itself."""
GAP_BETWEEN_SECTIONS = 400
"""And between two sections below one heading of the page: a paragraph."""
LONGEST_STATE = 60


@dataclass(frozen=True, slots=True)
class Passage:
    """A numbered source of an answer. `hit` has its text, `parts` the hits that it was joined of, in the page's order.

    `state` is what the page's source says of it, such as "closed (completed)" of an issue; "" where it says nothing.
    """

    hit: Hit
    parts: tuple[Hit, ...]
    state: str = ""


def spare(limit: int) -> int:
    """How many passages are ranked for `limit` places, so that one that becomes free is taken by the next best."""
    return limit + limit // 2


def read_pages(index: Index, hits: Iterable[Hit], audiences: Sequence[str], seconds: float) -> dict[str, Document]:
    """The pages of these hits by id, read in one call: those that are kept and that the asker may see.

    Raises StoreError, also when it takes longer than `seconds`.
    """
    ids = list(dict.fromkeys(hit.chunk.document_id for hit in hits))
    late = StoreError(f"Reading the pages took longer than {seconds:g} s.", remedy="Raise LORE_SEARCH_SECONDS.")
    pages = within(seconds, lambda: list(index.documents(ids=ids)), late)
    return {page.id: page for page in pages if set(page.audiences).intersection(audiences)}


def join(ranked: Sequence[Hit], limit: int, pages: Mapping[str, Document]) -> tuple[Passage, ...]:
    """The best `limit` passages, in the order of the best hit in each.

    Two hits of a page become one passage, a verbatim slice of the page, when nothing lies between them, or no more than
    it takes to complete the section that both are in. A place that becomes free this way goes to the next hit. A page
    that is not among `pages`, or that was written anew since its passages were, is not joined.
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
    """Join two groups of the page that belong together; False when there are none."""
    own = [place for place, group in enumerate(groups) if group[0].chunk.document_id == page.id]
    for place in own:
        for other in own:
            if place < other and _belong_together(groups[place], groups[other], page.text):
                groups[place] = (*groups[place], *groups.pop(other))
                return True
    return False


def _belong_together(one: tuple[Hit, ...], other: tuple[Hit, ...], text: str) -> bool:
    chunks = sorted((hit.chunk for hit in (*one, *other)), key=lambda chunk: chunk.start)
    if not all(map(_verbatim, chunks, [text] * len(chunks))):
        return False
    first, second = sorted((_span(one), _span(other)))
    if max(first[1], second[1]) - first[0] > LONGEST_JOINED:
        return False
    gap = text[first[1] : second[0]]
    if not gap.strip():
        return True
    before = next(chunk for chunk in chunks if chunk.end == first[1])
    after = next(chunk for chunk in chunks if chunk.start == second[0])
    return len(gap) <= _allowed(before.headings, after.headings)


def _allowed(before: tuple[str, ...], after: tuple[str, ...]) -> int:
    """How much may lie between two passages below these headings."""
    if before == after:
        return GAP_IN_SECTION
    return GAP_BETWEEN_SECTIONS if before and before[:1] == after[:1] else 0


def _verbatim(chunk: Chunk, text: str) -> bool:
    return chunk.given_text == chunk.text == text[chunk.start : chunk.end]


def _span(group: tuple[Hit, ...]) -> tuple[int, int]:
    return min(hit.chunk.start for hit in group), max(hit.chunk.end for hit in group)


def _passage(group: tuple[Hit, ...], page: Document | None) -> Passage:
    state = visible(str(page.metadata.get("state") or ""))[:LONGEST_STATE] if page else ""
    best = group[0]
    if len(group) == 1 or page is None:
        return Passage(best, group, state)
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
        url=best.chunk.url if len(set(headings)) == 1 else parts[0].chunk.url,
    )
    return Passage(replace(best, chunk=chunk), parts, state)
