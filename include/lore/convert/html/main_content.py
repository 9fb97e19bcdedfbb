"""Extraction of a page's main content: navigation, banners, sidebars, cookie and link boxes go."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lore.convert.html.anchors import is_section
from lore.convert.html.boilerplate import drop_boilerplate_text
from lore.convert.html.non_content import drop_non_content, is_written_aside
from lore.convert.html.widgets import take_tags

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from lore.convert.omissions import Omissions

__all__ = ["extract_main_content"]

BOILERPLATE = re.compile(
    r"(?:^|[\s_-])(?:cookies?|consent|gdpr|side-?bar|breadcrumbs?|pagination|pager|related|share|sharing|social|newsletter"
    r"|subscri(?:be|ption)|promo|advert(?:isement)?s?|ads?|banner|popup|modal|toc|table-of-contents|skip(?:-?link)?"
    r"|menu|nav(?:bar|box|igation)?|(?<!card-)footer|comments?|disqus|respond|headerlink|hash-link|viewcode-link|viewcode-back|footnote-backref|editsection|edit-this-page"
    r"|widgets?|feedback|sponsor(?:ed)?|sign-?up|paywall|donat(?:e|ion)|cta|outbrain|taboola|trending|recommend(?:ed|ations?)"
    r"|read-(?:also|more)|also-read|copy-?button|print-?only|noprint|sr-only|visually-hidden|screen-reader-text"
    r"|material-(?:icons|symbols)|version-badge|edit-?link|page-?meta|lastmod|last-?updated|cookiebot|onetrust|didomi"
    r"|usercentrics)(?:$|[\s_-])",
    re.IGNORECASE,
)
"""Names that authors give to parts outside the content. They count only on elements with little of the text."""

CONTENT_IDS = frozenset({"content", "main-content", "bodyContent", "mw-content-text", "article", "main"})
CONTENT_CLASSES = frozenset(
    {
        "markdown-body", "entry-content", "post-content", "article-body", "article-content", "mw-parser-output",
        "rst-content", "bd-article", "theme-doc-markdown", "post-body", "page-content", "wiki-content",
    }
)  # fmt: skip
FLOW = frozenset({"p", "h1", "h2", "h3", "h4", "pre", "ul", "ol", "dl", "blockquote"})
KEEP_TAGS = frozenset({"html", "body", "main", "article", "pre", "code", "p", "td", "th", "tr", "h1", "h2", "h3"})
NAMED = frozenset({"div", "section", "aside", "form", "ul", "ol", "table", "details", "figure"})
"""Elements whose id may name a layout part. The id of a heading or term is made of its words."""

MIN_PIECE = 12
"""Shorter pieces of text are labels and don't tell where the content is."""


def extract_main_content(root: HtmlElement, omissions: Omissions) -> HtmlElement:
    """Cut a page's tree down to its main content, in place, and return that element."""
    body = root.find("body")
    body = root if body is None else body
    added = [*_licences(body), *filter(None, [take_tags(body)])]
    drop_non_content(body, omissions)
    weights = _weigh(body)
    chosen = _choose(body, weights)
    main = _pick_article(chosen, weights)
    _count_outside(body, chosen, "outside the main content", omissions)
    _count_outside(chosen, main, "other posts", omissions)
    _drop_boilerplate(main, weights, omissions)
    drop_boilerplate_text(main, omissions)
    for text in added:
        if text not in " ".join(main.text_content().split()):
            paragraph = main.makeelement("p")
            paragraph.text = text
            main.append(paragraph)
    return main


def _count_outside(whole: HtmlElement, part: HtmlElement, kind: str, omissions: Omissions) -> None:
    if whole is not part:
        before, kept = (" ".join(element.text_content().split()) for element in (whole, part))
        omissions.add(kind, "x" * (len(before) - len(kept)))


