"""Word, PowerPoint and Excel files of the Office Open XML kind to Markdown: text, headings, lists, tables, links.

Such a file is a ZIP archive of XML. Both can be made to grow without bound when they are read, so an archive is
measured, and searched for document type declarations (which the standard forbids), before any library sees it.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime, time
from typing import Any
from xml.parsers import expat

from lore.convert.html import fragment_to_markdown
from lore.convert.markdown import first_heading
from lore.convert.result import Converted
from lore.errors import ConversionError

__all__ = ["convert_office", "markdown_table"]

MAX_PARTS = 10_000
MAX_XML = {"docx": 12 * 1024 * 1024, "pptx": 32 * 1024 * 1024, "xlsx": 32 * 1024 * 1024}
"""Bytes of all XML in an archive, unpacked; the tree of a Word file takes some 50 times as much memory."""
MAX_CELLS = 200_000
"""Of a workbook; a larger one is data and no page."""
CELL = re.compile(r"\$?[A-Za-z]{0,3}\$?\d{1,7}")
"""A place in a sheet, which has at most XFD columns and 1,048,576 rows."""
PIECE = 1 << 20
BEGINNING = 256
"""Bytes of a part that tell whether it is XML; one that has only spaces there counts as XML."""
DECLARATION = b"<!DOCTYPE"

STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Subtitle'] => p:fresh
p[style-name='Code'] => pre:separator('\\n')
p[style-name='Source Code'] => pre:separator('\\n')
p[style-name='HTML Preformatted'] => pre:separator('\\n')
p[style-name='Preformatted Text'] => pre:separator('\\n')
p[style-name='macro'] => pre:separator('\\n')
p[style-name='Quote'] => blockquote:fresh
p[style-name='Intense Quote'] => blockquote:fresh
r[style-name='Verbatim Char'] => code
r[style-name='HTML Code'] => code
r[style-name='Source Text'] => code
"""
"""What mammoth does not map by itself: the styles of Word, LibreOffice and pandoc for titles, quotes and code."""


def convert_office(data: bytes, name: str) -> Converted:
    """The Markdown of a docx, pptx or xlsx file, as `name` says.

    Raises ConversionError for what is no such file, or too large a one.
    """
    with _open(data, name) as archive:
        match name:
            case "docx":
                markdown = _document(data)
                return Converted(markdown, title=first_heading(markdown))
            case "pptx":
                from lore.convert.slides import convert_slides

                return convert_slides(archive)
            case _:
                _check_places(archive)
                return Converted(_workbook(data))


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as a Markdown table under the first row, without empty rows and columns; "" where none is left."""
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    width = max((len(row) for row in filled), default=0)
    padded = [[*row, *[""] * (width - len(row))] for row in filled]
    columns = [column for column in range(width) if any(row[column].strip() for row in padded)]
    lines = [
        "| " + " | ".join(" ".join(row[column].split()).replace("|", "\\|") for column in columns) + " |"
        for row in padded
    ]
    return "\n".join([lines[0], "|" + " --- |" * len(columns), *lines[1:]]) if lines else ""


def _open(data: bytes, name: str) -> zipfile.ZipFile:
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ConversionError(
            "It is an Office file of before 2007, or one that a password protects.",
            remedy=f"Save it as .{name} without a password, or leave it out of the source.",
        )
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise ConversionError(
            f"It is no .{name} file: {error}.", remedy="Save it again, or leave it out of the source."
        ) from error
    _measure(archive, MAX_XML[name])
    return archive


def _measure(archive: zipfile.ZipFile, limit: int) -> None:
    """Refuse what would grow: an archive's own list bounds what is unpacked, for zipfile reads no byte beyond it."""
    count = len(archive.infolist())
    markup = _markup(archive) if count <= MAX_PARTS else []
    size = sum(part.file_size for part in markup)
    if count > MAX_PARTS or size > limit:
        raise ConversionError(
            f"It unpacks to {count:,} parts with {size / 1e6:,.0f} MB of XML, more than is read.",
            remedy="Split it, or leave it out of the source.",
        )
    for part in markup:
        if part.filename.lower().endswith(".svg"):  # pictures of other programs have such declarations
            continue
        tail = b""
        with archive.open(part) as stream:
            while piece := stream.read(PIECE):
                seen = tail + piece.replace(b"\0", b"")  # the zeros of UTF-16
                if DECLARATION in seen.upper():
                    raise ConversionError(
                        f"Its part {part.filename[:100]!r} declares XML entities, which no Office file does.",
                        remedy="Leave it out of the source.",
                    )
                tail = seen[-len(DECLARATION) :]


def _markup(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The parts that are XML, by how they begin: their names may say anything, and so may what refers to them."""
    found: list[zipfile.ZipInfo] = []
    for part in archive.infolist():
        with archive.open(part) as stream:
            if stream.read(BEGINNING).lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n")[:1] in (b"<", b""):
                found.append(part)
    return found


def _document(data: bytes) -> str:
    """Word: mammoth reads styles, numbering, notes and tracked changes into plain HTML; pictures are left out."""
    import mammoth  # type: ignore[import-untyped]

    html = mammoth.convert_to_html(
        io.BytesIO(data),
        style_map=STYLES,
        include_embedded_style_map=False,  # the file's own, which could hide or rename anything
        convert_image=lambda image: [],
    ).value
    return fragment_to_markdown(html).strip() + "\n"


def _check_places(archive: zipfile.ZipFile) -> None:
    """Refuse cells beyond the end of any sheet: openpyxl fills the rows and columns before them with empty ones."""

    def check(name: str, attributes: dict[str, str]) -> None:
        place = attributes.get("r", "")
        if place and name.rpartition(":")[2] in ("c", "row") and not CELL.fullmatch(place):
            raise ConversionError(
                f"It has a cell at {place[:40]!r}, where no sheet reaches.", remedy="Save it again, or leave it out."
            )

    for part in _markup(archive):
        parser = expat.ParserCreate()
        parser.StartElementHandler = check
        with archive.open(part) as stream, suppress(expat.ExpatError):  # what is no XML, openpyxl refuses
            parser.ParseFile(stream)


def _workbook(data: bytes) -> str:
    """Excel: each sheet that is shown as a table of the values that were last computed, read row by row."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

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
    return "\n\n".join(parts) + "\n"


def _rows(sheet: Any, limit: int) -> Iterator[list[str]]:
    """A sheet's rows that hold anything, each up to its last value."""
    sheet.reset_dimensions()  # what the file says of its size need not be true
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
