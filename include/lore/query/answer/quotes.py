"""Citations, each with the verbatim piece of its passage that supports it best."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lore.languages.detection import stems_of
from lore.markdown import code_blocks
from lore.query.content_words import content_words
from lore.query.retrieve.passages import SourcePassage
from lore.query.verify.citation_syntax import CHECKED
from lore.types import Citation, Hit
from lore.visible_text import visible, web_address

__all__ = ["MAX_QUOTE_CHARACTERS", "at_section", "citations_of", "cite", "shorten_quote"]

MAX_QUOTE_CHARACTERS = 300
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]|^ {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?][\"')\]]*(?=\s)|[。！？][\"')\]」』）]*|(?=\n)|\Z)|\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Unit:
    """An indivisible piece of a passage: a sentence, a line, or a whole code block."""

    start: int
    end: int
    words: frozenset[str]
    is_code: bool = False


def citations_of(text: str, passages: Sequence[Hit], kept: Sequence[int], question: str) -> tuple[Citation, ...]:
    """Return the citations of a checked answer by number, each with the quote that best supports its lines."""
    lines: dict[int, list[str]] = {number: [] for number in kept}
    for line in text.splitlines():
        for number in dict.fromkeys(CHECKED.findall(line)):
            if int(number) in lines:
                lines[int(number)].append(line)
    return tuple(cite(number, passages[number - 1], " ".join([*lines[number], question])) for number in kept)


def cite(number: int, hit: Hit, claim: str) -> Citation:
    """Return the citation of a passage, with the quote that shares most words with `claim`.

    Title and headings are one visible line each; an address other than http(s) is left out.
    """
    chunk = hit.chunk
    return Citation(
        number=number,
        document_id=chunk.document_id,
        chunk_id=chunk.id,
        source_id=chunk.source_id,
        url=web_address(chunk.url),
        title=visible(chunk.title),
        headings=tuple(map(visible, chunk.headings)),
        quote=_best_unit(chunk.text, claim),
        updated_at=chunk.updated_at,
    )


def at_section(citation: Citation, source: SourcePassage) -> Citation:
    """Return the citation with address and headings of its quote's section: a passage may hold several."""
    chunk, page = source.hit.chunk, source.page
    if page is None or not citation.url or page.text[chunk.start : chunk.end] != chunk.text:
        return citation
    place = page.text.find(citation.quote, chunk.start, chunk.end)
    if place < 0 or not (_HEADING.search(page.text, chunk.start, place) or len(source.parts) > 1):
        return citation
    from lore.convert.section_urls import section_at  # rarely needed, and slow to import

    url, path = section_at(page, place)
    names = path[1:] if path and path[0] == page.title else path
    return replace(citation, url=web_address(url), headings=tuple(map(visible, names)))


def _best_unit(text: str, claim: str) -> str:
    language = stems_of(claim)
    wanted = set(content_words(claim, language))
    units = [unit for unit in _units(text, language) if text[unit.start : unit.end].strip()]
    if not units:
        return text.strip()[:MAX_QUOTE_CHARACTERS]
    best = max(units, key=lambda unit: (len(unit.words & wanted), -unit.start))
    return shorten_quote(text[best.start : best.end], at="\n" if best.is_code else " ")


def shorten_quote(text: str, *, at: str = " ") -> str:
    """Return the beginning of a text that is short enough for a citation, cut at a space or line."""
    quote = text.strip()
    if len(quote) <= MAX_QUOTE_CHARACTERS:
        return quote
    shorter = quote[:MAX_QUOTE_CHARACTERS]
    return shorter.rsplit(at, 1)[0] or shorter


def _units(text: str, language: str) -> Iterator[_Unit]:
    position = 0
    for block in code_blocks(text):
        yield from _sentences(text, position, block.start, language)
        position = block.end
        yield _Unit(
            block.start, block.end, frozenset(content_words(text[block.start : block.end], language)), is_code=True
        )
    yield from _sentences(text, position, len(text), language)


def _sentences(text: str, start: int, end: int, language: str) -> Iterator[_Unit]:
    for match in _SENTENCE.finditer(text, start, end):
        yield _Unit(match.start(), match.end(), frozenset(content_words(match[0], language)))
