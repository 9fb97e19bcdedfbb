"""Puts the pieces of an answer into as few messages as Slack's limits allow, and cuts where a person would.

It decides while the answer comes in, so that a message that is streamed and one that is posted whole are the same. Up
to a share of its size everything belongs to the message. From there on, what stands behind the best place seen so far
waits, until a better place comes (then it belongs to the message, too), the answer ends, or the message is full: then
it is cut there.
"""

from __future__ import annotations

from lore.slackbot.render.fragments import Fragment

__all__ = ["MOST_BYTES", "MessageSplitter"]

MOST_BYTES = 10_000
"""Of one message's Markdown, as UTF-8. Slack documents 12,000 characters; workspaces were seen to refuse streams from
10,600 bytes and blocks from 13,200 characters on, with everything that a message holds."""
LEAST_SHARE = 0.6
MOST_ROWS = 100
"""Rows of a table that Slack draws, its header counted."""
MOST_PARTS = 20
"""Headings, code blocks and rules in a message. Slack makes blocks of its own of them, and of what is between."""


class MessageSplitter:
    """Add pieces, then finish: `texts` are the messages. Of the first, `take` gives what is new and certain."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._least = int(most * LEAST_SHARE)
        self._written: list[str] = []
        self._held: list[tuple[Fragment, str]] = []
        self._last: Fragment | None = None
        self._size = 0
        self._rows = 0
        self._parts = 0
        self._dedent = 0
        self._new: list[str] = []
        self.texts: list[str] = []

    def add(self, unit: Fragment) -> None:
        if self._is_crowded(unit):
            self._commit()
            self._end(unit)
        text = self._placed(unit)
        size = len(text.encode())
        if self._last and self._size + size + len(unit.after.encode()) > self._most:
            held, self._held = self._held, []
            self._end(held[0][0] if held else unit)
            for waiting, _ in held:
                self.add(waiting)
            self.add(unit)
            return
        if self._last and self._size > self._least:
            if not self._held or unit.rank >= self._held[0][0].rank:
                self._commit()
            self._held.append((unit, text))
        else:
            self._write(text)
        self._last = unit
        self._size += size
        self._rows += unit.row
        self._parts += unit.part

    def finish(self) -> None:
        """The answer is whole: what waits belongs to the last message."""
        self._commit()
        if self._written:
            self.texts.append("".join(self._written))
            self._written = []

    def take(self) -> str:
        """What came to the first message since the last call."""
        new, self._new = "".join(self._new), []
        return new

    def so_far(self) -> str:
        """The first message as if the answer ended here: what is open is closed."""
        if self.texts:
            return self.texts[0]
        waiting = "".join(text for _, text in self._held)
        return "".join(self._written) + waiting + (self._last.after if self._last else "")

    def _is_crowded(self, unit: Fragment) -> bool:
        return (unit.row and self._rows >= MOST_ROWS - 2) or (unit.part and self._parts >= MOST_PARTS)

    def _placed(self, unit: Fragment) -> str:
        """The text of a piece where it stands: at a message's start without space and indentation."""
        if self._last is None:
            self._dedent = unit.indent
            return unit.reopening + unit.text[unit.indent :]
        if unit.space.startswith("\n"):
            self._dedent = min(self._dedent, unit.indent)
            return unit.space + unit.text[self._dedent :]
        return unit.space + unit.text

    def _commit(self) -> None:
        for _, text in self._held:
            self._write(text)
        self._held = []

    def _write(self, text: str) -> None:
        self._written.append(text)
        if not self.texts:
            self._new.append(text)

    def _end(self, following: Fragment) -> None:
        """End the message before this piece."""
        self._write(following.closing)
        self.texts.append("".join(self._written))
        self._written, self._last = [], None
        self._size = self._rows = self._parts = 0
