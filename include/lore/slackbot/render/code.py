"""An open code block: how its lines leave, and how it is closed and opened again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lore.slackbot.render.characters import JOINER, guard_code, pieces
from lore.slackbot.render.units import Rank, Unit

__all__ = ["Fence"]

SIGN = "```"
"""The only sign that Slack documents. Three backticks in the code itself are parted by joiners."""
LONGEST_LINE = 600
LONGEST_PIECE = 300

_OPENING = re.compile(r"(?P<sign>`{3,})(?P<info>[^`]*)$|(?P<tildes>~{3,})(?P<other>.*)$")
_LANGUAGE = re.compile(r"[\w+#.\-]{1,40}")
_RUN = re.compile("`{3,}")


@dataclass(slots=True)
class Fence:
    """A code block, moved to the left margin, where no reader of Markdown takes it for anything else.

    `sign` is what closes it in the answer, `indent` the columns that its lines are moved by, `quote` the signs of the
    quotation that it stands in.
    """

    sign: str
    indent: int
    quote: str
    language: str
    lines: int = 0

    @property
    def opening(self) -> str:
        return f"{self.quote}{SIGN}{self.language}"

    @property
    def closing(self) -> str:
        return f"{self.quote}{SIGN}"

    def ends_with(self, line: str) -> bool:
        closing = line.strip()
        return set(closing) == {self.sign[0]} and len(closing) >= len(self.sign)

    def units(self, line: str, space: str) -> Iterator[Unit]:
        """A line of code, in pieces where it is endless."""
        margin = len(line) - len(line.lstrip(" \t"))
        code = line[:margin].expandtabs(4)[self.indent :] + line[margin:].rstrip()
        code = _RUN.sub(lambda run: JOINER.join(run[0]), guard_code(code))
        rank = Rank.GLUED if not self.lines else Rank.LINE if space.count("\n") > 1 else Rank.SENTENCE
        self.lines += 1
        parts = list(pieces(code, LONGEST_PIECE)) if len(code) > LONGEST_LINE else [code]
        for number, part in enumerate(parts):
            text, gap = (part, "") if number else (self.quote + part, space)
            reopening = f"{self.opening}\n" + (self.quote if number else "")
            yield Unit(
                text, gap, Rank.INSIDE if number else rank, f"\n{self.closing}", reopening, after=f"\n{self.closing}"
            )

    @classmethod
    def opened_by(cls, text: str, indent: int, quote: str) -> Fence | None:
        """The code block that this text opens, if it does."""
        match = _OPENING.match(text)
        if not match:
            return None
        language = _LANGUAGE.match((match["info"] or match["other"] or "").strip())
        return cls(match["sign"] or match["tildes"], indent, quote, language[0] if language else "")
