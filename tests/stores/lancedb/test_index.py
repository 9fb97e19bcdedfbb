"""The vector index of a large chunk table: it loses nothing and respects audiences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lancedb
import numpy as np
import pytest
from lore.stores.fusion import fuse
from lore.stores.lancedb import schema
from lore.stores.lancedb.index import SEGMENTS_MAXIMUM, VECTOR_INDEX, optimize_chunks
from lore.stores.lancedb.passages import LancePassages
from lore.stores.lancedb.readers import run
from lore.stores.lancedb.search import search, visible
from lore.types import PUBLIC, Chunk, Hit

from tests.contracts.store import DIMENSIONS

CHUNKS = 3_000
EXACT_ROWS = 2_000


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Any]:
    """Chunks in a hundred clusters, like pages on the same subjects; every tenth is for the staff."""
    table = lancedb.connect(tmp_path).create_table("chunks", schema=schema.chunk_schema(DIMENSIONS))
    write(table, range(CHUNKS))
    yield table


def test_vectors_get_an_index_when_they_are_many_and_lose_it_when_they_are_few(table: Any) -> None:
    optimize_chunks(table, exact_rows=CHUNKS)
    assert table.index_stats(VECTOR_INDEX) is None
    optimize_chunks(table, exact_rows=EXACT_ROWS)
    assert table.index_stats(VECTOR_INDEX).num_indexed_rows == CHUNKS
    table.delete(schema.sql_in("id", [f"chunk-{number}" for number in range(EXACT_ROWS // 2, CHUNKS)]))
    optimize_chunks(table, exact_rows=EXACT_ROWS)
    assert table.index_stats(VECTOR_INDEX) is None
    assert len(found(table, 7)) == 20


def test_the_nearest_are_found_with_their_true_cosines(table: Any) -> None:
    optimize_chunks(table, exact_rows=EXACT_ROWS)
    vectors = np.stack([vector_of(number) for number in range(CHUNKS)])
    shares = []
    for number in range(0, CHUNKS, 100):
        query = vectors[number]
        cosines = vectors @ query * public()
        nearest = set(np.argsort(-cosines)[:20].tolist())
        hits = searched(table, query, 20, (PUBLIC,))
        shares.append(len(nearest & {hit.chunk.position for hit in hits}) / 20)
        for hit in hits:
            assert hit.score == pytest.approx(cosines[hit.chunk.position], abs=1e-5)
            assert hit.vector_score == pytest.approx(hit.score, abs=1e-5)
    assert np.mean(shares) > 0.99


def test_both_rankings_are_weighed_by_true_cosines(table: Any) -> None:
    """As if all vectors had been compared: the quantized index only selects candidates."""
    optimize_chunks(table, exact_rows=EXACT_ROWS)
    vectors = np.stack([vector_of(number) for number in range(CHUNKS)])
    equal = 0
    for number in range(0, CHUNKS, 100):
        query, words = vectors[number], " ".join(str((number * step) % CHUNKS) for step in range(1, 30))
        keywords = np.full(CHUNKS, np.nan)
        for hit in searched(table, query, 20, (PUBLIC,), words, 0.0):
            keywords[hit.chunk.position] = hit.keyword_score
        cosines = np.where(public() > 0, vectors @ query, -1.0)
        near = np.where(cosines >= np.sort(cosines)[-20], cosines, np.nan)
        scores = fuse(near, keywords, 0.6)
        hits = searched(table, query, 20, (PUBLIC,), words, 0.6)
        expected = np.sort(scores)[::-1][:20].tolist()
        equal += [hit.score for hit in hits] == pytest.approx(expected, abs=1e-5)
    assert equal >= 0.9 * CHUNKS / 100  # but where the index missed one of the nearest


def test_what_is_written_later_is_found_at_once_and_what_is_removed_is_not(table: Any) -> None:
    optimize_chunks(table, exact_rows=EXACT_ROWS)
    for turn in range(SEGMENTS_MAXIMUM + 3):
        fresh = CHUNKS + turn
        write(table, [fresh])
        table.delete(f"id = 'chunk-{turn}'")
        for _ in ("before", "after"):
            assert found(table, fresh)[0] == fresh
            assert turn not in found(table, turn)
            optimize_chunks(table, exact_rows=EXACT_ROWS)
            table.optimize()
    assert table.index_stats(VECTOR_INDEX).num_indices <= SEGMENTS_MAXIMUM + 1


@pytest.mark.parametrize("audiences", [(PUBLIC,), ("staff",), ("others",)])
def test_the_index_shows_nobody_what_is_not_for_them(table: Any, audiences: Sequence[str]) -> None:
    optimize_chunks(table, exact_rows=EXACT_ROWS)
    write(table, range(CHUNKS, CHUNKS + 50))
    for number in range(0, CHUNKS, 250):
        hits = searched(table, vector_of(number), 50, audiences)
        assert len(hits) == (0 if audiences == ("others",) else 50)
        assert {hit.chunk.audiences for hit in hits} <= {tuple(audiences)}


def found(table: Any, number: int) -> list[int]:
    return [hit.chunk.position for hit in searched(table, vector_of(number), 20, (PUBLIC, "staff"))]


def searched(
    table: Any, vector: np.ndarray, limit: int, audiences: Sequence[str], words: str = "", alpha: float = 1.0
) -> list[Hit]:
    """The hits of a search, by default by vector alone."""
    folder = Path(table.uri).parent

    async def newest() -> list[Hit]:
        connection = await lancedb.connect_async(folder)
        staying = await connection.open_table("chunks")
        return await search(staying, LancePassages(), words, vector, limit, alpha, visible((), audiences))

    return run(newest())


def write(table: Any, numbers: Sequence[int]) -> None:
    chunks = [
        Chunk(
            id=f"chunk-{number}",
            document_id=f"fake:{number}",
            source_id="fake",
            url="",
            title="Page",
            headings=(),
            text=f"Passage {number}",
            position=number,
            start=0,
            end=1,
            audiences=("staff",) if number % 10 == 9 else (PUBLIC,),
        )
        for number in numbers
    ]
    table.add(schema.chunk_rows(chunks, np.stack([vector_of(number) for number in numbers])))


def vector_of(number: int) -> np.ndarray:
    cluster = np.random.default_rng(number % 100).standard_normal(DIMENSIONS)
    vector = cluster + 0.7 * np.random.default_rng([1, number]).standard_normal(DIMENSIONS)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def public() -> np.ndarray:
    return (np.arange(CHUNKS) % 10 != 9).astype(np.float32)
