"""Verbatim pieces of passages: quotes of citations, and excerpts that answer without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lore.markdown import code_blocks
from lore.query.content_words import content_words
from lore.query.verify.citation_syntax import CHECKED
from lore.types import Citation, Hit
from lore.visible_text import visible, web_address

__all__ = ["citations_of", "cite", "excerpt"]

MAX_QUOTE_CHARACTERS = 300
_CODE_ALLOWANCE = 2
"""Code blocks may exceed a limit by this factor, because half of one is useless."""
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?。！？][\"')\]]*(?=\s)|(?=\n)|\Z)|\n", re.MULTILINE)


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
    )


def excerpt(text: str, question: str, limit: int) -> str:
    """Return the stretch of at most `limit` characters that shares most words with the question.

    It is verbatim, cut at sentences and lines, with "…" for omissions. A code block up to twice the limit stays whole;
    a longer one is cut at a line.
    """
    text = _opened(text.strip())
    if len(text) <= limit:
        return text
    units = list(_units(text))
    first, last = _best_window(units, set(content_words(question)), limit)
    start, end = units[first].start, units[last].end
    piece = text[start:end].strip()
    if units[last].is_code and len(piece) > limit * _CODE_ALLOWANCE:
        return _cut_code(piece, limit)
    if len(piece) > limit and not units[first].is_code:
        piece = piece[:limit].rsplit(" ", 1)[0] + " …"
    return ("… " if start > 0 and text[start - 1] != "\n" else "") + piece + ("\n\n…" if end < len(text) else "")


def _opened(text: str) -> str:
    """Return the text with an opening fence if it ends with the closing one alone, as the end of a cut block does."""
    last = next(reversed(list(code_blocks(text))), None)
    return f"{last.fence}\n{text}" if last and text[last.start :].strip() == last.fence else text


def _best_unit(text: str, claim: str) -> str:
    wanted = set(content_words(claim))
    units = [unit for unit in _units(text) if text[unit.start : unit.end].strip()]
    if not units:
        return text.strip()[:MAX_QUOTE_CHARACTERS]
    best = max(units, key=lambda unit: (len(unit.words & wanted), -unit.start))
    quote = text[best.start : best.end].strip()
    if len(quote) <= MAX_QUOTE_CHARACTERS:
        return quote
    shorter = quote[:MAX_QUOTE_CHARACTERS]
    return shorter.rsplit("\n" if best.is_code else " ", 1)[0] or shorter


def _best_window(units: Sequence[_Unit], wanted: set[str], limit: int) -> tuple[int, int]:
    """Return the first and last unit of the window with most of the wanted words.

    Of equals, the one with most occurrences wins, then one that starts with a wanted word, then the earliest.
    """
    best, best_key = (0, 0), (-1, 0, False)
    for first, unit in enumerate(units):
        if not unit.words and first + 1 < len(units):
            continue  # skip blank lines
        last, found, matches = first, unit.words & wanted, len(unit.words & wanted)
        while last + 1 < len(units) and units[last + 1].end - unit.start <= limit:
            last += 1
            found |= units[last].words & wanted
            matches += len(units[last].words & wanted)
        key = (len(found), matches, bool(unit.words & wanted))
        if key > best_key:
            best, best_key = (first, last), key
    return best


def _units(text: str) -> Iterator[_Unit]:
    position = 0
    for block in code_blocks(text):
        yield from _sentences(text, position, block.start)
        position = block.end
        yield _Unit(block.start, block.end, frozenset(content_words(text[block.start : block.end])), is_code=True)
    yield from _sentences(text, position, len(text))


def _sentences(text: str, start: int, end: int) -> Iterator[_Unit]:
    for match in _SENTENCE.finditer(text, start, end):
        yield _Unit(match.start(), match.end(), frozenset(content_words(match[0])))


def _cut_code(block: str, limit: int) -> str:
    opened = next(code_blocks(block), None)
    cut = block[:limit].rpartition("\n")[0]
    return f"{cut}\n…\n{opened.fence}" if opened and cut else block[:limit]
