"""Conversion of Excel workbooks: each visible sheet as a table of its last computed values."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, time
from typing import Any
from xml.parsers import expat

from lore.convert.markdown.tables import markdown_table
from lore.convert.office.package import open_package, xml_parts
from lore.convert.result import Converted
from lore.errors import ConversionError

__all__ = ["convert_xlsx"]

MAX_CELLS = 200_000
"""Cells of a workbook. A larger one is data rather than a page."""
REFERENCE = re.compile(r"\$?[A-Za-z]{0,3}\$?\d{1,7}")
"""A cell's reference. A sheet has at most XFD columns and 1,048,576 rows."""


def convert_xlsx(data: bytes) -> Converted:
    """Return a workbook as Markdown tables under the names of its sheets.

    Raises ConversionError for an invalid or oversized file.
    """
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    with open_package(data, "xlsx") as package:
        _check_references(package)
    workbook = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
    try:
        left = MAX_CELLS
        parts: list[str] = []
        for sheet in workbook.worksheets:
            if sheet.sheet_state != "visible":
                continue
            rows = list(_rows(sheet, left))
            left -= sum(map(len, rows))
            if table := markdown_table(rows):
                parts += [f"## {' '.join(sheet.title.split())}", table]
    finally:
        workbook.close()
    return Converted("\n\n".join(parts) + "\n")


def _check_references(package: zipfile.ZipFile) -> None:
    """Refuse cells outside any sheet: openpyxl fills the rows and columns before them with empty cells."""

    def check(name: str, attributes: dict[str, str]) -> None:
        reference = attributes.get("r", "")
        if reference and name.rpartition(":")[2] in ("c", "row") and not REFERENCE.fullmatch(reference):
            raise ConversionError(
                f"It has a cell at {reference[:40]!r}, outside any sheet.",
                remedy="Save it again, or leave it out of the source.",
            )

    for part in xml_parts(package):
        parser = expat.ParserCreate()
        parser.StartElementHandler = check
        with package.open(part) as stream, suppress(expat.ExpatError):  # openpyxl refuses invalid XML
            parser.ParseFile(stream)


def _rows(sheet: Any, limit: int) -> Iterator[list[str]]:
    """Yield a sheet's rows that hold anything, each up to its last value."""
    sheet.reset_dimensions()  # the size that the file states may be false
    for values in sheet.iter_rows(values_only=True):
        row = [_cell(value) for value in values]
        while row and not row[-1]:
            row.pop()
        limit -= len(row)
        if limit < 0:
            raise ConversionError(
                f"The workbook has more than {MAX_CELLS:,} cells.",
                remedy="Export the sheets that people read, or leave it out of the source.",
            )
        if row:
            yield row


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "TRUE" if value else "FALSE"
        case datetime():
            return f"{value:%Y-%m-%d}" if value.time() == time() else f"{value:%Y-%m-%d %H:%M}"
        case date():
            return f"{value:%Y-%m-%d}"
        case float():
            return f"{value:.15g}"
    return str(value)
