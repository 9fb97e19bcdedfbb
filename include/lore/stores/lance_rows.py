"""Passages read by their row numbers, each once for all the searches of one question."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

from include.lore.stores import schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from include.lore.stores.lance_folder import Table
    from include.lore.types import Chunk, Vector

__all__ = ["LanceRows"]

ROWS_KEPT = 1_000
"""Three wordings of a question find at most 300 passages; what asks many questions must not gather all of the index."""


class LanceRows:
    """What the searches of one question read of a table.

    Wordings find half of their passages in common, and reading and decoding passages is a third of what a search
    costs. May be used by several threads: while one of them reads, the others wait, and then read what is left.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._read: dict[tuple[int, int], tuple[Chunk, Vector]] = {}

    def read(self, table: Table, numbers: Sequence[int]) -> list[tuple[Chunk, Vector]]:
        """The passages with these row numbers and their vectors, in this order; the table stays at one commit."""
        commit = table.version
        with self._lock:
            if len(self._read) > ROWS_KEPT:
                self._read.clear()
            missing = [number for number in numbers if (commit, number) not in self._read]
            for number, chunk, vector in _take(table, missing) if missing else ():
                self._read[commit, number] = chunk, vector
            return [self._read[commit, number] for number in numbers]


def _take(table: Table, numbers: list[int]) -> Iterator[tuple[int, Chunk, Vector]]:
    rows = table.take_row_ids(numbers).select(["payload", "vector"]).with_row_id().to_arrow()
    return zip(rows["_rowid"].to_pylist(), schema.to_chunks(rows), schema.to_vectors(rows), strict=True)
