"""The value that every converter returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ANCHORS", "PAGES", "Converted"]

ANCHORS = "anchors"
"""Metadata key of a document's anchors: pairs of a heading's words and its anchor, in text order."""


PAGES = "pages"
"""Metadata key of a paginated document: how each page begins, in order; "" for a page without text."""


@dataclass(frozen=True, slots=True)
class Converted:
    """Markdown, the text's own title ("" if it has none) and the metadata of its front matter.

    `declared_title` is the front matter's title. An author chose it, so it beats every other. `omitted` counts the
    characters left out on purpose, by kind.
    """

    text: str
    title: str = ""
    declared_title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    omitted: Mapping[str, int] = field(default_factory=dict)
