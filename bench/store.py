"""Speed of the store on made-up chunks: writing, optimizing, and three hybrid searches side by side. Prints JSON."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import numpy as np
from lore.stores.lancedb.store import LanceStore
from lore.types import Chunk, Document, EmbeddedDocument, Recipe

from bench.stopwatch import seconds

CHUNKS = 5_000
DIMENSIONS = 384
CHUNKS_OF_A_DOCUMENT = 8
DOCUMENTS_OF_A_BATCH = 32
WORDS_OF_A_CHUNK = 150
WORDS_OF_A_QUERY = 8
VOCABULARY = 20_000
WORDINGS = 3
LIMIT = 100
ALPHA = 0.5
ROUNDS = 40


def main() -> None:
    """Print seconds to write and optimize, and milliseconds of searching at `CHUNKS` chunks."""
    chance = np.random.default_rng(7)
    batches = list(_batches(chance))
    with tempfile.TemporaryDirectory() as folder:
        store = LanceStore(str(Path(folder) / "index"), Recipe("bench", DIMENSIONS))
        first = seconds(lambda: store.replace(batches[0]))
        write = seconds(lambda: [store.replace(batch) for batch in batches[1:]])
        optimize = seconds(store.optimize)
        rewrite = seconds(lambda: [store.replace(batch) for batch in batches[:4]])
        reoptimize = seconds(store.optimize)
        known = [chunk.content_hash for entry in batches[0] for chunk in entry.chunks]
        report = {
            "chunks": store.count().chunks,
            "first_write_seconds": round(first, 3),
            "write_seconds": round(write, 3),
            "write_chunks_per_second": round((CHUNKS - len(known)) / write),
            "optimize_seconds": round(optimize, 3),
            "rewrite_1024_chunks_seconds": round(rewrite, 3),
            "optimize_again_seconds": round(reoptimize, 3),
            "vectors_for_256_ms": round(1000 * seconds(lambda: store.vectors_for(known)), 1),
            "fingerprints_ms": round(1000 * seconds(lambda: store.fingerprints("bench")), 1),
            "single_ms": _searches(store, chance, 1),
            "three_side_by_side_ms": _searches(store, chance, WORDINGS),
        }
    json.dump(report, sys.stdout, indent=2)
    print()


def _searches(store: LanceStore, chance: np.random.Generator, wordings: int) -> dict[str, float]:
    """p50 and p95 of `wordings` searches at once, each for `LIMIT` chunks."""
    with ThreadPoolExecutor(wordings) as pool:

        def ask() -> float:
            queries = zip(_texts(chance, wordings, WORDS_OF_A_QUERY), _vectors(chance, wordings), strict=True)
            started = time.perf_counter()
            searches = [pool.submit(store.search, text, vector, LIMIT, ALPHA) for text, vector in queries]
            assert all(len(search.result()) == LIMIT for search in searches)
            return 1000 * (time.perf_counter() - started)

        ask()
        times = [ask() for _ in range(ROUNDS)]
    return {"p50": round(float(np.percentile(times, 50)), 1), "p95": round(float(np.percentile(times, 95)), 1)}


def _batches(chance: np.random.Generator) -> Iterator[list[EmbeddedDocument]]:
    size = CHUNKS_OF_A_DOCUMENT * DOCUMENTS_OF_A_BATCH
    for start in range(0, CHUNKS, size):
        numbers = range(start, min(start + size, CHUNKS), CHUNKS_OF_A_DOCUMENT)
        yield [_entry(chance, number) for number in numbers]


def _entry(chance: np.random.Generator, number: int) -> EmbeddedDocument:
    texts = _texts(chance, CHUNKS_OF_A_DOCUMENT, WORDS_OF_A_CHUNK)
    document = Document(
        f"bench:{number}", "bench", f"https://docs.example.com/{number}", f"Page {number}", "\n".join(texts)
    )
    chunks = tuple(
        Chunk(
            id=str(UUID(int=int(chance.integers(1 << 62)))),
            document_id=document.id,
            source_id=document.source_id,
            url=document.url,
            title=document.title,
            headings=("Section",),
            text=text,
            position=position,
            start=0,
            end=len(text),
        )
        for position, text in enumerate(texts)
    )
    return EmbeddedDocument(document, "bench", chunks, _vectors(chance, len(chunks)))


def _texts(chance: np.random.Generator, count: int, words: int) -> list[str]:
    """Texts whose words are as unevenly frequent as those of a language (Zipf's law)."""
    weights = 1 / np.arange(1, VOCABULARY + 1)
    drawn = chance.choice(VOCABULARY, (count, words), p=weights / weights.sum())
    return [" ".join(f"word{number}" for number in row) for row in drawn]


def _vectors(chance: np.random.Generator, count: int) -> np.ndarray:
    rows = chance.standard_normal((count, DIMENSIONS)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
