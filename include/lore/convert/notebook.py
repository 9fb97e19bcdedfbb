"""Conversion of Jupyter notebooks of any version, valid or not: text unchanged, code fenced, outputs kept short."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lore.convert.html.writer import fragment_to_markdown
from lore.convert.markdown.fences import fence_code
from lore.convert.markdown.front_matter import split_front_matter
from lore.convert.markdown.headings import first_heading
from lore.convert.omissions import Omissions
from lore.convert.result import Converted
from lore.errors import ConversionError

__all__ = ["convert_notebook"]

MAX_OUTPUT_LINES = 20
MAX_OUTPUT_LENGTH = 2000
MAX_RICH_LENGTH = 20_000
"""Characters of an output that is formatted text or a table."""

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\[(?:\d{1,3};)*\d{1,3}m")
OBJECT = re.compile(r"<[\w.]+(?: [^<>\n]*)? at 0x[0-9a-fA-F]+>|<[\w.]+ object>|<Figure [^<>\n]*>")
"""Python's representation of an object without a text."""
EMBEDDED_IMAGE = re.compile(
    r"!\[[^\]\n]*\]\((?:attachment:|data:)[^)]*\)|<img\b[^>]*\bsrc=[\"']?(?:data|attachment):[^>]*>"
)


def convert_notebook(text: str) -> Converted:
    """Return the cells in order as Markdown. Raises ConversionError if the file isn't a notebook's JSON."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConversionError(
            f"The notebook is not valid JSON: {error}.",
            remedy="Save it again with Jupyter, or leave it out of the source.",
        ) from error
    cells = _cells(notebook)
    if cells is None:
        raise ConversionError("The file has no notebook cells.", remedy="Check that it is a Jupyter notebook.")
    language = _language(notebook)
    metadata, cells = _front_matter(cells)
    omissions = Omissions()
    markdown = "\n\n".join(block for cell in cells for block in _blocks(cell, language, omissions)) + "\n"
    declared = str(metadata.get("title") or "").strip()
    return Converted(
        markdown, title=first_heading(markdown), declared_title=declared, metadata=metadata, omitted=omissions.counts()
    )


def _front_matter(cells: list[Mapping[str, Any]]) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
    """Return the front matter of a raw first cell, as Quarto writes it, and the other cells."""
    if cells and cells[0].get("cell_type") == "raw":
        metadata, rest = split_front_matter(_text(cells[0].get("source")))
        if metadata and not rest.strip():
            return metadata, cells[1:]
    return {}, cells


def _cells(notebook: Any) -> list[Mapping[str, Any]] | None:
    """Return the cells: in one list since version 4, in worksheets before."""
    if not isinstance(notebook, dict):
        return None
    found = notebook.get("cells")
    if not isinstance(found, list):
        sheets = notebook.get("worksheets")
        if not isinstance(sheets, list):
            return None
        found = [cell for sheet in sheets if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]
    return [cell for cell in found if isinstance(cell, dict)]


def _language(notebook: Mapping[str, Any]) -> str:
    metadata = _mapping(notebook.get("metadata"))
    named = _mapping(metadata.get("language_info")).get("name") or _mapping(metadata.get("kernelspec")).get("language")
    return _word(named) or "python"


def _blocks(cell: Mapping[str, Any], language: str, omissions: Omissions) -> Iterator[str]:
    kind = cell.get("cell_type")
    source = _text(cell.get("source", cell.get("input"))).strip("\n")
    if kind == "code":
        if source.strip():
            yield fence_code(source, _word(cell.get("language")) or language)
        for output in _list(cell.get("outputs")):
            if shown := _output(_mapping(output), omissions):
                yield shown
    elif kind == "heading":
        level = cell.get("level")
        yield f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {' '.join(source.split())}"
    elif source.strip():
        # raw cells and cells of unknown types hold text
        yield EMBEDDED_IMAGE.sub("", source)


def _output(output: Mapping[str, Any], omissions: Omissions) -> str:
    """Return a cell's output as Markdown: rich text in full, plain text shortened. Pictures and widgets have none."""
    kind = output.get("output_type")
    data = _mapping(output.get("data"))
    if rich := _rich(data):
        return rich
    if kind == "stream":
        text = _text(output.get("text"))
    elif kind in {"error", "pyerr"}:
        text = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    else:
        text = _text(data.get("text/plain", output.get("text")))
    text = ANSI.sub("", text).strip("\n").rstrip()
    if not text or OBJECT.fullmatch(text):
        return ""
    shown = "\n".join(text.split("\n")[:MAX_OUTPUT_LINES])[:MAX_OUTPUT_LENGTH]
    omissions.add("long outputs", text[len(shown) :])
    return fence_code(shown if shown == text else f"{shown}\n…")


def _rich(data: Mapping[str, Any]) -> str:
    """Return an output's Markdown, its formula, or its HTML where that is a table or the only text; else ""."""
    for name in ("text/markdown", "text/latex"):
        if text := _text(data.get(name)).strip():
            return text[:MAX_RICH_LENGTH]
    page, plain = _text(data.get("text/html")), _text(data.get("text/plain")).strip()
    if page and ("<table" in page.lower() or not plain or OBJECT.fullmatch(plain)):
        return fragment_to_markdown(page).strip()[:MAX_RICH_LENGTH]
    return ""


def _text(value: Any) -> str:
    """Return a text that notebooks hold as a string or as a list of lines."""
    if isinstance(value, str):
        return value
    return "".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    return value.lower() if isinstance(value, str) and re.fullmatch(r"[\w+#.-]{1,30}", value) else ""
