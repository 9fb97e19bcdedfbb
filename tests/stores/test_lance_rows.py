"""Passages that are read by row number: once for the searches of a question, and not kept without end."""

from __future__ import annotations

from pathlib import Path

import lancedb
import numpy as np
import pytest

from include.lore.stores import schema
from include.lore.stores.lance_rows import ROWS_KEPT, LanceRows
from include.lore.types import Chunk
from tests.query.fakes import make_chunk


@pytest.fixture
def chunks() -> list[Chunk]:
    return [make_chunk(f"c{number}", f"Passage {number}.") for number in range(ROWS_KEPT + 300)]


def test_a_passage_is_read_once_and_a_long_reader_keeps_a_bounded_number(chunks: list[Chunk], tmp_path: Path) -> None:
    vectors = np.eye(len(chunks), 4, dtype=np.float32)
    table = lancedb.connect(tmp_path).create_table("chunks", schema.chunk_rows(chunks, vectors))
    rows = LanceRows()
    [(first, vector)] = rows.read(table, [2])
    assert first == chunks[2]
    assert vector.tolist() == [0.0, 0.0, 1.0, 0.0]
    again = rows.read(table, [7, 2, 5])
    assert [chunk for chunk, _ in again] == [chunks[7], chunks[2], chunks[5]]
    assert again[1][0] is first
    everything = [chunk for chunk, _ in rows.read(table, range(len(chunks)))]
    assert everything == chunks
    [(later, _)] = rows.read(table, [2])
    assert later == first
    assert later is not first, "what a reader of many passages had before is let go"
