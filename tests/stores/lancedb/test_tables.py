"""Replacement of chunks: only changes are written, and an interrupted one stays invisible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import lancedb
import pytest
from lore.stores.lancedb import schema
from lore.stores.lancedb.store import LanceStore
from lore.stores.lancedb.tables import BLANK, replace_chunks, upsert
from lore.types import Counts, EmbeddedDocument

from tests.contracts.store import RECIPE, assert_holds, embed, make_entry, texts


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "index")


@pytest.fixture
def store(address: str) -> LanceStore:
    return LanceStore(address, RECIPE)


def chunk_table(address: str) -> Any:
    return lancedb.connect(address).open_table("chunks_1")


def test_chunks_that_did_not_change_are_not_written(store: LanceStore, address: str) -> None:
    entry = make_entry("a", ["one", "two", "three"])
    store.replace([entry])
    table = chunk_table(address)
    before = table.version
    replace_chunks(table, [entry])
    assert table.version == before
    moved = replace(entry.chunks[1], start=5, end=8)
    changed = EmbeddedDocument(entry.document, "2", (entry.chunks[0], moved, entry.chunks[2]), entry.vectors)
    fragments = table.stats()["fragment_stats"]["num_fragments"]
    store.replace([changed])
    table = chunk_table(address)
    assert table.stats()["fragment_stats"]["num_fragments"] == fragments + 1
    assert_holds(store, [changed])


@pytest.mark.parametrize("change", ["vectors", "audiences", "headings", "text"])
def test_any_change_of_a_chunk_is_written(store: LanceStore, change: str) -> None:
    entry = make_entry("a", ["one", "two"])
    store.replace([entry])
    if change == "vectors":
        changed = replace(entry, vectors=-entry.vectors)
    else:
        value: object = "other" if change == "text" else ("other",)
        changed = replace(entry, chunks=tuple(replace(chunk, **{change: value}) for chunk in entry.chunks))
    store.replace([changed])
    assert_holds(store, [changed])


@pytest.mark.parametrize("heal", ["optimize", "replace"])
def test_blank_rows_of_a_killed_replacement_are_nowhere_seen_and_swept_away(
    store: LanceStore, address: str, heal: str
) -> None:
    entry, other = make_entry("a", ["kept"]), make_entry("b", ["stale", "also stale"])
    store.replace([entry])
    table = chunk_table(address)
    zero = [0.0] * RECIPE.dimensions
    blanks = [
        {"id": chunk.id, "document_id": BLANK, "source_id": BLANK, "audiences": [], "vector": zero}
        for chunk in other.chunks
    ]
    upsert(table, "id", type(schema.state_rows([])).from_pylist(blanks, schema=table.schema))
    assert_holds(store, [entry])
    assert store.count("fake") == Counts(1, 1, 1)
    for alpha in (0.0, 0.5, 1.0):
        assert set(texts(store.search("kept stale", embed("stale"), 5, alpha))) <= {"kept"}
    if heal == "optimize":
        store.optimize()
    else:
        entry = make_entry("a", ["rewritten"], fingerprint="2")
        store.replace([entry])
    assert chunk_table(address).count_rows() == 1
    assert_holds(store, [entry])
