"""Conversion of Excel workbooks: each visible sheet as a table of its last computed values."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any
from xml.parsers import expat

from lore.convert.markdown.tables import markdown_table
from lore.convert.office.number_formats import shown
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
            if tables := list(_tables(rows)):
                parts += [f"## {' '.join(sheet.title.split())}", *tables]
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
    """Yield a sheet's rows, each up to its last value; an empty list for the rows between that hold nothing."""
    sheet.reset_dimensions()  # the size that the file states may be false
    is_gap = False
    for cells in sheet.iter_rows():
        row = [shown(cell.value, cell.number_format if cell.value is not None else "") for cell in cells]
        while row and not row[-1].strip():
            row.pop()
        limit -= len(row)
        if limit < 0:
            raise ConversionError(
                f"The workbook has more than {MAX_CELLS:,} cells.",
                remedy="Export the sheets that people read, or leave it out of the source.",
            )
        if row:
            if is_gap:
                yield []
            yield row
        is_gap = not row


def _tables(rows: Sequence[list[str]]) -> Iterator[str]:
    """Yield the tables of a sheet, which empty rows part, and lines of a single cell as paragraphs.

    A part of as many columns whose first row holds a number goes on with the table above it.
    """
    parts: list[list[list[str]]] = []
    for row, above in zip(rows, [[], *rows], strict=False):
        if not row:
            continue
        if above or (parts and _goes_on(parts[-1], row)):
            parts[-1].append(row)
        else:
            parts.append([row])
    for part in parts:
        if len(part) == 1 and sum(map(bool, part[0])) == 1:
            yield next(filter(None, part[0]))
        elif table := markdown_table(part):
            yield table


def _goes_on(part: list[list[str]], row: list[str]) -> bool:
    return (
        len(part) > 1 and len(row) == len(part[0]) and any(re.fullmatch(r"\W*\d[\d.,:%/-]*\W*", cell) for cell in row)
    )
