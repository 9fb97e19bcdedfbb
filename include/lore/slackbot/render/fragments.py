"""The smallest pieces of an answer, between which a message may end and the next begin."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["BreakRank", "Fragment"]


class BreakRank(IntEnum):
    """How good a place before a piece is to end a message, as a person would choose."""

    GLUED = 0
    """Only where there is no other place at all: before a table's first row, or a title's underline."""
    INSIDE = 1
    """Within an endless word."""
    MARKED = 2
    """Between words that are bold together."""
    WORD = 3
    SENTENCE = 4
    LINE = 5
    ITEM = 6
    BLOCK = 7
    SECTION = 8


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of safe Markdown that is never cut: a word, a link, a line of code, a row of a table.

    `space` stands between it and the piece before, and is left out where a message begins with it. `closing` ends the
    message before it, and `reopening` begins the one with it, where both are in one code block, table or emphasis.
    `after` is what would close a message that ended behind it. `part` says that Slack may make a block of its own of
    what begins here, `row` that this is a row of a table. `indent` is by how many spaces it begins.
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
