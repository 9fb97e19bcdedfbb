"""Passages by row number: read once for the searches of a question, in a bounded cache."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pytest
from lore.stores.lancedb import schema
from lore.stores.lancedb.passages import CACHED_PASSAGES, LancePassages
from lore.stores.lancedb.readers import run
from lore.types import Chunk

from tests.query.fakes import make_chunk


@pytest.fixture
def chunks() -> list[Chunk]:
    return [make_chunk(f"c{number}", f"Passage {number}.") for number in range(CACHED_PASSAGES + 300)]


@pytest.fixture
def table(chunks: list[Chunk], tmp_path: Path) -> CountedTakes:
    vectors = np.eye(len(chunks), 4, dtype=np.float32)
    lancedb.connect(tmp_path).create_table("chunks", schema.chunk_rows(chunks, vectors))

    async def opened() -> CountedTakes:
        return CountedTakes(await (await lancedb.connect_async(tmp_path)).open_table("chunks"))

    return run(opened())


class CountedTakes:
    """A table that records which rows were read."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.taken: list[list[int]] = []

    async def version(self) -> int:
        version: int = await self._table.version()
        return version

    def take_row_ids(self, numbers: list[int]) -> Any:
        self.taken.append(sorted(numbers))
        return self._table.take_row_ids(numbers)


def test_a_passage_is_read_once_and_a_long_reader_keeps_a_bounded_number(
    chunks: list[Chunk], table: CountedTakes
) -> None:
    async def read() -> None:
        rows = LancePassages()
        [first] = await rows.read(table, [2])
        assert first.chunk == chunks[2]
        assert first.vector.tolist() == [0.0, 0.0, 1.0, 0.0]
        again = await rows.read(table, [7, 2, 5])
        assert [row.chunk for row in again] == [chunks[7], chunks[2], chunks[5]]
        assert again[1] is first
        assert table.taken == [[2], [5, 7]]
        everything = await rows.read(table, range(len(chunks)))
        assert [row.chunk for row in everything] == chunks
        [later] = await rows.read(table, [2])
        assert later.chunk == first.chunk
        assert later is not first, "what a reader of many passages had before is let go"

    run(read())


def test_searches_that_wait_for_one_that_reads_are_read_for_together(table: CountedTakes) -> None:
    async def read() -> None:
        rows = LancePassages()
        wanted = [[1, 2, 3], [3, 4], [5, 1, 4]]
        found = await asyncio.gather(*(rows.read(table, numbers) for numbers in wanted))
        assert [[row.chunk.id for row in each] for each in found] == [
            [f"chunk-c{number}" for number in numbers] for numbers in wanted
        ]
        assert len(table.taken) == 2  # the first, whichever it is, and what the two others lack
        assert sorted(number for numbers in table.taken for number in numbers) == [1, 2, 3, 4, 5]

    run(read())
