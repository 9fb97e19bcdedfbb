"""HTML to Markdown: lxml parses and tidies the tree, html-to-markdown writes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lore.convert.anchors import ANCHORS, HEADINGS, heading_anchors, mark_anchors
from lore.convert.isolate import isolate
from lore.convert.markdown import first_heading
from lore.convert.result import Converted
from lore.convert.tables import tidy_tables
from lore.errors import ConversionError

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["convert_html", "fragment_to_markdown", "parse", "tree_to_markdown"]

MAX_DEPTH = 200
"""Elements nested deeper are replaced by their text; no page that people read comes near."""

LANGUAGE = re.compile(
    r"(?:^|\s)(?:(?:language|lang|highlight-source|highlight)-|brush:\s*)(?P<name>[\w+#.-]+)", re.IGNORECASE
)
LINE_NUMBERS = frozenset({"linenos", "lineno", "linenodiv", "gutter"})
NOT_LANGUAGES = frozenset({"default", "text", "none", "plaintext", "notranslate", "ltr", "rtl", "source"})
BLOCKS = frozenset(
    {"div", "p", "ul", "ol", "dl", "table", "pre", "blockquote", "section", "article", "figure", *HEADINGS}
)
IN_HEAD = frozenset(
    {"base", "basefont", "bgsound", "link", "meta", "noframes", "noscript", "script", "style", "template", "title"}
)
"""Elements that a page's head may have; with any other its body begins, though it may not say so."""
PERMALINKS = frozenset({"", "#", "¶", "§", "🔗", "\uf0c1", "link", "[edit]", "​"})


def convert_html(text: str, url: str = "") -> Converted:
    """The main content of a page as Markdown, under a heading with its title; links are made absolute by its `url`.

    The metadata hold the anchors of the headings, as `anchors.ANCHORS` says.
    """
    root = parse(text)
    mark_anchors(root)
    for heading in list(root.iter(*HEADINGS)):
        _drop_permalinks(heading)
    title = _title(root)
    main = isolate(root)
    anchors = heading_anchors(main)
    markdown = tree_to_markdown(main, url)
    if title and first_heading(markdown) != title:
        markdown = f"# {title}\n\n{markdown}"
    return Converted(markdown, title=title, metadata={ANCHORS: anchors} if anchors else {})


def fragment_to_markdown(text: str) -> str:
    """A piece of HTML as Markdown, all of it: there is no page around it."""
    if "<" not in text and "&" not in text:
        return text.strip()
    root = parse(f"<div>{text}</div>")
    for element in list(root.iter("script", "style", "noscript", "template", "iframe", "object", "embed", "svg")):
        element.drop_tree()
    return tree_to_markdown(root)


def parse(text: str) -> HtmlElement:
    """The tree of a page, however broken it is. Raises ConversionError when it nests thousands of elements."""
    import lxml.etree
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = lxml.html.document_fromstring(text.encode("utf-8"), parser=parser, ensure_head_body=True)
    except lxml.etree.ParserError:  # not a single element or word in it
        return lxml.html.document_fromstring("<p></p>", ensure_head_body=True)
    if any("xcessive depth" in entry.message for entry in parser.error_log.filter_from_errors()):
        raise ConversionError(
            "Its elements are nested too deeply to be read.", remedy="Leave the page out of the source."
        )
    _begin_body(root)
    return root


def _begin_body(root: HtmlElement) -> None:
    """Put into the body what only stands in the head because the page leaves out `<body>`, as HTML 5 allows: libxml2
    takes elements that HTML 4 does not have, such as main and section, for more of the head.
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


def tree_to_markdown(root: HtmlElement, url: str = "") -> str:
    """The Markdown of a tree, which is tidied in place: code, tables and headings made what they stand for."""
    import lxml.html
    from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

    _flatten(root)
    for heading in root.iter(*HEADINGS):
        _drop_permalinks(heading)
    for element in list(root.iter("td", "span", "div")):
        if element is not root and not LINE_NUMBERS.isdisjoint((element.get("class") or "").split()):
            element.drop_tree()
    for pre in list(root.iter("pre")):
        _simplify_code(pre)
    tidy_tables(root)
    _tidy_links(root)
    _tidy_blocks(root)
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


def _title(root: HtmlElement) -> str:
    """The first H1 that the head's titles contain (they add the site's name), else the head's own, else the first H1.

    The head has a title to share (og:title) and the title of the window.
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


