"""Posts of forums, sent as HTML, as Markdown below headings: one page for each question or topic."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lore.convert.html.writer import fragment_to_markdown
from lore.convert.markdown.fences import iter_lines
from lore.sources.payload import without_surrogates

__all__ = ["facts_line", "post_section", "to_markdown"]

HEADING = re.compile(r"^(#{1,6})(?= )")


def to_markdown(body: str, url: str = "") -> str:
    """Return a post's HTML as Markdown; `url` makes links absolute.

    Raises ConversionError when it nests thousands of elements.
    """
    return fragment_to_markdown(f"<div>{without_surrogates(body)}</div>", url).strip()


def post_section(heading: str, text: str) -> str:
    """Return a post below a heading of level 1, its own headings one level deeper; "" without text."""
    lowered = (
        line.text if line.code else HEADING.sub(lambda mark: f"{mark[1]}#"[:6], line.text) for line in iter_lines(text)
    )
    return "\n".join((f"# {heading}", "", *lowered)) if text.strip() else ""


def facts_line(parts: Iterable[str]) -> str:
    """Join the facts about a page in one line, without empty ones."""
    return " · ".join(part for part in parts if part)
