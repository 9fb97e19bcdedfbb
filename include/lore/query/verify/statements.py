"""Statements of a checked answer, one for each sentence, list item and table row, with the sources that they cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lore.markdown import code_blocks
from lore.query.content_words import content_words
from lore.query.verify.citation_syntax import CHECKED
from lore.query.verify.claims import MARK
from lore.query.verify.commands import REMOVED_COMMAND
from lore.query.verify.prose import REMOVED_LINK

__all__ = ["Statement", "filler_citations", "has_substance", "statements"]

MIN_WORDS = 2
"""A line of fewer content words states nothing."""
_EMPTY_WORDS = frozenset(content_words("run execute type enter install use follow step command create start"))
"""Words that state nothing once the command after them is gone."""
_LINE = re.compile(r"[^\n]+")
_SENTENCE = re.compile(r".+?(?:[.!?][\"')*_]*(?:\s*(?:\[\d+\]|\(\?\)))*(?=\s|$)|[。！？](?:\[\d+\]|\(\?\))*|$)\s*")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|no|approx)\.|^\s*\d+\.)\s*$", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:>\s*)*(?:[-*+]|\d{1,9}[.)])\s+")
_ROW = re.compile(r"\s*\|")
_RULE = re.compile(r"[\s|:-]+$")
_NOT_SAID = re.compile(r"\s*(?:#{1,6}\s.*|\*[^*]+\*|[\s|:*_-]*)$")
_REMOVED = re.compile(rf"`?{re.escape(REMOVED_COMMAND)}`?|{re.escape(REMOVED_LINK)}|{re.escape(MARK)}|\[\d+\]")
_HERE = (
    r"(?:this|that|it|(?:this|more|further|additional|all)?\s*(?:the\s+)?(?:information|details?|answers?|instructions?"
    r"|examples?|documentation)(?:\s+(?:on|about|for)\s+(?:this|that|it))?)"
)
_PLACE = (
    r"(?:the\s+)?(?:(?:following|above|cited|given|provided|relevant|official)\s+)?"
    r"(?:sources?|documentation|docs|passages?|pages?)?"
)
_FILLER = re.compile(
    rf"(?:(?:for|to\s+find)\s+(?:more|further|additional)\s+(?:information|details?)[^,.]{{0,40}},?\s+)?"
    rf"(?:you\s+can\s+(?:also\s+)?(?:find|read|see|get)\s+{_HERE}\s+(?:in|at|from|under)"
    rf"|{_HERE}\s+(?:can\s+be|is|are|was)\s+(?:also\s+)?(?:found|explained|described|documented|given|available|mentioned"
    rf"|stated|provided|shown)\s+(?:in|at|by|under)"
    rf"|(?:please\s+)?(?:see|refer\s+to|check|consult|read)(?:\s+also)?"
    rf"|(?:das|dies|mehr(?:\s+dazu)?|weitere\s+(?:informationen|details))\s+(?:steht|finden\s+sie|findest\s+du|finden\s+sich)\s+(?:in|unter))"
    rf"\s*{_PLACE}(?:\s+for\s+(?:more|further)\s+(?:information|details?))?\s*[.!:]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement at characters `start` to `end` of an answer, with the numbers that it cites.

    `text` is without citations. `lead` is the sentence or table header that it completes, or "". An item or row
    without a citation cites what its lead cites, or else the next citation below it in the same list.
    """

    start: int
    end: int
    text: str
    numbers: tuple[int, ...]
    lead: str = ""
    marked: bool = False


def statements(answer: str) -> list[Statement]:
    """Return the cited statements of a checked answer in order; code blocks, headings and notes state nothing."""
    found: list[Statement] = []
    waiting: list[Statement] = []
    lead, lead_numbers = "", ()  # type: str, tuple[int, ...]
    for start, line in _lines(answer):
        is_part = bool(_ITEM.match(line) or _ROW.match(line))
        if _NOT_SAID.match(line):
            continue
        if _ROW.match(line) and not lead.startswith("|"):
            lead = f"{line.strip()}"  # the header of the table
            continue
        if not is_part:
            lead, lead_numbers, waiting = "", (), []
        parts = [(start, line)] if is_part else list(_sentences(start, line))
        for begin, text in parts:
            numbers = tuple(dict.fromkeys(map(int, CHECKED.findall(text))))
            bare = _bare(text)
            if not is_part:
                lead, lead_numbers = bare, numbers
            too_short = not is_part and len(set(content_words(bare))) < MIN_WORDS
            if too_short or bare.endswith((":", "?", "：", "？")):
                continue
            one = Statement(begin, begin + len(text), bare, numbers or (lead_numbers if is_part else ()),
                            lead if is_part else "", MARK in text)  # fmt: skip
            if one.numbers:
                found.extend(
                    Statement(each.start, each.end, each.text, one.numbers, each.lead, each.marked) for each in waiting
                )
                waiting = []
                found.append(one)
            elif is_part:
                waiting.append(one)
    return sorted(found, key=lambda each: each.start)


def has_substance(answer: str) -> bool:
    """Return True if an answer states something beside leads, fillers and what the check removed."""
    if any(_has_code(answer[block.start : block.end]) for block in code_blocks(answer)):
        return True
    for start, line in _lines(answer):
        if _NOT_SAID.match(line):
            continue
        for _, sentence in _sentences(start, line):
            bare = _bare(sentence)
            is_lead = bare.endswith((":", "：", "?")) or filler_citations(sentence) is not None
            if not is_lead and set(content_words(bare)) - _EMPTY_WORDS:
                return True
    return False


def filler_citations(sentence: str) -> str | None:
    """Return the citations of a sentence that only points to its source ("this can be found in [2]"), else None."""
    if not CHECKED.search(sentence) or not _FILLER.fullmatch(_bare(sentence).strip()):
        return None
    return "".join(f"[{number}]" for number in CHECKED.findall(sentence))


def _has_code(block: str) -> bool:
    return any(line.strip() and REMOVED_COMMAND not in line for line in block.split("\n")[1:-1])


def _bare(text: str) -> str:
    """Return a text without list marker, citations, marks and what was removed."""
    bare = " ".join(_REMOVED.sub(" ", _ITEM.sub("", text, count=1)).split())
    return re.sub(r"(?<=:)[.,;]+$", "", re.sub(r"\s+(?=[.,;:!?])", "", bare)).strip()


def _lines(answer: str) -> Iterator[tuple[int, str]]:
    """Yield the lines outside of code blocks, with their places."""
    blocks = [(block.start, block.end) for block in code_blocks(answer)]
    for match in _LINE.finditer(answer):
        if not any(start <= match.start() < end for start, end in blocks):
            yield match.start(), match[0]


def _sentences(start: int, line: str) -> Iterator[tuple[int, str]]:
    begin, pending = start, ""
    for match in _SENTENCE.finditer(line):
        if not match[0]:
            continue
        pending += match[0]
        if _ABBREVIATION.search(pending):
            continue
        yield begin, pending
        begin, pending = begin + len(pending), ""
    if pending.strip():
        yield begin, pending