def _flatten(root: HtmlElement) -> None:
    """Bound the depth, so that nothing that reads the tree after us can recurse to death."""
    level = [root]
    for _ in range(MAX_DEPTH):
        level = [child for element in level for child in element]
    for element in level:
        text = element.text_content()
        for child in list(element):
            element.remove(child)
        element.text = text


def _drop_permalinks(heading: HtmlElement) -> None:
    for link in list(heading.iter("a")):
        if link.text_content().strip() in PERMALINKS or "headerlink" in (link.get("class") or ""):
            link.drop_tree()


def _simplify_code(pre: HtmlElement) -> None:
    """Make a code block one text in one element: highlighters put a span around every token and line."""
    if pre.getparent() is None:
        return
    language = _language(pre)
    for element in list(pre.iter()):
        if element is pre:
            continue
        ends_line = element.tag in {"div", "p", "li"} and not element.text_content().endswith("\n")
        if element.tag == "br" or ends_line:
            element.tail = "\n" + (element.tail or "")
    text = re.sub(r"\A(?:[ \t]*\n)+", "", pre.text_content()).rstrip()
    tail = pre.tail
    pre.clear()
    pre.tail = tail
    code = pre.makeelement("code", {"class": f"language-{language}"} if language else {})
    code.text = text
    pre.append(code)


def _language(pre: HtmlElement) -> str:
    nearest = [*pre.iter("code"), pre, *(parent for parent, _ in zip(pre.iterancestors(), range(3), strict=False))]
    for element in nearest:
        name = element.get("data-lang") or element.get("data-language") or ""
        if not name and (match := LANGUAGE.search(element.get("class") or "")):
            name = match["name"]
        if name and name.lower() not in NOT_LANGUAGES and re.fullmatch(r"[\w+#.-]{1,30}", name):
            return name.lower()
    return ""


def _tidy_blocks(root: HtmlElement) -> None:
    """One line for a paragraph, tight lists, and known elements for the unknown ones of other vocabularies."""
    for element in list(root.iter()):
        inside_code = element.tag == "code" and element.getparent() is not None and element.getparent().tag == "pre"
        if element.text and "\n" in element.text and not inside_code:
            element.text = element.text.replace("\n", " ")
        if element.tail and "\n" in element.tail:
            element.tail = element.tail.replace("\n", " ")
        if element.tag == "dt":
            _embolden(element)
        if ":" in element.tag:
            element.tag = "div" if any(child.tag in BLOCKS for child in element) else "span"
        elif element.tag == "li" and _is_one_paragraph(element):
            element[0].drop_tag()


def _is_one_paragraph(item: HtmlElement) -> bool:
    """Whether a list item is a single paragraph, perhaps with lists below it."""
    if len(item) == 0 or item[0].tag != "p" or (item.text or "").strip():
        return False
    return not any(child.tag in BLOCKS - {"ul", "ol"} for child in item[1:])


def _tidy_links(root: HtmlElement) -> None:
    """Images whose data is in the page have no address, images without a text say nothing, and so do empty links."""
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


def _embolden(term: HtmlElement) -> None:
    """A term above its definition: Markdown has no notation for either."""
    if not term.text_content().strip():
        return
    strong = term.makeelement("strong")
    strong.text, term.text = (term.text or "").lstrip(), None
    strong.extend(list(term))
    term.append(strong)
