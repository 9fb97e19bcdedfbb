"""Passages by row number, each read once for all the searches of a question."""

from __future__ import annotations

from asyncio import Lock
from typing import TYPE_CHECKING

from lore.stores.lancedb.schema import to_vectors
from lore.stores.values import to_chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lore.stores.lancedb.readers import AsyncTable
    from lore.types import Chunk, Vector

__all__ = ["LancePassage", "LancePassages"]

CACHED_PASSAGES = 1_000
"""Three wordings of a question read some 300 passages; a long-lived reader must not collect the whole index."""


class LancePassage:
    """A stored passage with its vector; the chunk is decoded on demand, as many are read for their vectors only."""

    __slots__ = ("_chunk", "_payload", "vector")

    def __init__(self, payload: str, vector: Vector) -> None:
        self.vector = vector
        self._payload = payload
        self._chunk: Chunk | None = None

    @property
    def chunk(self) -> Chunk:
        """The chunk, decoded once. Raises StoreError for an invalid payload."""
        if self._chunk is None:
            self._chunk = to_chunk(self._payload)
        return self._chunk


class LancePassages:
    """A cache of the passages that the searches of one question read.

    Wordings share half of their hits, and reading and decoding passages is a third of the cost of a search. Use it on
    one event loop, from several searches at once: while one reads, the others wait, and the next reads for all of them.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._cache: dict[tuple[int, int], LancePassage] = {}
        self._wanted: set[tuple[int, int]] = set()

    async def read(self, table: AsyncTable, numbers: Sequence[int]) -> list[LancePassage]:
        """The passages with these row numbers, in this order. The table must stay at one commit."""
        commit = await table.version()
        self._wanted.update((commit, number) for number in numbers)
        async with self._lock:
            if len(self._cache) > CACHED_PASSAGES:
                self._cache.clear()
            if not all((commit, number) in self._cache for number in numbers):
                wanted = {number for its_commit, number in self._wanted if its_commit == commit}.union(numbers)
                await self._fill(table, commit, [number for number in wanted if (commit, number) not in self._cache])
            self._wanted.difference_update([(commit, number) for number in numbers])
            return [self._cache[commit, number] for number in numbers]

    async def _fill(self, table: AsyncTable, commit: int, numbers: list[int]) -> None:
        rows = await table.take_row_ids(numbers).select(["payload", "vector"]).with_row_id().to_arrow()
        columns = rows["_rowid"].to_pylist(), rows["payload"].to_pylist(), to_vectors(rows)
        for number, payload, vector in zip(*columns, strict=True):
            self._cache[commit, number] = LancePassage(payload, vector)
