"""Anchors of a page's headings, which let a citation link to its section."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["HEADINGS", "has_anchor", "heading_anchors", "is_section", "mark_anchors"]

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
SECTIONS = frozenset({"section", "div", "article", "header"})
MAX_ANCHORS = 2000
MAX_ANCHOR = 200
MARK = "data-lore-anchor"
LINKED = "data-lore-permalink"


def mark_anchors(root: HtmlElement) -> None:
    """Note each heading's anchor on the heading, before permalinks and surrounding elements are dropped."""
    for heading in root.iter(*HEADINGS):
        for name in (MARK, LINKED):
            heading.attrib.pop(name, None)
        links = [str(link.get("href") or "")[1:] for link in heading.iter("a") if _is_local(link)]
        anchor = _first([*links, heading.get("id"), *_inner(heading), _outer(heading)])
        if anchor:
            heading.set(MARK, anchor)
        if anchor in links:
            heading.set(LINKED, anchor)


def heading_anchors(main: HtmlElement) -> list[list[str]]:
    """Return the words and anchor of each heading that has one. Permalinks must be dropped before."""
    found: list[list[str]] = []
    for heading in main.iter(*HEADINGS):
        anchor, words = heading.get(MARK), " ".join(heading.text_content().split())
        if anchor and words and len(found) < MAX_ANCHORS:
            found.append([words, anchor])
    return found


def has_anchor(element: HtmlElement) -> bool:
    """True if an element is or holds a heading with an anchor."""
    return any(heading.get(MARK) for heading in element.iter(*HEADINGS))


def is_section(element: HtmlElement) -> bool:
    """True if an element's id is the anchor of its first heading: a word of the text, not a name of the layout."""
    heading = next((child for child in element if child.tag in HEADINGS), None)
    if heading is None or heading.get(MARK) != element.get("id"):
        return False
    return element.tag == "section" or heading.get(LINKED) is not None


def _is_local(link: HtmlElement) -> bool:
    leads_back = link.get("role") == "doc-backlink" or "toc-backref" in (link.get("class") or "")
    return str(link.get("href") or "").startswith("#") and not leads_back


def _inner(heading: HtmlElement) -> list[str | None]:
    return [link.get("id") or link.get("name") for link in heading.iter("a", "span")]


def _outer(heading: HtmlElement) -> str | None:
    """Return the id of the section that the heading begins."""
    parent = heading.getparent()
    is_first = not any(before.tag in HEADINGS for before in heading.itersiblings(preceding=True))
    return parent.get("id") if parent is not None and parent.tag in SECTIONS and is_first else None


def _first(candidates: list[str | None]) -> str:
    return next((each for each in candidates if each and len(each) <= MAX_ANCHOR and not re.search(r"\s", each)), "")
