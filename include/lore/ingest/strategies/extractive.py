"""Summaries without a language model: how each section of a passage begins.

Documentation says first what a section is about, and leads are known to be hard to beat (A. Nenkova, "Automatic Text
Summarization of Newswire: Lessons Learned from the Document Understanding Conference", AAAI 2005). Sentences chosen by
their frequent words (SumBasic) found the right page less often: docs/strategies.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lore.types import Chunk

__all__ = ["ExtractiveSummarizer"]

SUMMARY_CHARACTERS = 900
"""What the local embedder reads to its end."""
LONGEST_SENTENCE = 300

_SECTION = re.compile(r"\n(?=#{1,6} )")
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?。！？][\"')\]]*(?=\s)|(?=\n)|\Z)")
_BEFORE, _BEHIND = " \t>#*+|-=:`~", " \t|*"
"""The signs that lines of Markdown begin and end with."""


class ExtractiveSummarizer:
    """Sentences of the passage itself; costs nothing and says the same each time."""

    name = "extractive"

    def summarize(self, chunks: Sequence[Chunk]) -> list[str]:
        """One summary for each passage, "" for one that is not longer than its summary would be."""
        return [_summary(chunk.text) for chunk in chunks]


def _summary(text: str) -> str:
    if len(text) <= SUMMARY_CHARACTERS:
        return ""
    sections = _SECTION.split(text)
    said: list[str] = []
    left = SUMMARY_CHARACTERS
    for number, section in enumerate(sections):
        if left <= 0:
            break
        room = left // (len(sections) - number)  # what a short section leaves is for those behind it
        for sentence in _lead(section, room, left):
            said.append(sentence)
            left -= len(sentence) + 1
    return " ".join(said)


def _lead(section: str, room: int, most: int) -> list[str]:
    """The first sentences that fit the room; the very first one even where it does not, up to `most` characters."""
    lead: list[str] = []
    for match in _SENTENCE.finditer(section):
        sentence = match[0].lstrip(_BEFORE).rstrip(_BEHIND)[: min(LONGEST_SENTENCE, most)]
        if not sentence:
            continue
        room -= len(sentence) + 1
        if lead and room < 0:
            break
        lead.append(sentence)
    return lead
