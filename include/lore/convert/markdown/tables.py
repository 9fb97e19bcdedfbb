"""Markdown tables from rows of text."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["markdown_table"]


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as a Markdown table headed by the first, without empty rows and columns; "" for no content."""
    filled = [row for row in rows if any(cell.strip() for cell in row)]
    width = max((len(row) for row in filled), default=0)
    padded = [[*row, *[""] * (width - len(row))] for row in filled]
    columns = [column for column in range(width) if any(row[column].strip() for row in padded)]
    lines = [
        "| " + " | ".join(" ".join(row[column].split()).replace("|", "\\|") for column in columns) + " |"
        for row in padded
    ]
    return "\n".join([lines[0], "|" + " --- |" * len(columns), *lines[1:]]) if lines else ""
