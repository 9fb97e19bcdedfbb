"""Tables of HTML made regular, and those that only place things on the page taken apart."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.html import HtmlElement

__all__ = ["tidy_tables"]

MAX_SPAN = 100
MAX_CELLS = 50_000
MAX_CELL_TEXT = 2000
"""Characters beyond which a cell is a part of the page and not a value."""

PARTS = ("table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "colgroup", "col")
BLOCKS = ("pre", "h1", "h2", "h3", "h4", "h5", "h6", "table")
BULLETS = frozenset({"•", "·", "●", "○", "▪", "■", "-", "–", "—", "*", "o"})
PREFIXES = frozenset({"$", "€", "£", "¥", "($"})
SUFFIXES = frozenset({")", "%", ")%", "%)"})

Grid = list[list["HtmlElement | None"]]


def tidy_tables(root: HtmlElement) -> None:
    """Give every table of data equal rows under a head, and turn layout tables into blocks; inner tables first."""
    for table in reversed(list(root.iter("table"))):
        grid = [] if _is_layout(table) else _grid(table)
        if len(grid) == 1 and table.find(".//th") is None and len(grid[0]) > 1:
            _open_row(table, grid[0])
        elif len(grid) > 0 and len(grid[0]) > 1:
            _rebuild(table, grid)
        else:
            _open(table)


def _is_layout(table: HtmlElement) -> bool:
    inner = table.iter(*BLOCKS)
    if any(element is not table for element in inner):
        return True
    return any(len(cell.text_content()) > MAX_CELL_TEXT for cell in table.iter("td"))


def _grid(table: HtmlElement) -> Grid:
    """The cells in rows of one length, spans filled with None, without empty rows and columns; [] if too large."""
    rows: Grid = []
    spanning: dict[int, int] = {}  # column → rows that a cell above still takes
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
    """Put currency and percent signs, which financial tables keep in columns of their own, to their numbers."""
    for row in rows:
        cells = [cell for cell in row if _filled(cell)]
        for left, right in pairwise(cells):
            if left is None or right is None:
                continue
            if _words(left) in PREFIXES:
                right.insert(0, _moved(left))
                _emptied_into(right)
            elif _words(right) in SUFFIXES:
                left.append(_moved(right))


def _moved(cell: HtmlElement) -> HtmlElement:
    """The cell's text as a piece to put elsewhere; the cell is emptied."""
    piece = cell.makeelement("span")
    piece.text = _words(cell)
    for child in list(cell):
        cell.remove(child)
    cell.text = None
    return piece


def _emptied_into(cell: HtmlElement) -> None:
    """Keep the order of a cell whose text came before the piece that was just put at its front."""
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


def _open(table: HtmlElement) -> None:
    """Make blocks of the table's own parts; a table inside it was made regular before and stays one."""
    own = [part for part in table.iter(*PARTS) if part is table or next(part.iterancestors("table"), None) is table]
    for part in own:
        if part.tag == "table" and part is not table:
            continue
        if part.tag in {"col", "colgroup"}:
            part.drop_tree()
        else:
            part.tag = "div"
            part.attrib.clear()


def _open_row(table: HtmlElement, row: list[HtmlElement | None]) -> None:
    """A table of one row is a line: an item of a list where it begins with a bullet."""
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
