"""HTML trees to Markdown: the tree is normalized, then html-to-markdown writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.convert.html.anchors import HEADINGS
from lore.convert.html.code_blocks import simplify_code
from lore.convert.html.inline import normalize_inline
from lore.convert.html.parsing import parse_html
from lore.convert.html.tables import normalize_tables
from lore.convert.html.widgets import resolve_checkboxes

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["NOT_CONTENT", "drop_permalinks", "fragment_to_markdown", "tree_to_markdown"]

MAX_DEPTH = 200
"""Depth beyond which elements are replaced by their text. No real page comes near."""
BLOCKS = frozenset(
    {"div", "p", "ul", "ol", "dl", "table", "pre", "blockquote", "section", "article", "figure", *HEADINGS}
)
NOT_CONTENT = ("script", "style", "noscript", "template", "iframe", "object", "embed", "svg")
PERMALINKS = frozenset({"", "#", "¶", "§", "🔗", "\uf0c1", "link", "[edit]", "​"})


def fragment_to_markdown(text: str, url: str = "") -> str:
    """Return a piece of HTML as Markdown, all of it: a fragment has no page around it."""
    if "<" not in text and "&" not in text:
        return text.strip()
    root = parse_html(f"<div>{text}</div>")
    for element in list(root.iter(*NOT_CONTENT)):
        element.drop_tree()
    return tree_to_markdown(root, url)


def tree_to_markdown(root: HtmlElement, url: str = "") -> str:
    """Return a tree as Markdown, with links made absolute by `url`. Changes the tree in place."""
    import lxml.html
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    _flatten(root)
    for heading in root.iter(*HEADINGS):
        drop_permalinks(heading)
    resolve_checkboxes(root)
    normalize_inline(root)
    simplify_code(root)
    normalize_tables(root)
    _normalize_links(root)
    _normalize_blocks(root)
    root.tag, root.tail = "div", None
    options = ConversionOptions(
        extract_metadata=False,
        preprocessing=PreprocessingOptions(enabled=False),
        compact_tables=True,
        include_blockquote_citations=False,
        expand_abbreviations=False,
        highlight_style="none",
        autolinks=True,
        base_url=url if url.startswith(("http://", "https://")) else None,
    )
    content = convert(lxml.html.tostring(root, encoding="unicode"), options).content or ""
    return content.strip() + "\n"


def drop_permalinks(heading: HtmlElement) -> None:
    """Remove a heading's links to itself and to the table of contents."""
    for link in list(heading.iter("a")):
        if link.text_content().strip() in PERMALINKS or "headerlink" in (link.get("class") or ""):
            link.drop_tree()
        elif "toc-backref" in (link.get("class") or ""):
            link.drop_tag()


def _flatten(root: HtmlElement) -> None:
    """Bound the depth, so that no later reader of the tree exhausts the stack."""
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [child for element in level for child in element]
    for element in level:
        text = element.text_content()
        for child in list(element):
            element.remove(child)
        element.text = text


def _normalize_links(root: HtmlElement) -> None:
    """Drop images without an address or a text, and links without a text."""
    for image in list(root.iter("img")):
        source, text = image.get("src") or "", " ".join((image.get("alt") or "").split())
        if source.startswith("data:") or not source or not text:
            image.drop_tree()
    for link in list(root.iter("a")):
        if not link.text_content().strip() and link.find(".//img") is None:
            link.drop_tree()
            continue
        link.attrib.pop("title", None)
        if (link.get("href") or "").strip().lower().startswith(("data:", "javascript:")):
            del link.attrib["href"]


def _normalize_blocks(root: HtmlElement) -> None:
    """Put paragraphs on one line, make lists tight, and replace elements of other vocabularies."""
    for element in list(root.iter()):
        inside_code = element.tag == "code" and element.getparent() is not None and element.getparent().tag == "pre"
        if element.text and "\n" in element.text and not inside_code:
            element.text = element.text.replace("\n", " ")
        if element.tail and "\n" in element.tail:
            element.tail = element.tail.replace("\n", " ")
        if element.tag == "dt":
            _embolden(element)
        elif element.tag == "figcaption" and sum(child.tag in BLOCKS for child in element) > 1:
            element.tag = "div"  # a caption is set in italics, which end with its paragraph
        if ":" in element.tag:
            element.tag = "div" if any(child.tag in BLOCKS for child in element) else "span"
        elif element.tag == "li" and _is_one_paragraph(element):
            element[0].drop_tag()


def _is_one_paragraph(item: HtmlElement) -> bool:
    """True if a list item is a single paragraph, perhaps with lists below it."""
    if len(item) == 0 or item[0].tag != "p" or (item.text or "").strip():
        return False
    return not any(child.tag in BLOCKS - {"ul", "ol"} for child in item[1:])


def _embolden(term: HtmlElement) -> None:
    """Make the term of a definition list bold: Markdown has no notation for it."""
    if not term.text_content().strip():
        return
    for classifier in term.iter("span"):
        if (classifier.get("class") or "") == "classifier":
            classifier.text = f" : {classifier.text or ''}"
    strong = term.makeelement("strong")
    strong.text, term.text = (term.text or "").lstrip(), None
    strong.extend(list(term))
    term.append(strong)
