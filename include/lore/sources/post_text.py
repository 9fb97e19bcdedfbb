"""Posts of forums, sent as HTML, as Markdown below headings: one page for each question or topic."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from lore.convert.html.parsing import parse_html
from lore.convert.html.writer import tree_to_markdown
from lore.convert.markdown.fences import iter_lines
from lore.sources.payload import without_surrogates

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["facts_line", "post_section", "to_markdown"]

NO_TEXT = ("script", "style", "noscript", "template", "iframe", "object", "embed", "svg")
HEADING = re.compile(r"^(#{1,6})(?= )")


def to_markdown(body: str, url: str = "", tidy: Callable[[HtmlElement], None] = lambda _: None) -> str:
    """Return a post's HTML as Markdown; `url` makes links absolute, and `tidy` may change the tree first.

    Raises ConversionError when it nests thousands of elements.
    """
    root = parse_html(f"<div>{without_surrogates(body)}</div>")
    for element in list(root.iter(*NO_TEXT)):
        element.drop_tree()
    tidy(root)
    return tree_to_markdown(root, url).strip()


def post_section(heading: str, text: str) -> str:
    """Return a post below a heading of level 1, its own headings one level deeper; "" without text."""
    lowered = (
        line.text if line.code else HEADING.sub(lambda mark: f"{mark[1]}#"[:6], line.text) for line in iter_lines(text)
    )
    return "\n".join((f"# {heading}", "", *lowered)) if text.strip() else ""


def facts_line(parts: Iterable[str]) -> str:
    """Join the facts about a page in one line, without empty ones."""
    return " · ".join(part for part in parts if part)
