"""reStructuredText to Markdown: docutils parses, with Sphinx's directives and roles resolved, and writes HTML for us."""

from __future__ import annotations

import re
from typing import Any

from include.lore.convert.html import parse, tree_to_markdown
from include.lore.convert.markdown import first_heading
from include.lore.convert.result import Converted

__all__ = ["convert_rst"]

MAX_LINE = 100_000
"""Characters of a line; docutils searches lines with patterns that take quadratic time on hostile ones."""
FILE_FIELDS = frozenset({"orphan", "tocdepth", "nocomments", "nosearch", "no-search"})
"""What Sphinx lets a file say about itself in fields at its top."""
DRAWN_BORDER = re.compile(r"^\s*=+(?:\s+=+)+\s*$")

SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 6,
    "warning_stream": False,
    "doctitle_xform": False,
    "docinfo_xform": False,
    "sectsubtitle_xform": False,
    "syntax_highlight": "none",
    "initial_header_level": 1,
    "math_output": "LaTeX",
    "strip_comments": True,
    "line_length_limit": MAX_LINE,
    "stylesheet_path": "",
    "embed_stylesheet": False,
}


def convert_rst(text: str) -> Converted:
    """The text as Markdown. Nothing is read from files, and no directive or role is left in its own notation."""
    document = _read(text)
    _resolve_references(document)
    _simplify(document, text.split("\n"))
    root = parse(_to_html(document))
    for link in root.iter("a"):
        if (link.get("href") or "").startswith("#"):
            del link.attrib["href"]
    markdown = tree_to_markdown(root)
    return Converted(markdown, title=first_heading(markdown))


def _read(text: str) -> Any:
    """The document tree, transformed (references, substitutions, footnotes)."""
    from docutils.frontend import get_default_settings
    from docutils.parsers.rst import Parser
    from docutils.readers.standalone import Reader
    from docutils.utils import new_document
    from docutils.writers.html5_polyglot import Writer

    from include.lore.convert.rst_directives import register

    register(text)
    parser = Parser()
    settings = get_default_settings(parser, Reader, Writer)
    for name, value in SETTINGS.items():
        setattr(settings, name, value)
    document = new_document("document", settings)
    document.reporter.attach_observer(lambda message: None)
    parser.parse(text, document)
    document.transformer.populate_from_components((Reader(), parser))
    document.transformer.apply_transforms()
    return document


def _to_html(document: Any) -> str:
    from docutils.writers.html5_polyglot import HTMLTranslator

    translator = HTMLTranslator(document)
    document.walkabout(translator)
    return "".join(translator.body)


def _resolve_references(document: Any) -> None:
    """Show the title of the section that a `:ref:` points to, where it is in the same document."""
    from docutils import nodes

    for reference in list(document.findall(nodes.inline)):
        if reference.get("role") != "ref" or reference.astext() != reference["target"]:
            continue
        section = document.ids.get(document.nameids.get(nodes.fully_normalize_name(reference["target"])))
        if isinstance(section, nodes.section):
            title = section.next_node(nodes.title)
            reference.children = [nodes.Text(title.astext())] if title is not None else reference.children


def _simplify(document: Any, lines: list[str]) -> None:
    """Replace what the HTML writer would show in docutils' own way."""
    from docutils import nodes

    for message in list(document.findall(nodes.system_message)):
        message.parent.remove(message)
    for problem in list(document.findall(nodes.problematic)):
        problem.parent.replace(problem, nodes.Text(problem.astext()))
    for formula in list(document.findall(nodes.math)):
        formula.parent.replace(formula, nodes.literal("", formula.astext()))
    for formula in list(document.findall(nodes.math_block)):
        formula.parent.replace(formula, nodes.literal_block("", formula.astext(), language="math"))
    for code in document.findall(nodes.literal_block):
        if language := code.get("language"):
            code["classes"] = [f"language-{language}"]
    for admonition in list(document.findall(nodes.Admonition)):
        _label(admonition)
    for table in list(document.findall(nodes.table)):
        if drawn := _as_drawn(table, lines):
            table.parent.replace(table, nodes.literal_block("", drawn))
    _drop_file_fields(document)


def _label(admonition: Any) -> None:
    from docutils import nodes

    for title in list(admonition.findall(nodes.title)):
        admonition.replace(title, nodes.paragraph("", "", nodes.strong("", "", *title.children)))


def _as_drawn(table: Any, lines: list[str]) -> str:
    """A simple table of plain words as its author aligned it, or "": it reads well as it is, other tables do not."""
    from docutils import nodes

    line = table.line or 0
    if not any(DRAWN_BORDER.match(text) for text in lines[max(0, line - 1) : line + 1]):
        return ""
    widths = [column["colwidth"] + 2 for column in table.findall(nodes.colspec)]
    rows: list[str] = []
    for row in table.findall(nodes.row):
        cells = [_plain_cell(entry) for entry in row]
        if None in cells or len(cells) != len(widths):
            return ""
        rows.append("".join((cell or "").ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    return "\n".join(rows)


def _plain_cell(entry: Any) -> str | None:
    from docutils import nodes

    if not entry.children:
        return ""
    paragraph = entry[0]
    if len(entry) > 1 or not isinstance(paragraph, nodes.paragraph):
        return None
    text: str = paragraph.astext()
    only_text = all(isinstance(child, nodes.Text) for child in paragraph.children)
    return text if only_text and "\n" not in text else None


def _drop_file_fields(document: Any) -> None:
    from docutils import nodes

    for child in document.children:
        if isinstance(child, nodes.field_list):
            if all(field[0].astext() in FILE_FIELDS for field in child):
                document.remove(child)
            return
        if not isinstance(child, (nodes.comment, nodes.target, nodes.substitution_definition)):
            return
