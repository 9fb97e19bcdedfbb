"""What is bold, italic or struck through at a place in a paragraph."""

from __future__ import annotations

__all__ = ["Emphasis"]

MOST = 8


class Emphasis:
    """The signs that are open, outermost first. A sign that is never closed means itself, and is only taken for an open
    one where a message has to end between it and the end of its paragraph.
    """

    def __init__(self) -> None:
        self._open: list[str] = []

    @property
    def closing(self) -> str:
        return "".join(reversed(self._open))

    @property
    def reopening(self) -> str:
        return "".join(self._open)

    def reset(self) -> None:
        """A paragraph ends."""
        self._open.clear()

    def read(self, sign: str, before: str, following: str) -> None:
        """Take in a run of `*`, `_` or `~` that stands between these characters ("" at a line's start or end)."""
        if len(sign) > 3 or sign == "~":
            return
        opens, closes = bool(following.strip()), bool(before.strip())
        if sign[0] == "_":
            opens, closes = opens and not (closes and before.isalnum()), closes and not (opens and following.isalnum())
        if closes and sign in self._open:
            del self._open[self._open.index(sign) :]
        elif opens and len(self._open) < MOST:
            self._open.append(sign)
