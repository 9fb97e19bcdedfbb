"""The split of an answer into as few messages as Slack's limits allow, at places a person would choose.

The split is decided while the answer comes in, so that a streamed message and a posted one are the same. The first
part of a message takes every fragment. Then the fragments behind the best place so far wait until a better place comes,
the answer ends, or the message is full: then it is cut there.
"""

from __future__ import annotations

from lore.slackbot.render.fragments import Fragment

__all__ = ["MOST_BYTES", "MessageSplitter"]

MOST_BYTES = 10_000
"""UTF-8 bytes of one message's Markdown. Slack documents 12,000 characters, and was seen to refuse streams from 10,600
bytes and blocks from 13,200 characters on."""
LEAST_SHARE = 0.6
MOST_ROWS = 100
"""Rows of a table that Slack draws, its header counted."""
MOST_PARTS = 20
"""Headings, code blocks and rules in a message: Slack makes a block of each, and of the text between them."""


class MessageSplitter:
    """Add fragments, then finish: `texts` are the messages. `take` returns the new, certain text of the first one."""

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

    def add(self, fragment: Fragment) -> None:
        if self._is_crowded(fragment):
            self._commit()
            self._end(fragment)
        text = self._placed(fragment)
        size = len(text.encode())
        if self._last and self._size + size + len(fragment.after.encode()) > self._most:
            held, self._held = self._held, []
            self._end(held[0][0] if held else fragment)
            for waiting, _ in held:
                self.add(waiting)
            self.add(fragment)
            return
        if self._last and self._size > self._least:
            if not self._held or fragment.rank >= self._held[0][0].rank:
                self._commit()
            self._held.append((fragment, text))
        else:
            self._write(text)
        self._last = fragment
        self._size += size
        self._rows += fragment.row
        self._parts += fragment.part

    def finish(self) -> None:
        """End the last message; the fragments that wait belong to it."""
        self._commit()
        if self._written:
            self.texts.append("".join(self._written))
            self._written = []

    def take(self) -> str:
        """Return what was added to the first message since the last call."""
        new, self._new = "".join(self._new), []
        return new

    def so_far(self) -> str:
        """Return the first message as if the answer ended here, everything open closed."""
        if self.texts:
            return self.texts[0]
        waiting = "".join(text for _, text in self._held)
        return "".join(self._written) + waiting + (self._last.after if self._last else "")

    def _is_crowded(self, fragment: Fragment) -> bool:
        return (fragment.row and self._rows >= MOST_ROWS - 2) or (fragment.part and self._parts >= MOST_PARTS)

    def _placed(self, fragment: Fragment) -> str:
        """Return the text of a fragment in its place: at the start of a message without space and indentation."""
        if self._last is None:
            self._dedent = fragment.indent
            return fragment.reopening + fragment.text[fragment.indent :]
        if fragment.space.startswith("\n"):
            self._dedent = min(self._dedent, fragment.indent)
            return fragment.space + fragment.text[self._dedent :]
        return fragment.space + fragment.text

    def _commit(self) -> None:
        for _, text in self._held:
            self._write(text)
        self._held = []

    def _write(self, text: str) -> None:
        self._written.append(text)
        if not self.texts:
            self._new.append(text)

    def _end(self, following: Fragment) -> None:
        """End the message before this fragment."""
        self._write(following.closing)
        self.texts.append("".join(self._written))
        self._written, self._last = [], None
        self._size = self._rows = self._parts = 0
