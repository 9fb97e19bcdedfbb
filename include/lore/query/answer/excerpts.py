"""Excerpts of passages: the lines that answer, with what a reader needs to understand them.

A sentence comes with its paragraph or section and the code or list that it introduces, a list item with its list or the
sentence before it, a table row with the header of its table, code with the sentence before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lore.query.answer.blocks import ASKS, PassageBlock, Span, sentences

__all__ = ["LONG", "Excerpt", "QuotablePassage", "Unit", "is_question", "make_excerpt"]

SHORT = 700
"""Characters of a section, paragraph or list that is quoted whole."""
LONG = 900
"""Characters of the longest excerpt, except for code."""
MAX_CODE = 1_500
ALSO = 0.9
"""Share of the unit's score from which other items or rows come with it."""

FEW_WORDS = 4

_HEADING = re.compile(r"\s*#{1,6}\s[^\n]*\n\s*")
_AUTHOR = re.compile(r"\s*\*\*[^*\n]+\*\* \([^()\n]*\):\s*")
_POINTER = re.compile(r"\b(?:following|below|as follows|these|like this)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class QuotablePassage:
    """A passage to choose from: its text, and its title and headings as one line."""

    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, item, row or code block at characters `start` to `end` of the source with that index.

    `words` are its content words, and `context` those of its headings.
    """

    source: int
    block: PassageBlock
    start: int
    end: int
    words: frozenset[str]
    context: frozenset[str]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Verbatim pieces of the passage with the index `source`, in order.

    `pieces` are spans of its text; `best` is the span of the lines that answer. `headings` are those above it in the
    passage's own text, outermost first. `in_table` is True if the pieces are the header and rows of a table.
    """

    source: int
    pieces: tuple[Span, ...]
    best: Span
    headings: tuple[str, ...] = ()
    in_table: bool = False

    def overlaps(self, other: Excerpt) -> bool:
        """Return True if both show a piece of the same text."""
        return self.source == other.source and any(
            start < other_end and other_start < end
            for start, end in self.pieces
            for other_start, other_end in other.pieces
        )


def make_excerpt(
    unit: Unit,
    units: Sequence[Unit],
    scores: Sequence[float],
    sources: Sequence[QuotablePassage],
    *,
    steps: bool = False,
) -> Excerpt:
    """Return the excerpt around a unit. `units` are all units in order, with their `scores`.

    With `steps`, what follows a sentence in its section is part of the answer, as in instructions.
    """
    text = sources[unit.source].text
    if is_question(unit, text) and (reply := _reply(unit, text, units, scores)):
        answer = _paragraph(reply, text, units, steps=steps) if reply.block.kind == "paragraph" else [reply.block.group]
        pieces = _joined([(unit.block.start, unit.block.end), *answer], text)
        return Excerpt(unit.source, tuple(pieces), (reply.start, reply.end), unit.block.headings)
    lead = [unit.block.lead] if unit.block.lead else []
    match unit.block.kind:
        case "row":
            pieces = [*lead, *_within(_siblings(unit, units, scores), (unit.start, unit.end), LONG)]
        case "item":
            pieces = [*lead, *_items(unit, units, scores)]
        case "code":
            end = unit.end if unit.end - unit.start <= MAX_CODE else text.rfind("\n", unit.start, unit.start + MAX_CODE)
            pieces = [*lead, (unit.start, end)]
        case _:
            pieces = _paragraph(unit, text, units, steps=steps)
    in_table = unit.block.kind == "row"
    joined = pieces if in_table else _joined(pieces, text)
    return Excerpt(unit.source, tuple(joined), (unit.start, unit.end), unit.block.headings, in_table)


def is_question(unit: Unit, text: str) -> bool:
    """Return True if the unit asks, or its paragraph ends with a question."""
    return unit.block.asks or text[unit.start : unit.end].rstrip(' *_`"').endswith(ASKS)


def _reply(unit: Unit, text: str, units: Sequence[Unit], scores: Sequence[float]) -> Unit | None:
    """Return the unit after a question, which answers it in threads and lists of questions.

    If that is a question in return, the reply is the best one after it, rather than a word such as "yes".
    """
    after = [at for at, one in enumerate(units) if one.source == unit.source and one.start >= unit.block.end]
    if after and is_question(units[after[0]], text):
        after = [at for at in after if not is_question(units[at], text)]
        after.sort(key=lambda at: (len(units[at].words) < FEW_WORDS, -scores[at]))
    return units[after[0]] if after else None


def _siblings(unit: Unit, units: Sequence[Unit], scores: Sequence[float]) -> list[Span]:
    """Return the spans of the unit and of those of its list or table that score nearly as well."""
    own = scores[units.index(unit)]
    return [
        (other.start, other.end)
        for other, score in zip(units, scores, strict=True)
        if _same_group(other, unit) and (other is unit or score >= ALSO * own)
    ]


def _items(unit: Unit, units: Sequence[Unit], scores: Sequence[float]) -> list[Span]:
    start, end = unit.block.group
    if end - start <= SHORT:
        return [(start, end)]
    return _within(_siblings(unit, units, scores), (unit.start, unit.end), SHORT)


def _paragraph(unit: Unit, text: str, units: Sequence[Unit], *, steps: bool) -> list[Span]:
    """Return the section if it is short, else the sentences around the unit and what follows up to a limit."""
    block = unit.block
    if block.headings and block.section[1] - block.section[0] <= SHORT:
        body = _section_body(block, text)
        return [body, *_labelled(body[1], text, units, unit.source)]
    if block.end - block.start <= SHORT:
        span = (block.start, block.end)
    else:
        spans = sentences(text, block.start, block.end)
        at = spans.index((unit.start, unit.end))
        span = (spans[max(0, at - 1)][0], spans[min(len(spans) - 1, at + 1)][1])
    if span[1] != block.end or not (steps or _points_on(text[unit.start : block.end])):
        return [span]
    after = [*_following(unit, text, units, LONG - (span[1] - span[0]))] or _labelled(
        block.end, text, units, unit.source
    )
    return [span, *after]


def _labelled(end: int, text: str, units: Sequence[Unit], source: int) -> list[Span]:
    """Return the first of the labelled blocks that a text up to `end` introduces, such as the code in a tab."""
    if not text[:end].rstrip("*_` ").endswith(":"):
        return []
    after = next((one.block for one in units if one.source == source and one.start >= end), None)
    if after is None or after.group[1] - after.group[0] > MAX_CODE or text[end : after.section[0]].strip():
        return []
    return [(after.section[0], after.group[1])]


def _following(unit: Unit, text: str, units: Sequence[Unit], room: int) -> Iterator[Span]:
    """Yield the groups of blocks after the unit's paragraph in its section, as far as there is room."""
    last = unit.block.end
    for block in _blocks_after(unit, units):
        start, end = block.group
        if end - start > (MAX_CODE if block.kind == "code" else room):
            if block.kind == "item" and _points_on(text[unit.start : last]):
                items = [one for one in units if one.source == unit.source and one.block.group == block.group]
                yield from _within([(one.start, one.end) for one in items], (block.start, block.end), room)
            return
        yield (start, end)
        room -= end - start
        last = end
        if room <= 0:
            return


def _blocks_after(unit: Unit, units: Sequence[Unit]) -> Iterator[PassageBlock]:
    """Yield the first block of each group after the unit's block in its section."""
    last = unit.block.end
    for other in units:
        block = other.block
        if other.source == unit.source and block.section == unit.block.section and block.group[0] >= last:
            last = block.group[1]
            yield block


def _points_on(text: str) -> bool:
    """Return True if the text is incomplete without the list that follows."""
    return text.rstrip("*_` ").endswith(":") or bool(_POINTER.search(text))


def _section_body(block: PassageBlock, text: str) -> Span:
    """Return the section without its heading or author; the term of a definition stays."""
    start, end = block.section
    heading = _HEADING.match(text, start, end) or _AUTHOR.match(text, start, end)
    start = heading.end() if heading else start
    return start, start + len(text[start:end].rstrip())


def _same_group(one: Unit, other: Unit) -> bool:
    return one.source == other.source and one.block.kind == other.block.kind and one.block.group == other.block.group


def _within(spans: Sequence[Span], best: Span, limit: int) -> list[Span]:
    """Return the best span and the nearest others, in order, that together stay below the limit."""
    room = limit - (best[1] - best[0])
    kept = [best]
    for span in sorted(spans, key=lambda span: abs(span[0] - best[0])):
        length = span[1] - span[0]
        if span != best and length <= room:
            kept.append(span)
            room -= length
    return sorted(kept)


def _joined(pieces: Sequence[Span], text: str) -> list[Span]:
    """Return the spans in order, as one where only white space lies between them."""
    joined: list[Span] = []
    for start, end in sorted(pieces):
        if joined and not text[joined[-1][1] : start].strip():
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        elif not joined or start >= joined[-1][1]:
            joined.append((start, end))
    return joined
