"""Count of the characters that a converter leaves out on purpose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["OMITTED", "Omissions"]

OMITTED = "omitted"
"""Metadata key of a document's omissions: characters by kind, white space collapsed."""


class Omissions:
    """Characters left out of one document, by kind, such as "navigation" or "comments"."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, kind: str, text: str) -> None:
        """Count a text that is left out; white space counts as one character."""
        if length := len(" ".join(text.split())):
            self._counts[kind] += length

    def drop(self, element: HtmlElement, kind: str) -> None:
        """Remove an element from its tree and count its text."""
        self.add(kind, element.text_content())
        element.drop_tree()

    def counts(self) -> Mapping[str, int]:
        """Return the characters by kind, most first."""
        return dict(self._counts.most_common())
