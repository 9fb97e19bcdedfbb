"""A result as CSV, as bars, and in words whose numbers are checked."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lore.databases.run.execute import QueryResult
from lore.visible_text import visible

__all__ = ["as_bars", "as_csv", "cell_text", "checked_summary", "plain_summary"]

MAX_BARS = 30
MIN_BARS = 2
BAR = 40
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of texts that a spreadsheet would compute."""
SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9}
_NUMBER = re.compile(
    r"(?<![\w.])([-+−]?\d+(?:,\d{3})*(?:\.\d+)?)(?![\d,]*\d)(?:\s*(thousand|million|billion|bn|k|m)\b)?(\s*%)?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?。])\s+")


@dataclass(frozen=True, slots=True)
class _Number:
    """A number in a text, with the decimals that it is exact to."""

    value: float
    decimals: int
    percent: bool


def cell_text(value: Any) -> str:
    """Return a value as people read it; "" for NULL."""
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def as_csv(result: QueryResult, rows: int | None = None) -> str:
    """Return the first rows as CSV with a header; texts that a spreadsheet would compute get an apostrophe."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([_harmless(name) for name in result.columns])
    writer.writerows([_harmless(value) for value in row] for row in result.rows[:rows])
    return buffer.getvalue()


def _harmless(value: Any) -> str:
    text = cell_text(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA) else text


def as_bars(result: QueryResult) -> list[str]:
    """Return a bar for each row of a label and a number that isn't negative; none for other results."""
    if len(result.columns) != 2 or not MIN_BARS <= len(result.rows) <= MAX_BARS:
        return []
    values = [row[1] for row in result.rows]
    if not all(isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 for value in values):
        return []
    labels, largest = [visible(cell_text(row[0]))[:BAR] for row in result.rows], max(values)
    width = max(map(len, labels))
    return [
        f"{label:<{width}}  {'█' * round(BAR * value / largest) if largest else ''} {cell_text(value)}"
        for label, value in zip(labels, values, strict=True)
    ]


def checked_summary(summary: str, result: QueryResult, question: str) -> tuple[str, list[str]]:
    """Return the sentences of a summary whose numbers are in the rows, and those that were left out.

    A number counts as there if a cell rounds to it, a text has it, or the question does; so does the number of rows.
    Sentences with links are left out, too.
    """
    texts = [question, *result.columns, *(value for row in result.rows for value in row if isinstance(value, str))]
    known = {number.value for text in texts for number in _numbers(text)} | {float(len(result.rows))}
    known |= {float(value) for row in result.rows for value in row if isinstance(value, int | float)}
    kept: list[str] = []
    dropped: list[str] = []
    for sentence in _SENTENCE.split(visible(summary)):
        right = all(_is_known(number, known) for number in _numbers(sentence))
        (kept if right and "://" not in sentence and "](" not in sentence else dropped).append(sentence)
    return " ".join(kept), dropped


def plain_summary(result: QueryResult) -> str:
    """Return a summary without a model."""
    if not result.rows:
        return "No rows."
    first = ", ".join(f"{name} {cell_text(value)}" for name, value in zip(result.columns, result.rows[0], strict=True))
    if len(result.rows) == 1:
        return visible(f"{first}.")
    return visible(f"{len(result.rows):,} rows{' and more' if result.cut else ''}; the first: {first}.")


def _numbers(text: str) -> Iterator[_Number]:
    """Yield the numbers in a text; 1.2 million is exact to five places before the point."""
    for found in _NUMBER.finditer(text):
        digits = found[1].replace("−", "-").replace(",", "")
        scale = SCALES.get((found[2] or "").lower(), 1.0)
        decimals = len(digits.partition(".")[2]) - (len(str(int(scale))) - 1)
        yield _Number(float(digits) * scale, decimals, found[3] is not None)


def _is_known(number: _Number, known: set[float]) -> bool:
    """Return True if a known value rounds to the number, or for a percentage, a hundred times the value."""
    tolerance = 0.5 * 10.0**-number.decimals * (1 + 1e-9)
    values = (*known, *(100 * value for value in known)) if number.percent else known
    return any(abs(abs(number.value) - abs(value)) <= tolerance for value in values)
