"""Changes of lxml trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["replace_by_text"]


def replace_by_text(element: HtmlElement, text: str) -> None:
    """Put a text in an element's place."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if before is not None:
        before.tail = (before.tail or "") + text
    else:
        parent.text = (parent.text or "") + text
    element.drop_tree()  # moves the tail behind the text
