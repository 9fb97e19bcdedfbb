"""Removal of elements that are never content: scripts, controls, navigation, hidden parts, asides of the layout."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lore.convert.html.widgets import is_disclosed, open_panel

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from lore.convert.omissions import Omissions

__all__ = ["drop_non_content", "is_written_aside"]

NEVER_TEXT = frozenset(
    {
        "script", "style", "noscript", "template", "iframe", "object", "embed", "canvas", "svg", "audio", "video",
        "map", "link", "meta", "base"
    }
)  # fmt: skip
CONTROLS = frozenset({"button", "input", "select", "textarea", "option", "datalist", "dialog"})
CONTROL_ROLES = frozenset({"search", "dialog", "alertdialog", "toolbar", "tablist"})
LANDMARKS = frozenset({"nav", "footer"})
LANDMARK_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "menu", "menubar"})
CALLOUT = re.compile(
    r"(?:^|[\s_-])(?:admonition|callout|note|tip|hint|info|important|warning|caution|danger|error|attention|success|check"
    r"|question|failure|bug|example|quote|abstract|summary|todo|seealso|alert|notice|topic|footnotes?|citation|definition"
    r"|infobox|sidenote|marginnote|pullquote|version(?:added|changed|removed)|deprecated)(?:$|[\s_-])",
    re.IGNORECASE,
)
"""Class names of asides that belong to the text."""
LAYOUT = re.compile(
    r"(?:^|[\s_-])(?:toc|table-of-contents|nav|menu|related|recommend\w*|newsletter|promo|ads?|advert\w*|share|social|cookie\w*"
    r"|comments?|widgets?|author|subscribe|sponsor\w*|banner|on-this-page)(?:$|[\s_-])",
    re.IGNORECASE,
)
MAX_LINKED = 0.6
"""Largest share of links in the text of an aside that belongs to the text."""


def drop_non_content(body: HtmlElement, omissions: Omissions) -> None:
    """Remove the elements from a page's body, in place, and count their text."""
    for element in list(body.iter()):
        if element is body or element.getparent() is None:
            continue
        if not isinstance(element.tag, str) or element.tag in NEVER_TEXT:
            element.drop_tree()  # a comment, processing instruction or program: the text after it stays
        elif kind := _kind(element):
            omissions.drop(element, kind)


def is_written_aside(aside: HtmlElement) -> bool:
    """True for a callout, a note, or a sidebar that an author put into the text."""
    role, classes = (aside.get("role") or "").lower(), aside.get("class") or ""
    if "sidebar" in classes and any("sidebar-title" in (child.get("class") or "") for child in aside.iter()):
        return True
    if aside.tag != "aside":
        return False
    if role in ("note", "region") or role.startswith("doc-") or CALLOUT.search(classes):
        return True
    if role or LAYOUT.search(f"{classes} {aside.get('id') or ''}"):
        return False
    in_text = next(aside.iterancestors("article", "section", "main"), None) is not None
    text = len("".join(aside.text_content().split()))
    linked = sum(len("".join(link.text_content().split())) for link in aside.iter("a"))
    return in_text and aside.find(".//p") is not None and linked <= MAX_LINKED * text


def _kind(element: HtmlElement) -> str:
    """Return the kind of an element that isn't content, or "" for content; closed panels are opened."""
    tag, role = element.tag, (element.get("role") or "").lower()
    if element.get("data-nosnippet") is not None:
        return "marked as no snippet"
    if tag in CONTROLS or role in CONTROL_ROLES:
        return "controls"
    if tag == "aside":
        return "" if is_written_aside(element) else "asides"
    if tag in LANDMARKS or role in LANDMARK_ROLES:
        return "navigation"
    if tag == "header" and element.find(".//h1") is None:
        return "" if next(element.iterancestors("main", "article"), None) is not None else "navigation"
    if not _is_hidden(element):
        return ""
    if not is_disclosed(element):
        return "hidden"
    open_panel(element)
    return ""


def _is_hidden(element: HtmlElement) -> bool:
    style = (element.get("style") or "").replace(" ", "").lower()
    return element.get("hidden") is not None or "display:none" in style or "visibility:hidden" in style
