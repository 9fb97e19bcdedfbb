"""Passages read by their row numbers, each once for all the searches of one question."""

from __future__ import annotations

from asyncio import Lock
from typing import TYPE_CHECKING

from lore.stores import schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lore.stores.lancedb.readers import AsyncTable
    from lore.types import Chunk, Vector

__all__ = ["LanceRows", "Row"]

ROWS_KEPT = 1_000
"""Three wordings of a question look at some 300 passages; what asks many questions must not gather all of the index."""


class Row:
    """A passage as it lies in the table: many are looked at for their vectors only."""

    __slots__ = ("_chunk", "_payload", "vector")

    def __init__(self, payload: str, vector: Vector) -> None:
        self.vector = vector
        self._payload = payload
        self._chunk: Chunk | None = None

    @property
    def chunk(self) -> Chunk:
        """The passage, decoded once."""
        if self._chunk is None:
            self._chunk = schema.to_chunk(self._payload)
        return self._chunk


class LanceRows:
    """What the searches of one question read of a table.

    Wordings find half of their passages in common, and reading and decoding passages is a third of what a search costs.
    To be used on one event loop, by several searches at once: while one of them reads, the others wait, and the next of
    them reads what all of these lack.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._read: dict[tuple[int, int], Row] = {}
        self._wanted: set[tuple[int, int]] = set()

    async def read(self, table: AsyncTable, numbers: Sequence[int]) -> list[Row]:
        """The rows with these numbers, in this order; the table stays at one commit."""
        commit = await table.version()
        self._wanted.update((commit, number) for number in numbers)
        async with self._lock:
            if len(self._read) > ROWS_KEPT:
                self._read.clear()
            if not all((commit, number) in self._read for number in numbers):
                wanted = {number for its_commit, number in self._wanted if its_commit == commit}.union(numbers)
                await self._take(table, commit, [number for number in wanted if (commit, number) not in self._read])
            self._wanted.difference_update([(commit, number) for number in numbers])
            return [self._read[commit, number] for number in numbers]

    async def _take(self, table: AsyncTable, commit: int, numbers: list[int]) -> None:
        rows = await table.take_row_ids(numbers).select(["payload", "vector"]).with_row_id().to_arrow()
        columns = rows["_rowid"].to_pylist(), rows["payload"].to_pylist(), schema.to_vectors(rows)
        for number, payload, vector in zip(*columns, strict=True):
            self._read[commit, number] = Row(payload, vector)
