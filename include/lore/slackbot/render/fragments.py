"""Fragments: the smallest pieces of an answer, between which a message may end and the next begin."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["BreakRank", "Fragment"]


class BreakRank(IntEnum):
    """The quality of the place before a fragment as the end of a message, as a person would choose."""

    GLUED = 0
    """The last resort: before a table's first row, or below a heading."""
    INSIDE = 1
    """Within an endless word."""
    MARKED = 2
    """Between words in one emphasis."""
    WORD = 3
    SENTENCE = 4
    LINE = 5
    ITEM = 6
    BLOCK = 7
    SECTION = 8


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of safe Markdown that is never cut: a word, a link, a line of code, a row of a table.

    `space` separates it from the fragment before, and is left out at the start of a message. Where two messages share
    a code block, table or emphasis, `closing` ends the one before it and `reopening` begins the one with it. `after`
    closes what is open. `part` is True where Slack may make a block of its own, `row` for a row of a table. `indent` is
    the number of spaces it begins with.
    """

    text: str
    space: str = ""
    rank: BreakRank = BreakRank.WORD
    closing: str = ""
    reopening: str = ""
    after: str = ""
    part: bool = False
    row: bool = False
    indent: int = 0
