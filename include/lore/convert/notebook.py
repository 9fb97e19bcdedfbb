"""Conversion of Jupyter notebooks of any version, valid or not: text unchanged, code fenced, outputs shortened."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lore.convert.markdown.fences import fence_code
from lore.convert.markdown.headings import first_heading
from lore.convert.result import Converted
from lore.errors import ConversionError

__all__ = ["convert_notebook"]

MAX_OUTPUT_LINES = 20
MAX_OUTPUT_LENGTH = 2000

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\[(?:\d{1,3};)*\d{1,3}m")
OBJECT = re.compile(r"<[\w.]+(?: [^<>\n]*)? at 0x[0-9a-fA-F]+>")
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
    markdown = "\n\n".join(block for cell in cells for block in _blocks(cell, language)) + "\n"
    return Converted(markdown, title=first_heading(markdown))


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


def _blocks(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    kind = cell.get("cell_type")
    source = _text(cell.get("source", cell.get("input"))).strip("\n")
    if kind == "code":
        if source.strip():
            yield fence_code(source, _word(cell.get("language")) or language)
        for output in _list(cell.get("outputs")):
            if shown := _output(_mapping(output)):
                yield fence_code(shown)
    elif kind == "heading":
        level = cell.get("level")
        yield f"{'#' * (level if isinstance(level, int) and 1 <= level <= 6 else 1)} {' '.join(source.split())}"
    elif source.strip():
        # raw cells and cells of unknown types hold text
        yield EMBEDDED_IMAGE.sub("", source)


def _output(output: Mapping[str, Any]) -> str:
    """Return a cell's output as short plain text. Pictures, widgets and HTML have none."""
    kind = output.get("output_type")
    if kind == "stream":
        text = _text(output.get("text"))
    elif kind in {"error", "pyerr"}:
        text = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
    else:
        text = _text(_mapping(output.get("data")).get("text/plain", output.get("text")))
    text = ANSI.sub("", text).strip("\n").rstrip()
    if OBJECT.fullmatch(text):
        return ""
    shown = "\n".join(text.split("\n")[:MAX_OUTPUT_LINES])[:MAX_OUTPUT_LENGTH]
    return shown if shown == text else f"{shown}\n…"


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
