"""What docutils makes of an RST text: the tree, made plain, and its HTML."""

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

from lore.convert.rst_directives import register

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
"""No file is read and nothing is printed. The line limit bounds docutils' patterns, which are quadratic at worst."""

FILE_FIELDS = frozenset({"orphan", "tocdepth", "nocomments", "nosearch", "no-search"})
"""What Sphinx lets a file say about itself in fields at its top."""

REFUSED_ROLE = re.compile(r":[\w.:+-]+:`(?P<text>.*)`", re.DOTALL)
"""A role that docutils would not run: one made for raw HTML."""


def read_rst(text: str) -> nodes.document:
    """The document's tree: references and substitutions resolved, messages taken out, Sphinx's nodes made plain."""
    register(text)
    parser = Parser()
    settings = get_default_settings(parser, Reader, Writer)
    for name, value in SETTINGS.items():
        setattr(settings, name, value)
    document = new_document("document", settings)
    parser.parse(text, document)
    document.transformer.populate_from_components((Reader(), parser))
    document.transformer.apply_transforms()
    _resolve_references(document)
    _drop_unseen(document)
    _mark_code(document)
    _label_notes(document)
    _draw_tables(document, text.split("\n"))
    _drop_file_fields(document)
    return document


def write_html(document: nodes.document) -> str:
    """The body of the document as HTML."""
    translator = _Translator(document)
    document.walkabout(translator)
    return "".join(translator.body)


class _Translator(HTMLTranslator):
    """docutils' own, but code is marked as code and not as a styled span."""

    def visit_literal(self, node: nodes.literal) -> None:
        self.body.append(f"<code>{self.encode(node.astext())}</code>")
        raise nodes.SkipNode


def _resolve_references(document: nodes.document) -> None:
    """Show the title of the section that a `:ref:` points to, where it is in the same document."""
    for reference in list(document.findall(nodes.inline)):
        target = reference.get("target", "")
        if reference.get("role") != "ref" or reference.astext() != target:
            continue
        section = document.ids.get(document.nameids.get(nodes.fully_normalize_name(target)) or "")
        title = section.next_node(nodes.title) if isinstance(section, nodes.section) else None
        if title is not None:
            reference.children = [nodes.Text(title.astext())]


def _drop_unseen(document: nodes.document) -> None:
    """Comments, docutils' messages, and the quotes that held nothing else (an indented licence header)."""
    for unseen in list(document.findall(lambda node: isinstance(node, (nodes.system_message, nodes.comment)))):
        _replace(unseen)
    for quote in list(document.findall(nodes.block_quote)):
        if not quote.children:
            _replace(quote)
    for problem in list(document.findall(nodes.problematic)):
        role = REFUSED_ROLE.fullmatch(problem.astext())
        _replace(problem, nodes.Text(re.sub(r"<[^<>]*>", "", role["text"]) if role else problem.astext()))


def _mark_code(document: nodes.document) -> None:
    """Formulas as code, and every block of code with its language where the HTML reader looks for it."""
    for formula in list(document.findall(nodes.math)):
        _replace(formula, nodes.literal("", formula.astext()))
    for formulas in list(document.findall(nodes.math_block)):
        _replace(formulas, nodes.literal_block("", formulas.astext(), language="math"))
    for block in document.findall(nodes.literal_block):
        block["classes"] = [f"highlight-{block['language']}"] if block.get("language") else []
        if len(block.children) == 1:
            block.children = [nodes.Text(textwrap.dedent(block.astext()))]


def _label_notes(document: nodes.document) -> None:
    """A footnote's number in front of its text, and the titles of boxes as bold lines: they are no headings."""
    for note in list(document.findall(lambda node: isinstance(node, (nodes.footnote, nodes.citation)))):
        label, paragraph = note.next_node(nodes.label), note.next_node(nodes.paragraph)
        if label is not None and paragraph is not None:
            _replace(label)
            paragraph.insert(0, nodes.Text(f"[{label.astext()}] "))
    for title in list(document.findall(nodes.title)):
        if isinstance(title.parent, (nodes.Admonition, nodes.topic, nodes.sidebar)):
            _replace(title, nodes.paragraph("", "", nodes.strong("", "", *title.children)))


def _replace(node: nodes.Node, *others: nodes.Node) -> None:
    """Put other nodes in a node's place."""
    parent = node.parent
    if isinstance(parent, nodes.Element):
        position = parent.index(node)
        parent[position : position + 1] = list(others)


def _draw_tables(document: nodes.document, lines: list[str]) -> None:
    """Keep simple tables of plain words as their authors aligned them: they read well as they are, others do not."""
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
    """The text of a cell that is one line of plain words, otherwise None."""
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
