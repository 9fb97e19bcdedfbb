"""Formulas of KaTeX, MathJax, MathML and Sphinx, each written once as code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["resolve_formulas"]

FORMULA_BOX = re.compile(r"(?:^|\s)(?:katex|katex-display|MathJax\w*|mwe-math-element|math|arithmatex)(?:$|\s)")
TEX = re.compile(
    r"\s*(?P<number>\(\d+\))?[\s¶#\uf0c1]*(?:\\\((?P<a>.*)\\\)|\\\[(?P<b>.*)\\\]|\$\$(?P<c>.*)\$\$|\$(?P<d>.*)\$)\s*",
    re.DOTALL,
)
"""A formula between the delimiters of MathJax, perhaps after the number that Sphinx gives it."""
MAX_DEPTH = 40


def resolve_formulas(root: HtmlElement) -> None:
    """Replace every formula by its TeX, or by MathML in one line, as code; in place."""
    _resolve_scripts(root)
    _resolve_mathml(root)
    for element in list(root.iter("span", "div")):
        if element.getparent() is None or not FORMULA_BOX.search(element.get("class") or ""):
            continue
        if found := TEX.fullmatch(element.text_content()):
            source = next(part for part in found.group("a", "b", "c", "d") if part is not None)
            _set_formula(element, f"{source.strip()} {found['number'] or ''}", display=element.tag == "div")


def _resolve_scripts(root: HtmlElement) -> None:
    """Keep the source that MathJax 2 puts into a script, and drop what it draws before it."""
    for script in list(root.iter("script")):
        kind = script.get("type") or ""
        if not kind.startswith("math/tex"):
            continue
        for before in list(script.itersiblings(preceding=True)):
            if not FORMULA_BOX.search(before.get("class") or ""):
                break
            before.drop_tree()
        _set_formula(script, script.text or "", display="mode=display" in kind)


def _resolve_mathml(root: HtmlElement) -> None:
    """Keep MathML's source, and drop the boxes that KaTeX, MathJax 3 and MediaWiki draw around it."""
    for math in list(root.iter("math")):
        box = math
        for ancestor in math.iterancestors():
            if ancestor.tag == "mjx-container" or FORMULA_BOX.search(ancestor.get("class") or ""):
                box = ancestor
        if box.getparent() is None:
            continue
        is_display = math.get("display") == "block" or "katex-display" in (box.get("class") or "")
        _set_formula(box, _source(math), display=is_display or box.get("display") == "true")


def _set_formula(element: HtmlElement, source: str, *, display: bool) -> None:
    """Replace an element by its formula as code."""
    text = source.strip()
    tail = element.tail
    element.clear()
    element.tail = tail
    if not text:
        element.drop_tree()
    elif display:
        element.tag = "pre"
        code = element.makeelement("code", {"class": "language-math"})
        code.text = text
        element.append(code)
    else:
        element.tag, element.text = "code", " ".join(text.split())


def _source(math: HtmlElement) -> str:
    """Return a formula's TeX, if it is noted, else its MathML as plain text."""
    for note in math.iter("annotation"):
        if "tex" in (note.get("encoding") or ""):
            return str(note.text_content())
    return str(math.get("alttext") or "") or _linear(math, 0)


def _linear(node: HtmlElement, depth: int) -> str:
    """Return MathML in one line, with `^`, `_`, `/` and `sqrt`."""
    if len(node) == 0 or depth > MAX_DEPTH:
        return " ".join(node.text_content().split())
    parts = [_linear(child, depth + 1) for child in node if child.tag not in ("annotation", "annotation-xml")]
    tag = node.tag
    if tag in ("msup", "mover") and len(parts) == 2:
        return f"{parts[0]}^{_grouped(parts[1])}"
    if tag in ("msub", "munder") and len(parts) == 2:
        return f"{parts[0]}_{_grouped(parts[1])}"
    if tag in ("msubsup", "munderover") and len(parts) == 3:
        return f"{parts[0]}_{_grouped(parts[1])}^{_grouped(parts[2])}"
    if tag == "mfrac" and len(parts) == 2:
        return f"{_grouped(parts[0])}/{_grouped(parts[1])}"
    if tag == "msqrt":
        return f"sqrt({''.join(parts)})"
    if tag == "mroot" and len(parts) == 2:
        return f"{_grouped(parts[0])}^(1/{parts[1]})"
    return "".join(parts)


def _grouped(part: str) -> str:
    return part if part.isalnum() or len(part) == 1 else f"({part})"
