"""The text of a table for a search: its names split into words, with comments, meanings and sample values."""

from __future__ import annotations

import re

from lore.databases.schema.model import TableColumn, TableInfo

__all__ = ["name_words", "table_text", "words_of_name"]

MAX_NOTE = 200
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


def words_of_name(name: str) -> list[str]:
    """Return the words of a name in lower case: "sbTxCustId" and "SB_TX_CUST_ID" give sb, tx, cust, id."""
    return [part.lower() for part in _PART.findall(name)]


def name_words(table: TableInfo) -> str:
    """Return the words of a table's name, and its meaning."""
    return " ".join([*words_of_name(table.plain_name), *_notes(table.meaning)])


def table_text(table: TableInfo) -> str:
    """Return all words of a table, its columns in order."""
    columns = "; ".join(_column_text(column) for column in table.columns)
    return f"{' '.join([name_words(table), *_notes(table.comment)])}: {columns}"


def _column_text(column: TableColumn) -> str:
    notes = _notes(column.meaning, column.comment, ", ".join(column.samples))
    return " ".join([*words_of_name(column.name), *(f"({note})" for note in notes)])


def _notes(*texts: str) -> list[str]:
    return [text.strip()[:MAX_NOTE] for text in texts if text.strip()]
