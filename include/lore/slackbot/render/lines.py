"""From an answer's Markdown, as it comes in, to the smallest pieces of safe Markdown.

The lines are read as CommonMark and GitHub's tables say, and written in the few forms that Slack's markdown block
documents: code blocks stand at the left margin between three backticks, thematic breaks are `---`, an indented
paragraph is a paragraph. HTML is text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lore.slackbot.render.characters import Characters
from lore.slackbot.render.code import Fence
from lore.slackbot.render.emphasis import Emphasis
from lore.slackbot.render.heads import Head, read_head
from lore.slackbot.render.prose import Prose, Start, safe_line
from lore.slackbot.render.tables import MOST_COLUMNS, cells, is_delimiter
from lore.slackbot.render.units import Rank, Unit

__all__ = ["Lines"]

LONGEST_HEADING = 150
"""Of a header in Slack, as characters."""
LONGEST_ROW = 1_500
DEEPEST_INDENT = 32

_BREAK = re.compile(r"\s{0,3}([-*_])(?:[ \t]*\1){2,}\s*$")
_HEADING = re.compile(r"(?P<marks>#{1,6})[ \t]+(?P<text>.*?)(?:[ \t]+#+)?\s*$")
_UNDERLINE = re.compile(r"\s{0,3}(?:=+|-+)\s*$")
_MAY_BE_A_MARK = re.compile(r"[-+*_=~`:|#\d.)>\s\[\]!<&\\]*$|[|#]|`{3}|~{3}")


class Lines:
    """Feed an answer's pieces, then finish; each gives what is safe to leave, whatever the pieces were."""

    def __init__(self) -> None:
        self._characters = Characters()
        self._line = ""
        self._prose: Prose | None = None
        self._fence: Fence | None = None
        self._emphasis = Emphasis()
        self._gap: list[str] = []
        self._started = False
        self._above = ""
        self._after_heading = False
        self._table: str | None = None
        self._rows = 0
        self._quote = ""
        self._content = 0
        """The column at which the text of the last list item begins; 0 outside of lists."""

    def feed(self, piece: str) -> Iterator[Unit]:
        return self._take(self._characters.feed(piece))

    def finish(self) -> Iterator[Unit]:
        """What was held back; an open code block is closed."""
        yield from self._take(self._characters.finish())
        if self._prose or self._line:
            yield from self._end_line("")
        if self._fence:
            yield from self._close(self._fence)

    def _take(self, text: str) -> Iterator[Unit]:
        *whole, rest = text.split("\n")
        for line in whole:
            yield from self._end_line(line)
        if rest:
            yield from self._grow(rest)

    def _end_line(self, text: str) -> Iterator[Unit]:
        if self._prose:
            yield from self._told(self._prose.feed(text, whole=True))
            self._prose = None
            return
        line, self._line = self._line + text, ""
        yield from self._whole(line)

    def _grow(self, text: str) -> Iterator[Unit]:
        """A line that is not whole yet: its words may leave once it is certain that it is prose."""
        if self._prose is None:
            self._line += text
            head = read_head(self._line)
            if self._fence or self._table is not None or _MAY_BE_A_MARK.match(head.rest):
                return
            text, self._line = head.rest, ""
            self._prose = self._opened(head)
        yield from self._told(self._prose.feed(text))

    def _told(self, units: Iterator[Unit]) -> Iterator[Unit]:
        for unit in units:
            self._above += unit.text if unit.space.startswith("\n") or not self._above else unit.space + unit.text
            self._started = True
            yield unit

    # ----------------------------------------------------------------------------------------------------- whole lines

    def _whole(self, line: str) -> Iterator[Unit]:
        if self._fence:
            yield from self._code(line, self._fence)
            return
        head = read_head(line)
        if not head.rest.strip():
            self._blank(head.quote.rstrip())
            return
        fence = Fence.opened_by(head.rest, head.indent + len(head.items), head.quote)
        if fence:
            yield from self._open(fence, head)
        elif _BREAK.match(line):
            yield from self._alone(Unit("---", "\n\n" if self._started else "", self._rank(Rank.BLOCK), part=True))
        elif self._table is not None and not head.items and not head.quote and not _HEADING.match(head.rest):
            yield from self._row(line, self._table)
        elif not self._gap and not head.quote and is_delimiter(line, self._above):
            yield from self._delimiter(line)
        elif not head.items and (heading := _HEADING.match(head.rest)):
            yield from self._heading(head, heading["marks"], heading["text"])
        else:
            escape = "\\" if not self._gap and _UNDERLINE.match(head.rest) else ""  # it underlines no title in Slack
            yield from self._told(self._opened(head).feed(escape + head.rest, whole=True))

    def _blank(self, quote: str) -> None:
        self._gap.append(quote)
        self._emphasis.reset()
        self._table = None

    def _space(self) -> str:
        """What stands before the next line: a line's end, and an empty line where there were some."""
        gap, self._gap = self._gap, []
        if not self._started:
            return ""
        if not gap:
            return "\n"
        return f"\n{'' if '' in gap else gap[0]}\n"

    def _rank(self, rank: Rank) -> Rank:
        """A heading, and a line that introduces what follows, stay with it."""
        if self._after_heading:
            return Rank.GLUED
        return min(rank, Rank.LINE) if rank < Rank.SECTION and self._above.rstrip("*_ ").endswith((":", "：")) else rank

    def _opened(self, head: Head) -> Prose:
        """The prose of a line that begins so."""
        gap = bool(self._gap)
        if head.items or head.quote or gap:
            self._emphasis.reset()
        indent = self._indented(head, gap)
        if head.items:
            rank = Rank.ITEM if indent == 0 and (gap or self._content) else Rank.LINE
            self._content = indent + len(head.items)
        else:
            rank = Rank.LINE if not gap or indent else Rank.BLOCK
        if head.quote and gap and "" not in self._gap:
            rank = Rank.ITEM
        start = Start(
            prefix=head.quote + " " * indent + head.items,
            space=self._space(),
            rank=self._rank(rank),
            quote=head.quote,
            indent=0 if head.quote else indent,
        )
        self._above, self._after_heading, self._table = "", False, None
        return Prose(start, self._emphasis)

    def _indented(self, head: Head, gap: bool) -> int:
        """By how much a line is indented, so that nobody takes it for code."""
        if head.quote != self._quote or (head.indent == 0 and gap and not head.items):
            self._content = 0
        self._quote = head.quote
        if not self._content:
            return min(head.indent, 3) if head.items else 0
        return min(head.indent, self._content + 3, DEEPEST_INDENT)

    def _alone(self, unit: Unit, *, heading: bool = False) -> Iterator[Unit]:
        """A line that is one piece."""
        self._gap, self._content, self._table = [], 0, None
        self._emphasis.reset()
        self._above = "" if heading else unit.text
        self._after_heading, self._started = heading, True
        yield unit

    def _heading(self, head: Head, marks: str, text: str) -> Iterator[Unit]:
        safe = safe_line(text)
        rank = Rank.GLUED if self._after_heading else Rank.SECTION
        if 0 < len(text) <= LONGEST_HEADING and safe:
            unit = Unit(f"{head.quote}{marks} {safe}", self._space(), rank, part=True)
            yield from self._alone(unit, heading=True)
        else:
            self._gap.append("")
            yield from self._told(self._opened(replace(head, rest=text, indent=0)).feed(text, whole=True))

    # ------------------------------------------------------------------------------------------------ code and tables

    def _open(self, fence: Fence, head: Head) -> Iterator[Unit]:
        gap = bool(self._gap)
        if head.items:  # the item stays, below an empty line: a bare sign would underline what is above it
            marker = head.quote + " " * self._indented(head, gap) + head.items.rstrip()
            space = self._space()
            yield Unit(marker, f"\n{head.quote.rstrip()}\n" if space else "", self._rank(Rank.LINE))
            self._started = True
        self._fence = fence
        rank = Rank.GLUED if head.items else self._rank(Rank.BLOCK if gap else Rank.LINE)
        unit = Unit(fence.opening, self._space(), rank, after=f"\n{fence.closing}", part=True)
        yield from self._alone(unit)

    def _code(self, line: str, fence: Fence) -> Iterator[Unit]:
        if fence.quote:
            depth = fence.quote.count(">")
            quoted = re.match(rf"(?:[ ]{{0,3}}>[ ]?){{{depth}}}", line)
            if not quoted:  # a code block in a quotation ends with it
                yield from self._close(fence)
                yield from self._whole(line)
                return
            line = line[quoted.end() :]
        if fence.ends_with(line):
            yield from self._close(fence)
        elif not line.strip():
            self._gap.append(fence.quote.rstrip())
        else:
            space = "\n".join(["", *self._gap, ""])
            self._gap = []
            yield from fence.units(line, space)

    def _close(self, fence: Fence) -> Iterator[Unit]:
        self._fence = None
        space = "\n".join(["", *self._gap, ""])
        yield from self._alone(Unit(fence.closing, space, Rank.GLUED, f"\n{fence.closing}", f"{fence.opening}\n"))
        self._above = ""

    def _delimiter(self, line: str) -> Iterator[Unit]:
        """The line that makes a table of the one above; too wide a table stays lines of text."""
        above, text = self._above, line.strip()
        wide = cells(line) > MOST_COLUMNS
        yield from self._alone(Unit("\\" * wide + text, "\n", Rank.GLUED))
        if not wide:
            self._table = f"{above}\n{text}\n" if len(above) + len(text) <= LONGEST_ROW else ""
            self._rows = 0

    def _row(self, line: str, table: str) -> Iterator[Unit]:
        text = safe_line(line.strip())
        rank = Rank.ITEM if self._rows else Rank.GLUED
        self._rows += 1
        self._above = ""
        if len(text) <= LONGEST_ROW:
            yield Unit(text, "\n", rank, reopening=table, row=True)
        else:
            self._emphasis.reset()
            yield from Prose(Start(space="\n", rank=rank), self._emphasis).feed(line.strip(), whole=True)
