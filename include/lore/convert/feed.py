"""Conversion of RSS (0.9 to 2.0, RDF) and Atom feeds: the title, then each item under its own heading."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lore.convert.html.page import convert_html
from lore.convert.html.writer import fragment_to_markdown
from lore.convert.markdown.fences import iter_lines
from lore.convert.result import Converted
from lore.convert.text import convert_code
from lore.errors import ConversionError

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = ["convert_xml"]

MAX_ITEMS = 2000
BODIES = ("encoded", "content", "full-text", "description", "summary")
"""Names of the elements that may hold an item's text, the fullest first."""
ROOTS = frozenset({"rss", "rdf", "feed"})


def convert_xml(text: str) -> Converted:
    """Return a feed as Markdown, XHTML as a page, and other XML as a code block."""
    root = _parse(text)
    name = _name(root)
    if name == "html":
        return convert_html(text)
    if name not in ROOTS:
        return convert_code(text, "xml")
    channel = next((child for child in root if _name(child) == "channel"), root)
    title = _child_text(channel, "title")
    head = [f"# {title}" if title else "", fragment_to_markdown(_child_text(channel, "description", "subtitle"))]
    items = [element for element in root.iter() if _name(element) in {"item", "entry"}][:MAX_ITEMS]
    blocks = [*head, *(block for item in items for block in _item(item))]
    return Converted("\n\n".join(block.strip() for block in blocks if block.strip()) + "\n", title=title)


def _parse(text: str) -> _Element:
    from lxml import etree

    body = re.sub(r"\A\s*<\?xml[^>]*\?>", "", text).strip()
    parser = etree.XMLParser(
        encoding="utf-8", recover=True, resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True
    )
    root = etree.fromstring(body.encode("utf-8"), parser) if body else None
    if root is None:
        raise ConversionError("The file isn't valid XML.", remedy="Check the file, or give it another suffix.")
    return root


def _item(item: _Element) -> Iterator[str]:
    title, link = _child_text(item, "title"), _link(item)
    yield f"## {_inline(title) or link}"
    date = _child_text(item, "pubdate", "published", "updated", "date")
    yield " · ".join(part for part in (date, f"<{link}>" if link else "") if part)
    seen = ""
    for name in BODIES:
        for element in item:
            if _name(element) != name:
                continue
            markdown = _demote(fragment_to_markdown(_inner(element)))
            words = re.sub(r"\W+", "", markdown)
            if words and words not in seen:
                seen += words
                yield markdown


def _inline(title: str) -> str:
    return " ".join(fragment_to_markdown(title).split()).lstrip("# ")


def _inner(element: _Element) -> str:
    """Return an element's content: a text of escaped HTML, or XHTML elements unchanged."""
    from lxml import etree

    if len(element) == 0:
        return element.text or ""
    parts = [element.text or "", *(etree.tostring(child, encoding="unicode") for child in element)]
    return re.sub(r"<(/?)[\w-]+:", r"<\1", "".join(parts))


def _demote(markdown: str) -> str:
    """Lower the headings of an item's text below the item's own."""
    return "\n".join(
        re.sub(r"^(#{1,6})(?= )", lambda match: "#" * min(6, len(match[1]) + 2), line.text)
        if not line.code
        else line.text
        for line in iter_lines(markdown)
    )


def _link(item: _Element) -> str:
    for element in item:
        if _name(element) == "link" and element.get("rel", "alternate") == "alternate":
            link = (element.get("href") or element.text or "").strip()
            if link.startswith(("http://", "https://")):
                return link
    return ""


def _child_text(parent: _Element, *names: str) -> str:
    for name in names:
        for child in parent:
            if _name(child) == name and (text := "".join(child.itertext()).strip()):
                return text if name in {"description", "subtitle"} else " ".join(text.split())
    return ""


def _name(element: _Element) -> str:
    tag = element.tag
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""
