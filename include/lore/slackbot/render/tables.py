"""What is a table in Markdown, and what of it Slack shows as one."""

from __future__ import annotations

import re

__all__ = ["MOST_COLUMNS", "MOST_ROWS", "cells", "is_delimiter"]

MOST_COLUMNS = 20
MOST_ROWS = 100
"""Slack's tables, their header counted."""

_DELIMITER = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_CELL_END = re.compile(r"(?<!\\)\|")


def cells(line: str) -> int:
    """How many cells a row has; 0 where it is no row."""
    row = line.strip()
    if "|" not in row:
        return 0
    return len(_CELL_END.split(row.removeprefix("|").removesuffix("|")))


def is_delimiter(line: str, header: str) -> bool:
    """Whether this line below that one makes a table of both."""
    return "|" in line and _DELIMITER.fullmatch(line) is not None and cells(line) == cells(header)
