"""Conversion of PowerPoint files: slides in show order, each under its title, with tables and notes."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from lore.convert.markdown.tables import markdown_table
from lore.convert.office.package import open_package
from lore.convert.result import Converted
from lore.errors import ConversionError

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = ["convert_pptx"]

MAIN = "ppt/presentation.xml"
MAX_SLIDES = 2000
NAMESPACES = {
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "rel": "http://schemas.openxmlformats.org/package/2006/relationships",
}
LINK = f"{{{NAMESPACES['r']}}}id"
FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""A copy of the content for older programs."""
TITLES = ("title", "ctrTitle")
REPEATED = ("dt", "ftr", "sldNum", "hdr", "sldImg")
"""Placeholders of the date, footer, number, header and picture, which every slide repeats."""


class Relationship(NamedTuple):
    kind: str
    target: str


def convert_pptx(data: bytes) -> Converted:
    """Return the visible slides as Markdown, titled by the first slide with a title.

    Raises ConversionError for an invalid or oversized file.
    """
    with open_package(data, "pptx") as package:
        return _convert_slides(package)


def _convert_slides(package: zipfile.ZipFile) -> Converted:
    main = _parse(package, MAIN)
    if main is None:
        raise ConversionError("The file holds no presentation.", remedy="Save it again, or leave it out of the source.")
    relationships = _relationships(package, MAIN)
    parts: list[str] = []
    title = ""
    for number, entry in enumerate(main.iterfind("p:sldIdLst/p:sldId", NAMESPACES), 1):
        if number > MAX_SLIDES:
            raise ConversionError(
                f"It has more than {MAX_SLIDES:,} slides.", remedy="Split it, or leave it out of the source."
            )
        path = relationships[key].target if (key := str(entry.get(LINK))) in relationships else ""
        slide = _parse(package, path)
        if slide is not None and slide.get("show") not in ("0", "false"):
            heading, blocks = _slide(slide, _relationships(package, path))
            title = title or heading
            parts += [f"## {heading or f'Slide {number}'}", *blocks, *_notes(package, path)]
    return Converted("\n\n".join(parts) + "\n", title=title)


def _slide(slide: _Element, relationships: Mapping[str, Relationship]) -> tuple[str, list[str]]:
    """Return a slide's title, or "", and its text and tables."""
    title, blocks = "", list[str]()
    for shape in slide.iterfind("p:cSld/p:spTree//*", NAMESPACES):
        name = shape.tag.rpartition("}")[2] if isinstance(shape.tag, str) else ""
        if name == "tbl":
            cells = [[_words(cell) for cell in row.iterfind("a:tc", NAMESPACES)] for row in shape.iter(_a("tr"))]
            blocks.append(markdown_table(cells))
        elif name == "sp":
            kind = _placeholder(shape)
            if kind in TITLES and not title:
                title = _words(shape)
            elif kind not in REPEATED:
                blocks.append(_text(shape, relationships, listed=kind in ("body", "obj")))
    return title, [block for block in blocks if block]


def _notes(package: zipfile.ZipFile, path: str) -> Iterator[str]:
    """Yield the speaker notes of a slide."""
    for relation in _relationships(package, path).values():
        page = _parse(package, relation.target) if relation.kind == "notesSlide" else None
        for shape in () if page is None else page.iterfind("p:cSld/p:spTree//p:sp", NAMESPACES):
            if _placeholder(shape) == "body" and (text := _text(shape, {})):
                yield f"Notes: {text}"


def _placeholder(shape: _Element) -> str:
    """Return a placeholder's type, "obj" (content) if it names none; "" for other shapes."""
    found = shape.find("p:nvSpPr/p:nvPr/p:ph", NAMESPACES)
    return "" if found is None else found.get("type", "obj")


def _text(shape: _Element, relationships: Mapping[str, Relationship], *, listed: bool = False) -> str:
    """Return a shape's paragraphs, as nested list items where the slide's layout adds bullets."""
    lines: list[str] = []
    for paragraph in shape.iterfind("p:txBody/a:p", NAMESPACES):
        words = "".join(_run(part, relationships) for part in paragraph).strip()
        if not words:
            continue
        style = paragraph.find("a:pPr", NAMESPACES)
        level = "0" if style is None else style.get("lvl", "0")
        lines.append(f"{'  ' * int(level) if re.fullmatch('[0-8]', level) else ''}- {words}" if listed else words)
    return ("\n" if listed else "\n\n").join(lines)


def _run(part: _Element, relationships: Mapping[str, Relationship]) -> str:
    name = part.tag.rpartition("}")[2] if isinstance(part.tag, str) else ""
    if name == "br":
        return " "
    words = " ".join(_raw(part).split("\n")) if name in ("r", "fld") else ""
    link = part.find("a:rPr/a:hlinkClick", NAMESPACES)
    target = relationships[key].target if link is not None and (key := str(link.get(LINK))) in relationships else ""
    return f"[{words}](<{target}>)" if words.strip() and re.match(r"https?://[^\s<>]+$", target) else words


def _words(element: _Element) -> str:
    """Return all text of an element in one line."""
    return " ".join(" ".join(_raw(paragraph) for paragraph in element.iter(_a("p"))).split())


def _raw(element: _Element) -> str:
    return "".join(" " if node.tag == _a("br") else node.text or "" for node in element.iter(_a("t"), _a("br")))


def _a(name: str) -> str:
    return f"{{{NAMESPACES['a']}}}{name}"


def _relationships(package: zipfile.ZipFile, path: str) -> dict[str, Relationship]:
    """Return the targets of a part's relationships by id: paths in the package, or external addresses unchanged."""
    folder, name = posixpath.split(path)
    root = _parse(package, f"{folder}/_rels/{name}.rels")
    found: dict[str, Relationship] = {}
    for entry in () if root is None else root.iterfind("rel:Relationship", NAMESPACES):
        target, kind = entry.get("Target", ""), entry.get("Type", "").rpartition("/")[2]
        if entry.get("TargetMode") != "External":
            target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
        found[entry.get("Id", "")] = Relationship(kind, target)
    return found


def _parse(package: zipfile.ZipFile, path: str) -> _Element | None:
    """Return a part's tree, or None for a missing part."""
    from lxml import etree

    try:
        data = package.read(path)
    except KeyError:
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    root = etree.fromstring(data, parser)
    for element in list(root.iter(FALLBACK)):
        if (parent := element.getparent()) is not None:
            parent.remove(element)
    return root
