"""Parsing of HTML into lxml trees, however broken it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.errors import ConversionError

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["parse_html"]

IN_HEAD = frozenset(
    {"base", "basefont", "bgsound", "link", "meta", "noframes", "noscript", "script", "style", "template", "title"}
)
"""Elements allowed in a page's head. Any other one begins the body, even without a body tag."""


def parse_html(text: str) -> HtmlElement:
    """Return the tree of a page. Raises ConversionError if it nests thousands of elements."""
    import lxml.etree
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = lxml.html.document_fromstring(text.encode("utf-8"), parser=parser, ensure_head_body=True)
    except lxml.etree.ParserError:  # no element and no word
        return lxml.html.document_fromstring("<p></p>", ensure_head_body=True)
    if any("xcessive depth" in entry.message for entry in parser.error_log.filter_from_errors()):
        raise ConversionError("The page nests its elements too deeply.", remedy="Leave it out of the source.")
    _begin_body(root)
    return root


def _begin_body(root: HtmlElement) -> None:
    """Move content from the head to the body where a page omits `<body>`, as HTML 5 allows.

    libxml2 treats elements that HTML 4 lacks, such as main and section, as part of the head.
    """
    head, body = root.find("head"), root.find("body")
    if head is None or body is None:
        return
    children = list(head)
    first = next((n for n, child in enumerate(children) if child.tag not in IN_HEAD), len(children))
    if content := children[first:]:
        content[-1].tail = (content[-1].tail or "") + (body.text or "")
        body.text = None
        body[:0] = content
