"""Addresses of passages: that of the document, with the anchor of the section if its heading has one."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote

from lore.convert.markdown.blocks import Block, blocks_of
from lore.convert.markdown.headings import plain_text
from lore.convert.markdown.slugs import ANCHOR_STYLE, heading_slugs, without_images
from lore.convert.result import ANCHORS, PAGES
from lore.types import Document

__all__ = ["SectionUrls", "section_at"]

ATX = re.compile(r" {0,3}#{1,6}")
SAFE = "!$&'()*+,;=:@/?-._~"
"""Characters that a fragment may contain unencoded (RFC 3986)."""


def section_at(document: Document, place: int) -> tuple[str, tuple[str, ...]]:
    """Return the address of the section around a place in a document's text, and the headings above that place."""
    blocks = list(blocks_of(document.text))
    before = bisect_right(blocks, place, key=lambda block: block.start) - 1
    return SectionUrls(document, blocks).at(place), blocks[before].path if before >= 0 else ()


class Heading(NamedTuple):
    """A heading in a document's text: its place, its level (1 to 6) and its words."""

    start: int
    level: int
    words: str


class SectionUrls:
    """Finds the address of each place in a document's text.

    Conversion records the anchors with the words of their headings. They are matched with the headings of the text in
    order, so that an added or dropped heading doesn't shift the others.
    """

    def __init__(self, document: Document, blocks: Iterable[Block]) -> None:
        headings = (Heading(block.start, block.level, block.path[-1]) for block in blocks if block.is_heading)
        self._url = document.url
        self._starts: list[int] = []
        self._anchors: list[str] = []
        self.page_starts = _page_starts(document.text, document.metadata.get(PAGES))
        """Offsets at which the pages of a paginated document start, in order; empty for others."""
        pairs, style = document.metadata.get(ANCHORS), document.metadata.get(ANCHOR_STYLE)
        if not self._url or "#" in self._url or style == "none":
            return
        if self.page_starts:
            self._starts = [*self.page_starts.keys()]
            self._anchors = [f"page={page}" for page in self.page_starts.values()]
        elif isinstance(pairs, Sequence):
            self._match([pair for pair in pairs if _is_pair(pair)], headings)
        elif style:
            self._derive(document.text, list(headings), style)

    def at(self, place: int) -> str:
        """Return the address of the section around a place."""
        number = bisect_right(self._starts, place) - 1
        anchor = self._anchors[number] if number >= 0 else ""
        return f"{self._url}#{quote(unquote(anchor), safe=SAFE, errors='replace')}" if anchor else self._url

    def _derive(self, text: str, headings: Sequence[Heading], style: object) -> None:
        """Derive the anchors from the headings, as the program does that shows the page."""
        sources = ((line := _line(text, heading.start), _own_words(line, heading)) for heading in headings)
        for number, (heading, anchor) in enumerate(zip(headings, heading_slugs(sources, style), strict=True)):
            self._starts.append(heading.start)
            self._anchors.append(anchor if number or heading.level > 1 else "")

    def _match(self, pairs: Sequence[Sequence[str]], headings: Iterable[Heading]) -> None:
        places: defaultdict[str, list[int]] = defaultdict(list)
        for number, (words, _) in enumerate(pairs):
            places[_letters(words)].append(number)
        after = 0
        open_sections: list[tuple[int, str]] = []
        for heading in headings:
            candidates = places[_letters(heading.words)]
            found = bisect_left(candidates, after)
            anchor = ""
            if found < len(candidates):
                anchor, after = pairs[candidates[found]][1], candidates[found] + 1
            open_sections = [section for section in open_sections if section[0] < heading.level]
            if heading.level > 1:  # the first is the page itself
                open_sections.append((heading.level, anchor))
            self._starts.append(heading.start)
            self._anchors.append(next((name for _, name in reversed(open_sections) if name), ""))


def _page_starts(text: str, beginnings: object) -> dict[int, int]:
    """Return the number of each page by where it starts; redaction may have changed how a page begins."""
    starts: dict[int, int] = {}
    after = 0
    for number, beginning in enumerate(beginnings if isinstance(beginnings, list | tuple) else (), start=1):
        if not isinstance(beginning, str) or not beginning:
            continue
        found = text.find(beginning, after)
        while found > 0 and text[found - 1] != "\n":
            found = text.find(beginning, found + 1)
        if found >= 0:
            starts[found] = number
            after = found + len(beginning)
    return starts


def _is_pair(pair: object) -> bool:
    return isinstance(pair, Sequence) and len(pair) == 2 and all(isinstance(part, str) for part in pair)


def _line(text: str, start: int) -> str:
    return text[start : text.find("\n", start) % (len(text) + 1)]


def _own_words(line: str, heading: Heading) -> str:
    """Return a heading's words without those of its images."""
    mark = ATX.match(line)
    return plain_text(without_images(line[mark.end() :].rstrip(" \t#"))) if mark and "![" in line else heading.words


def _letters(words: str) -> str:
    return re.sub(r"[\W_]+", "", words).casefold()
