"""Conversion of tables of values that commas, semicolons, tabs or bars separate."""

from __future__ import annotations

import csv
import io
from collections import Counter

from lore.convert.markdown.tables import markdown_table
from lore.convert.result import Converted
from lore.errors import ConversionError

__all__ = ["convert_csv"]

DELIMITERS = ("\t", ",", ";", "|")
MAX_CELLS = 200_000
"""Cells of a file. A larger one is data rather than a page."""
SAMPLE_ROWS = 50


def convert_csv(text: str) -> Converted:
    """Return the rows as a Markdown table under the first. Raises ConversionError for too many cells."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))  # of the process, so it only grows
    rows: list[list[str]] = []
    cells = 0
    for row in csv.reader(io.StringIO(text), delimiter=_delimiter(text), skipinitialspace=True):
        rows.append(row)
        cells += len(row)
        if cells > MAX_CELLS:
            raise ConversionError(
                f"The file has more than {MAX_CELLS:,} cells.",
                remedy="Export the rows that people read, or leave it out of the source.",
            )
    return Converted(markdown_table(rows) + "\n" if cells else "")


def _delimiter(text: str) -> str:
    """Return the sign that parts the first rows into the most columns, equally many in most rows."""
    best, columns = ",", 1.0
    sample = io.StringIO(text[:100_000])
    for delimiter in DELIMITERS:
        sample.seek(0)
        counts = Counter(
            len(row) for row, _ in zip(csv.reader(sample, delimiter=delimiter), range(SAMPLE_ROWS), strict=False) if row
        )
        if not counts:
            continue
        width, rows = counts.most_common(1)[0]
        score = width * rows / counts.total()
        if width > 1 and score > columns:
            best, columns = delimiter, score
    return best
