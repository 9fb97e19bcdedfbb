"""Tables pinned to one commit while they are lent, and moved to the newest before they are lent again."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import lancedb
import pytest
from lore.stores.lancedb.readers import LanceReaders, run
from lore.stores.lancedb.store import LanceStore

from tests.contracts.store import RECIPE, embed, make_entry


@pytest.fixture
def address(tmp_path: Path) -> str:
    return str(tmp_path / "index")


def test_a_lent_table_stays_where_it_is_and_the_next_is_at_the_newest(address: str) -> None:
    store = LanceStore(address, RECIPE)
    first = make_entry("a", ["one"])
    store.replace([first])
    changed = partial(store.replace, [make_entry("a", ["two"]), make_entry("b", ["three"])])

    async def lend() -> None:
        readers = LanceReaders(partial((await lancedb.connect_async(address)).open_table, "chunks_1"))
        async with readers.newest() as table:
            rows = (await table.query().select(["id"]).with_row_id().to_arrow())["_rowid"].to_pylist()
            await asyncio.to_thread(changed)
            await table.count_rows()
            read = await table.take_row_ids(rows).select(["keywords"]).to_arrow()
            assert read["keywords"].to_pylist() == [first.chunks[0].passage]
            async with readers.newest() as another:
                assert await another.count_rows() == 2
        async with readers.newest() as table:
            assert await table.count_rows() == 2

    run(lend())


def test_a_table_whose_reading_failed_is_not_lent_again() -> None:
    opened: list[object] = []

    async def open_table() -> object:
        opened.append(object())
        return opened[-1]

    async def lend() -> None:
        readers = LanceReaders(open_table)
        with pytest.raises(OSError):
            async with readers.newest():
                raise OSError
        async with readers.newest() as table:
            assert table is opened[1]

    run(lend())


def test_searches_are_whole_while_the_table_is_rewritten(address: str) -> None:
    store, other = LanceStore(address, RECIPE), LanceStore(address, RECIPE)
    stages = [[make_entry(f"d{number}", [f"{word} {number}"]) for number in range(40)] for word in ("old", "new")]
    store.replace(stages[0])
    stop = threading.Event()

    def write() -> None:
        for number in range(1, 8):
            store.replace(stages[number % 2])
            store.optimize()
        stop.set()

    seen = []
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not stop.is_set() and not writing.done():
            seen.append({hit.chunk.text.split()[0] for hit in other.search("old new", embed("old"), 100, 0.5)})
            hits = other.search("old new", embed("new"), 100, 0.5)
            assert len({hit.chunk.document_id for hit in hits}) == len(hits) == 40
        writing.result()
    assert len(seen) > 3
    assert all(words in ({"old"}, {"new"}) for words in seen)
