"""docutils' tree of an RST text, simplified, and its HTML."""

from __future__ import annotations

import re
import textwrap

from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.parsers.rst import Parser
from docutils.parsers.rst.states import Body
from docutils.readers.standalone import Reader
from docutils.utils import new_document
from docutils.writers.html5_polyglot import HTMLTranslator, Writer

from lore.convert.omissions import Omissions
from lore.convert.rst.directives import register_directives

__all__ = ["read_rst", "write_html"]

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
    "line_length_limit": 100_000,
    "stylesheet_path": "",
    "embed_stylesheet": False,
}
"""Settings that read no file and print nothing. The line limit bounds docutils' quadratic patterns."""

FILE_FIELDS = frozenset({"orphan", "tocdepth", "nocomments", "nosearch", "no-search"})
"""Fields at the top of a file that only Sphinx reads."""

UNRESOLVED = re.compile(r"(?::[\w.:+-]+:)?`(?P<text>.*)`_{0,2}", re.DOTALL)
"""A role for raw HTML, which docutils refuses to run, or a reference to a target of another document."""


def read_rst(text: str, omissions: Omissions) -> nodes.document:
    """Return the document's tree with references and substitutions resolved, without docutils' messages."""
    register_directives(text)
    parser = Parser()
    settings = get_default_settings(parser, Reader, Writer)
    for name, value in SETTINGS.items():
        setattr(settings, name, value)
    document = new_document("document", settings)
    parser.parse(text, document)
    document.transformer.populate_from_components((Reader(), parser))
    document.transformer.apply_transforms()
    _resolve_references(document)
    _drop_invisible(document, omissions)
    _mark_code(document)
    _label_notes(document)
    _draw_tables(document, text.split("\n"))
    _drop_file_fields(document)
    return document


def write_html(document: nodes.document) -> str:
    """Return the body of the document as HTML."""
    translator = _Translator(document)
    document.walkabout(translator)
    return "".join(translator.body)


class _Translator(HTMLTranslator):
    """docutils' translator, with code marked as code instead of a styled span."""

    def visit_literal(self, node: nodes.literal) -> None:
        self.body.append(f"<code>{self.encode(node.astext())}</code>")
        raise nodes.SkipNode


def _resolve_references(document: nodes.document) -> None:
    """Replace a `:ref:` to a section of the same document by the section's title."""
    for reference in list(document.findall(nodes.inline)):
        target = reference.get("target", "")
        if reference.get("role") != "ref" or reference.astext() != target:
            continue
        section = document.ids.get(document.nameids.get(nodes.fully_normalize_name(target)) or "")
        title = section.next_node(nodes.title) if isinstance(section, nodes.section) else None
        if title is not None:
            reference.children = [nodes.Text(title.astext())]


def _drop_invisible(document: nodes.document, omissions: Omissions) -> None:
    """Drop comments, docutils' messages, and quotes that held nothing else (an indented licence header)."""
    for invisible in list(document.findall(lambda node: isinstance(node, (nodes.system_message, nodes.comment)))):
        if isinstance(invisible, nodes.comment):
            omissions.add("comments and lists of files", invisible.astext())
        _replace(invisible)
    for quote in list(document.findall(nodes.block_quote)):
        if not quote.children:
            _replace(quote)
    for problem in list(document.findall(nodes.problematic)):
        found = UNRESOLVED.fullmatch(problem.astext())
        _replace(problem, nodes.Text(re.sub(r"<[^<>]*>", "", found["text"]) if found else problem.astext()))


def _mark_code(document: nodes.document) -> None:
    """Turn formulas into code, and note each code block's language where the HTML converter looks for it."""
    for formula in list(document.findall(nodes.math)):
        _replace(formula, nodes.literal("", formula.astext()))
    for formulas in list(document.findall(nodes.math_block)):
        _replace(formulas, nodes.literal_block("", formulas.astext(), language="math"))
    for block in document.findall(nodes.literal_block):
        block["classes"] = [f"highlight-{block['language']}"] if block.get("language") else []
        if len(block.children) == 1:
            block.children = [nodes.Text(textwrap.dedent(block.astext()))]


def _label_notes(document: nodes.document) -> None:
    """Put a footnote's number before its text, and make titles of boxes bold lines instead of headings."""
    for note in list(document.findall(lambda node: isinstance(node, (nodes.footnote, nodes.citation)))):
        label, paragraph = note.next_node(nodes.label), note.next_node(nodes.paragraph)
        if label is not None and paragraph is not None:
            _replace(label)
            paragraph.insert(0, nodes.Text(f"[{label.astext()}] "))
    for title in list(document.findall(nodes.title)):
        if isinstance(title.parent, (nodes.Admonition, nodes.topic, nodes.sidebar)):
            _replace(title, nodes.paragraph("", "", nodes.strong("", "", *title.children)))


def _replace(node: nodes.Node, *others: nodes.Node) -> None:
    """Replace a node by others."""
    parent = node.parent
    if isinstance(parent, nodes.Element):
        position = parent.index(node)
        parent[position : position + 1] = list(others)


def _draw_tables(document: nodes.document, lines: list[str]) -> None:
    """Keep simple tables of plain words as their authors aligned them: such tables read well, others don't."""
    for table in list(document.findall(nodes.table)):
        line = table.line or 0
        if any(Body.simple_table_top_pat.match(text.strip()) for text in lines[max(0, line - 1) : line + 1]):
            drawn = _drawn(table)
            if drawn:
                _replace(table, nodes.literal_block("", drawn))


def _drawn(table: nodes.table) -> str:
    widths = [column["colwidth"] + 2 for column in table.findall(nodes.colspec)]
    rows: list[str] = []
    for row in table.findall(nodes.row):
        cells = [_plain_cell(entry) for entry in row.children]
        if None in cells or len(cells) != len(widths):
            return ""
        rows.append("".join((cell or "").ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    return "\n".join(rows)


def _plain_cell(entry: nodes.Node) -> str | None:
    """Return the text of a cell with one line of plain words, else None."""
    if not entry.children:
        return ""
    paragraph = entry.children[0]
    if len(entry.children) > 1 or not isinstance(paragraph, nodes.paragraph):
        return None
    text = paragraph.astext()
    return text if "\n" not in text and all(isinstance(child, nodes.Text) for child in paragraph.children) else None


def _drop_file_fields(document: nodes.document) -> None:
    for child in document.children:
        if isinstance(child, nodes.field_list):
            if all(field.children[0].astext() in FILE_FIELDS for field in child.children):
                document.remove(child)
            return
        if not isinstance(child, (nodes.comment, nodes.target, nodes.substitution_definition)):
            return
