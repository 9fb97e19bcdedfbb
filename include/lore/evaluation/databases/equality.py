"""Execution accuracy: are two results the same?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any

from lore.databases.run.execute import QueryResult

__all__ = ["same_result"]

MAX_PERMUTED = 5
"""Columns up to which each order of them is tried."""
DIGITS = 9


def same_result(gold: QueryResult, other: QueryResult, *, ordered: bool) -> bool:
    """Return True if both have the same rows, as often, whatever their columns are called and in whichever order.

    The order of rows counts only if `ordered`. Numbers are compared to nine significant digits. After Yu et al.,
    "Spider", EMNLP 2018, and Zhong et al., "Semantic Evaluation for Text-to-SQL with Distilled Test Suites", 2020.
    """
    if len(gold.columns) != len(other.columns) or len(gold.rows) != len(other.rows) or gold.cut != other.cut:
        return False
    wanted, found = _plain(gold.rows), _plain(other.rows)
    width = len(gold.columns)
    orders = permutations(range(width)) if width <= MAX_PERMUTED else [tuple(range(width))]
    return any(_same([tuple(row[place] for place in order) for row in found], wanted, ordered) for order in orders)


def _same(one: Sequence[Any], other: Sequence[Any], ordered: bool) -> bool:
    return one == other if ordered else Counter(one) == Counter(other)


def _plain(rows: Sequence[Sequence[Any]]) -> list[tuple[str, ...]]:
    return [tuple(_text(value) for value in row) for row in rows]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int | float):
        return f"{value:.{DIGITS}g}" if value else "0"
    return "" if value is None else str(value).strip()