def _drop_boilerplate(main: HtmlElement, weights: dict[HtmlElement, int], omissions: Omissions) -> None:
    """Drop elements named as boilerplate, unless little would remain: then the names mean something else here."""
    found: dict[HtmlElement, int] = {}
    for element in main.iter():
        is_light = element is not main and weights[element] < 0.4 * weights[main]
        if is_light and _is_boilerplate(element) and element.getparent() not in found:
            found[element] = weights[element]
    if sum(found.values()) <= 0.6 * weights[main]:
        for element in found:
            omissions.drop(element, "boilerplate")


def _is_boilerplate(element: HtmlElement) -> bool:
    if not isinstance(element.tag, str) or element.tag in KEEP_TAGS:
        return False
    if element.tag in ("aside", "div") and is_written_aside(element):
        return False
    classes = element.get("class") or ""
    if classes.endswith("docutils container"):  # the name is the author's
        return False
    name = element.get("id") if element.tag in NAMED and not is_section(element) else None
    return bool(BOILERPLATE.search(f"{classes} {name or ''}"))


def _weigh(body: HtmlElement) -> dict[HtmlElement, int]:
    """Return the characters of running text in each element, links not counted."""
    weights: dict[HtmlElement, int] = dict.fromkeys(body.iter(), 0)
    linked = {part for link in body.iter("a") for part in link.iter()}
    for element in reversed(list(weights)):  # children before parents
        if element not in linked and element.text:
            weights[element] += _length(element.text)
        parent = element.getparent()
        if element is body or parent is None:
            continue
        if element.tail and parent not in linked:
            weights[parent] += _length(element.tail)
        weights[parent] += weights[element]
    return weights


def _length(piece: str) -> int:
    text = piece.strip()
    wide = (
        len(text.encode("utf-8", "replace")) if text and not text.isascii() else len(text)
    )  # a CJK character is a word
    return len(text) if wide >= MIN_PIECE else 0


def _choose(body: HtmlElement, weights: dict[HtmlElement, int]) -> HtmlElement:
    """Return the smallest element named as content with nearly all such text, or the densest element."""
    total = weights[body]
    named = [element for element in body.iter() if weights[element] >= 0.4 * total and _is_named_content(element)]
    if named and total:
        most = max(weights[found] for found in named)
        return min((found for found in named if weights[found] >= 0.8 * most), key=lambda found: weights[found])
    node = body
    while sum(child.tag in FLOW and weights[child] > 0 for child in node) < 2:
        best = max(node, key=lambda child: weights[child], default=None)
        if best is None or best.tag in FLOW or weights[best] < max(1, 0.75 * total):
            return node
        node = best
    return node


def _is_named_content(element: HtmlElement) -> bool:
    if element.tag in {"main", "article"} or element.get("role") == "main" or element.get("id") in CONTENT_IDS:
        return True
    classes = element.get("class")
    return element.get("itemprop") == "articleBody" or bool(classes and not CONTENT_CLASSES.isdisjoint(classes.split()))


def _is_article(element: HtmlElement) -> bool:
    if element.tag == "article" or element.get("role") == "article":
        return True
    return "hentry" in (element.get("class") or "").split()


def _pick_article(main: HtmlElement, weights: dict[HtmlElement, int]) -> HtmlElement:
    """Return the longest post of a page that lists several: each has a page of its own.

    Posts of similar size are sections of one page and stay together.
    """
    articles = [element for element in main.iter() if element is not main and _is_article(element)]
    if len(articles) < 2:
        return main
    best = max(articles, key=lambda article: weights[article])
    return best if weights[best] >= 0.25 * weights[main] else main


def _licences(body: HtmlElement) -> list[str]:
    """Return statements such as "This work is licensed under …" from anywhere on the page: they stay with its text."""
    found: list[str] = []
    for link in body.xpath("descendant::a[@rel='license']"):
        block = link.getparent()
        text = " ".join(block.text_content().split()) if block is not None else ""
        if 20 <= len(text) <= 400 and text not in found:
            found.append(text)
    return found[:3]
