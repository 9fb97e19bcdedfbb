"""Conversion of web pages: main content as Markdown under the page's title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.convert.html.anchors import HEADINGS, heading_anchors, mark_anchors
from lore.convert.html.inline import normalize_inline
from lore.convert.html.main_content import extract_main_content
from lore.convert.html.parsing import parse_html
from lore.convert.html.widgets import expand_widgets, resolve_checkboxes
from lore.convert.html.writer import drop_permalinks, tree_to_markdown
from lore.convert.markdown.headings import first_heading
from lore.convert.omissions import Omissions
from lore.convert.result import ANCHORS, Converted

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["convert_html"]


def convert_html(text: str, url: str = "") -> Converted:
    """Return a page's main content under a heading with its title; `url` makes its links absolute.

    The metadata hold the anchors of the headings under `result.ANCHORS`.
    """
    root = parse_html(text)
    mark_anchors(root)
    for heading in list(root.iter(*HEADINGS)):
        drop_permalinks(heading)
    title = _title(root)
    omissions = Omissions()
    resolve_checkboxes(root)
    expand_widgets(root)
    normalize_inline(root)
    main = extract_main_content(root, omissions)
    anchors = heading_anchors(main)
    markdown = tree_to_markdown(main, url)
    if title and first_heading(markdown) != title:
        markdown = f"# {title}\n\n{markdown}"
    return Converted(markdown, title=title, metadata={ANCHORS: anchors} if anchors else {}, omitted=omissions.counts())


def _title(root: HtmlElement) -> str:
    """Return the first H1 contained in a title of the head, else the head's title, else the first H1.

    The head has a title for sharing (og:title) and one for the window. Both may add the site's name.
    """
    head = (
        _words(root.xpath("string(//meta[@property='og:title']/@content)")),
        _words(root.xpath("string(//head/title)")),
    )
    headings = [words for words in (_words(heading.text_content()) for heading in root.iter("h1")) if words]
    for heading in headings:
        if len(heading) > 2 and any(heading.casefold() in title.casefold() for title in head):
            return heading
    return next((title for title in (*head, *headings) if title), "")


def _words(text: object) -> str:
    return " ".join(str(text).replace("¶", " ").split())
