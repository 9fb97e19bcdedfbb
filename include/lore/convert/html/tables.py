"""Normalization of HTML tables: regular grids for data, blocks for layout."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["normalize_tables"]

MAX_SPAN = 100
MAX_CELLS = 50_000
MAX_CELL_TEXT = 2000
"""Characters beyond which a cell is part of the page rather than a value."""

PARTS = ("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "colgroup", "col")
BLOCKS = ("pre", "h1", "h2", "h3", "h4", "h5", "h6", "table")
BULLETS = frozenset({"•", "·", "●", "○", "▪", "■", "-", "–", "—", "*", "o"})
PREFIXES = frozenset({"$", "€", "£", "¥", "($"})
SUFFIXES = frozenset({")", "%", ")%", "%)"})

Grid = list[list["HtmlElement | None"]]


def normalize_tables(root: HtmlElement) -> None:
    """Give data tables equal rows under a header, and turn layout tables into blocks; inner tables first."""
    for table in reversed(list(root.iter("table"))):
        grid = [] if _is_layout(table) else _grid(table)
        if len(grid) == 1 and table.find(".//th") is None and len(grid[0]) > 1:
            _flatten_row(table, grid[0])
        elif len(grid) > 0 and len(grid[0]) > 1:
            _rebuild(table, grid)
        else:
            _flatten(table)


def _is_layout(table: HtmlElement) -> bool:
    inner = table.iter(*BLOCKS)
    if any(element is not table for element in inner):
        return True
    return any(len(cell.text_content()) > MAX_CELL_TEXT for cell in table.iter("td"))


def _grid(table: HtmlElement) -> Grid:
    """Return the cells in rows of one length, without empty rows and columns; None fills spans. [] if too large."""
    rows: Grid = []
    spanning: dict[int, int] = {}  # column → rows that a cell above still covers
    for line in table.iter("tr"):
        row: list[HtmlElement | None] = []
        for cell in line.iterchildren("td", "th"):
            while spanning.get(len(row), 0) > 0:
                spanning[len(row)] -= 1
                row.append(None)
            for offset in range(_span(cell, "colspan")):
                if (down := _span(cell, "rowspan")) > 1:
                    spanning[len(row)] = down - 1
                row.append(None if offset else cell)
        rows.append(row)
        if len(rows) * max(len(row), 1) > MAX_CELLS:
            return []
    _join_signs(rows)
    width = max((len(row) for row in rows), default=0)
    for row in rows:
        row += [None] * (width - len(row))
    columns = [column for column in range(width) if any(_filled(row[column]) for row in rows)]
    return [[row[column] for column in columns] for row in rows if any(map(_filled, row))]


def _span(cell: HtmlElement, name: str) -> int:
    value = (cell.get(name) or "1").strip()
    return min(int(value), MAX_SPAN) if value.isascii() and value.isdigit() and int(value) > 0 else 1


def _filled(cell: HtmlElement | None) -> bool:
    return cell is not None and (bool(_words(cell)) or cell.find(".//img") is not None)


def _words(cell: HtmlElement) -> str:
    return str(cell.text_content()).strip()


def _join_signs(rows: Grid) -> None:
    """Attach currency and percent signs, which financial tables keep in separate columns, to their numbers."""
    for row in rows:
        cells = [cell for cell in row if _filled(cell)]
        for left, right in pairwise(cells):
            if left is None or right is None:
                continue
            if _words(left) in PREFIXES:
                right.insert(0, _take_text(left))
                _move_text_behind(right)
            elif _words(right) in SUFFIXES:
                left.append(_take_text(right))


def _take_text(cell: HtmlElement) -> HtmlElement:
    """Empty a cell and return its text as an element to insert elsewhere."""
    piece = cell.makeelement("span")
    piece.text = _words(cell)
    for child in list(cell):
        cell.remove(child)
    cell.text = None
    return piece


def _move_text_behind(cell: HtmlElement) -> None:
    """Move a cell's text behind the element just inserted at its front."""
    cell[0].tail, cell.text = (cell.text or "").lstrip(), None


def _rebuild(table: HtmlElement, grid: Grid) -> None:
    caption = table.find("caption")
    for child in list(table):
        if child is not caption:
            table.remove(child)
    table.attrib.clear()
    for number, row in enumerate(grid):
        if number < 2:
            part = table.makeelement("tbody" if number else "thead")
            table.append(part)
        line = part.makeelement("tr")
        part.append(line)
        for found in row:
            cell = line.makeelement("td") if found is None else found
            cell.tag, cell.tail = "td" if number else "th", None
            cell.attrib.clear()
            line.append(cell)


def _flatten(table: HtmlElement) -> None:
    """Turn the table's own parts into blocks. Inner tables are normalized already and stay tables."""
    own = [part for part in table.iter(*PARTS) if part is table or next(part.iterancestors("table"), None) is table]
    for part in own:
        if part.tag == "table" and part is not table:
            continue
        if part.tag in {"col", "colgroup"}:
            part.drop_tree()
        else:
            part.tag = "div"
            part.attrib.clear()


def _flatten_row(table: HtmlElement, row: list[HtmlElement | None]) -> None:
    """Turn a table of one row into a line, or into a list item if it begins with a bullet."""
    cells = [cell for cell in row if cell is not None and _filled(cell)]
    bullet = len(cells) > 1 and _words(cells[0]) in BULLETS
    for child in list(table):
        table.remove(child)
    table.attrib.clear()
    table.text, table.tag = None, "ul" if bullet else "div"
    line = table.makeelement("li" if bullet else "div")
    table.append(line)
    for cell in cells[1:] if bullet else cells:
        cell.tag, cell.tail = "span", " "
        cell.attrib.clear()
        line.append(cell)
