"""Rewriting of a Word file for mammoth, which doesn't read outline levels, formulas and newer text boxes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element

__all__ = ["FORMULA_STYLE", "HEADING_STYLE", "rewrite"]

HEADING_STYLE = "LoreHeading"
"""Id of the style given to paragraphs by their outline level, 1 to 6, which follows it."""
FORMULA_STYLE = "LoreFormula"
"""Id of the style given to formulas."""
DOCUMENT, STYLES = "word/document.xml", "word/styles.xml"
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
BODY_TEXT = 9
"""Outline level of a paragraph that is no heading."""
MAX_INHERITANCE = 20
MAX_DEPTH = 40
PARTS = ("e", "sup", "sub", "num", "den", "deg")
FORMS = {
    "sSup": "{e}^{sup}", "sSub": "{e}_{sub}", "sSubSup": "{e}_{sub}^{sup}", "f": "{num}/{den}", "rad": "sqrt{deg}({e})",
    "nary": "{sign}_{sub}^{sup} {e}",
}  # fmt: skip
"""Elements of formulas (ECMA-376, part 1, 22.1) in one line."""
SEPARATORS = {"m": "; ", "eqArr": "; ", "mr": ", "}


def rewrite(data: bytes, package: zipfile.ZipFile) -> bytes:
    """Return the file with headings styled by their outline levels and formulas as text."""
    names = package.namelist()
    if DOCUMENT not in names:  # mammoth finds a main part of another name
        return data
    document = _parse(package.read(DOCUMENT))
    levels = _style_levels(_parse(package.read(STYLES))) if STYLES in names else {}
    changed = _style_headings(document, levels)
    changed = _write_formulas(document) or changed
    changed = _open_text_boxes(document) or changed
    return _replaced(package, document) if changed else data


def _parse(data: bytes) -> _Element:
    from lxml import etree

    return etree.fromstring(
        data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
    )


def _replaced(package: zipfile.ZipFile, document: _Element) -> bytes:
    from lxml import etree

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as target:
        for part in package.infolist():
            content = etree.tostring(document) if part.filename == DOCUMENT else package.read(part)
            target.writestr(part.filename, content)
    return buffer.getvalue()


def _style_levels(styles: _Element) -> dict[str, int]:
    """Return the outline level, 0 to 8, of each paragraph style that has or inherits one."""
    own: dict[str, int | None] = {}
    parents: dict[str, str] = {}
    for style in styles.iter(f"{W}style"):
        name = style.get(f"{W}styleId", "")
        own[name] = _level(style.find(f"{W}pPr"))
        parent = style.find(f"{W}basedOn")
        parents[name] = "" if parent is None else parent.get(f"{W}val", "")
    levels: dict[str, int] = {}
    for name in own:
        ancestor = name
        for _ in range(MAX_INHERITANCE):
            level = own.get(ancestor)
            if level is not None:
                levels[name] = level
                break
            ancestor = parents.get(ancestor, "")
    return levels


def _level(properties: _Element | None) -> int | None:
    level = None if properties is None else properties.find(f"{W}outlineLvl")
    value = "" if level is None else level.get(f"{W}val", "")
    return int(value) if value.isdigit() and len(value) == 1 else None


def _style_headings(document: _Element, levels: dict[str, int]) -> bool:
    """Give paragraphs with an outline level a style of ours, except in tables and lists' own numbering."""
    changed = False
    for paragraph in document.iter(f"{W}p"):
        properties = paragraph.find(f"{W}pPr")
        if properties is None:
            continue
        style = properties.find(f"{W}pStyle")
        level = _level(properties)
        if level is None and style is not None:
            level = levels.get(style.get(f"{W}val", ""))
        if level is None or level >= BODY_TEXT:
            continue
        if style is None:
            style = properties.makeelement(f"{W}pStyle")
            properties.insert(0, style)
        style.set(f"{W}val", f"{HEADING_STYLE}{min(level + 1, 6)}")
        changed = True
    return changed


def _write_formulas(document: _Element) -> bool:
    formulas = list(document.iter(f"{M}oMath"))
    for formula in formulas:
        run = formula.makeelement(f"{W}r")
        properties, text = run.makeelement(f"{W}rPr"), run.makeelement(f"{W}t")
        style = run.makeelement(f"{W}rStyle")
        style.set(f"{W}val", FORMULA_STYLE)
        properties.append(style)
        text.text = _linear(formula, 0)
        run.extend((properties, text))
        parent = formula.getparent()
        if parent is None:
            continue
        if parent.tag == f"{M}oMathPara" and (outer := parent.getparent()) is not None:
            outer.insert(outer.index(parent), run)
            if len(parent.findall(f"{M}oMath")) == 1:
                outer.remove(parent)
            else:
                parent.remove(formula)
        else:
            parent.replace(formula, run)
    return bool(formulas)


def _linear(node: _Element, depth: int) -> str:
    """Return a formula in one line, with `^`, `_`, `/` and `sqrt`."""
    name = node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
    if depth > MAX_DEPTH or name == "t":
        return "".join(node.itertext())
    if name == "d":
        inside = ", ".join(_linear(each, depth + 1) for each in node.findall(f"{M}e"))
        return f"{_sign(node, 'begChr', '(')}{inside}{_sign(node, 'endChr', ')')}"
    if name in FORMS:
        sign = _sign(node, "chr", "∫")
        return FORMS[name].format_map({"sign": sign, **{part: _part(node, part, depth) for part in PARTS}})
    separator = SEPARATORS.get(name, "")
    children = (_linear(child, depth + 1) for child in node if not str(child.tag).endswith("Pr"))
    return separator.join(children)


def _part(node: _Element, name: str, depth: int) -> str:
    """Return a part of a formula, such as its exponent, in brackets if it is more than a word."""
    found = node.find(f"{M}{name}")
    part = "" if found is None else _linear(found, depth + 1)
    return part if part.isalnum() or len(part) <= 1 else f"({part})"


def _sign(node: _Element, name: str, default: str) -> str:
    """Return a sign from an element's properties, such as its opening bracket."""
    found = next(node.iter(f"{M}{name}"), None)
    return default if found is None else str(found.get(f"{M}val", default))


def _open_text_boxes(document: _Element) -> bool:
    """Put the paragraphs of text boxes that have no older copy below the paragraph that holds the box."""
    changed = False
    for alternative in list(document.iter(f"{MC}AlternateContent")):
        choice, fallback = alternative.find(f"{MC}Choice"), alternative.find(f"{MC}Fallback")
        if choice is None or (fallback is not None and _has_text(fallback)):
            continue
        paragraph = next(alternative.iterancestors(f"{W}p"), None)
        if paragraph is None:
            continue
        for content in list(_boxes(choice)):
            for block in reversed(list(content)):
                paragraph.addnext(block)
                changed = True
    return changed


def _boxes(choice: _Element) -> Iterator[_Element]:
    for content in choice.iter(f"{W}txbxContent"):
        if next(content.iterancestors(f"{W}txbxContent"), None) is None:
            yield content


def _has_text(element: _Element) -> bool:
    return any((text.text or "").strip() for text in element.iter(f"{W}t"))
