"""Summaries without a language model: the first sentences of each section of a passage.

Documentation says first what a section is about, and leads are hard to beat (A. Nenkova, "Automatic Text Summarization
of Newswire: Lessons Learned from the Document Understanding Conference", AAAI 2005). Sentences chosen by their frequent
words (SumBasic) found the right page less often; docs/strategies.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lore.types import Chunk

__all__ = ["ExtractiveSummarizer"]

SUMMARY_CHARACTERS = 900
"""Length that the local embedder reads to its end."""
LONGEST_SENTENCE = 300

_SECTION = re.compile(r"\n(?=#{1,6} )")
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?。！？][\"')\]]*(?=\s)|(?=\n)|\Z)")
_BEFORE, _BEHIND = " \t>#*+|-=:`~", " \t|*"
"""Characters that lines of Markdown begin and end with."""


class ExtractiveSummarizer:
    """Picks sentences of the passage itself: free and deterministic."""

    name = "extractive"

    def summarize(self, chunks: Sequence[Chunk]) -> list[str]:
        """Return a summary for each passage, "" for one no longer than a summary."""
        return [_summary(chunk.text) for chunk in chunks]


def _summary(text: str) -> str:
    if len(text) <= SUMMARY_CHARACTERS:
        return ""
    sections = _SECTION.split(text)
    sentences: list[str] = []
    left = SUMMARY_CHARACTERS
    for number, section in enumerate(sections):
        if left <= 0:
            break
        room = left // (len(sections) - number)  # a short section leaves room for those behind it
        for sentence in _lead(section, room, left):
            sentences.append(sentence)
            left -= len(sentence) + 1
    return " ".join(sentences)


def _lead(section: str, room: int, most: int) -> list[str]:
    """Return the first sentences that fit the room, at least one; none has more than `most` characters."""
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
