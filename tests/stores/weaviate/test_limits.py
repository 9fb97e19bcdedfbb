"""More and larger objects than the server returns or accepts in one call."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest
from lore.errors import StoreError
from lore.stores.weaviate.collections.schema import CollectionOptions
from lore.stores.weaviate.objects import batches, read
from lore.stores.weaviate.objects.batches import NewObject, insert
from lore.types import Counts

from tests.contracts.store import DIMENSIONS, assert_holds, make_entry
from tests.servers.weaviate import Address, client_of
from tests.stores.weaviate.indexes import open_at

pytestmark = pytest.mark.xdist_group("weaviate")


@pytest.mark.slow
def test_a_document_may_have_more_chunks_than_one_query_gives(weaviate_index: Address) -> None:
    store = open_at(
        weaviate_index, options=CollectionOptions(vector_index="flat")
    )  # so many are quicker without a graph
    large, small = make_entry("large", [f"passage {number}" for number in range(10_050)]), make_entry("small", ["x"])
    store.replace([large, small])
    assert store.count() == Counts(2, 10_051, 10_051)
    assert store.chunks("fake:large") == list(large.chunks)
    shorter = make_entry("large", [f"passage {number}" for number in range(10_045)])
    store.replace([shorter])
    assert store.count() == Counts(2, 10_046, 10_046)
    assert store.delete("fake", ["fake:large"]) == 1
    assert_holds(store, [small])


@pytest.mark.parametrize("most", [4, 100], ids=["at the limit", "larger than the server says"])
def test_a_source_may_have_more_documents_than_one_query_gives(
    weaviate_index: Address, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry(f"d{number}", [f"passage {number}"]) for number in range(4)])
    store.replace([make_entry("other", ["passage"], source_id="fake ")])  # the server takes this for the same source
    if most == 4:
        for module in (read, batches):
            monkeypatch.setattr(module, "WINDOW", most)
    else:
        monkeypatch.setattr(batches, "fetch_in_one_query", lambda *_: None)  # what one query does not give
    names = {f"fake:d{number}" for number in range(4)}
    assert set(store.document_fingerprints("fake")) == set(store.fingerprints("fake")) == names
    assert {document.id for document in store.documents("fake")} == names
    assert {outline.id for outline in store.document_infos("fake")} == names
    assert store.document_fingerprints("fake ") == {"fake :other": "1"}


def test_a_document_that_the_server_does_not_take_is_named_and_the_others_are_stored(weaviate_index: Address) -> None:
    """The tests' server accepts messages of 6 MB."""
    store = open_at(weaviate_index)
    good, other = make_entry("good", ["good"]), make_entry("other", ["other"])
    store.replace([good, make_entry("huge", ["was small"])])
    huge = make_entry("huge", ["still small", "x" * 7_000_000], fingerprint="2")
    with pytest.raises(StoreError) as caught:
        store.replace([other, huge])
    assert "fake:huge" in str(caught.value)
    assert "fake:other" not in str(caught.value)
    assert not caught.value.retryable
    assert store.fingerprints("fake") == {"fake:good": "1", "fake:other": "1", "fake:huge": ""}
    assert "was small" in [chunk.text for chunk in store.chunks("fake:huge")]


def test_a_document_whose_chunk_is_not_taken_stays_unfinished_and_keeps_what_it_had(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry("a", ["before"])])
    entry = make_entry("a", ["taken", "refused"], fingerprint="2")
    huge = replace(entry.chunks[1], summary="x" * 7_000_000)
    with pytest.raises(StoreError, match="fake:a"):
        store.replace([replace(entry, chunks=(entry.chunks[0], huge))])
    assert store.fingerprints("fake") == {"fake:a": ""}
    assert {chunk.text for chunk in store.chunks("fake:a")} == {"before", "taken"}
    store.replace([entry])
    assert_holds(store, [entry])


def test_large_documents_are_read_in_more_messages_than_one(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    bare = [make_entry(f"d{number}", []) for number in range(8)]
    entries = [replace(entry, document=replace(entry.document, text="large " * 250_000)) for entry in bare]
    store.replace(entries)
    assert_holds(store, entries)
    assert store.delete("fake", [entry.document.id for entry in entries]) == 8


def test_one_object_that_is_refused_does_not_take_the_others_with_it(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry("a", ["one"])])
    with client_of(weaviate_index) as client:
        chunks = client.collections.use(f"{weaviate_index.prefix}Chunks")
        rows = [
            NewObject(f"d{number}", uuid4(), {"document_id": str(number)}, np.ones(DIMENSIONS - number % 2, np.float32))
            for number in range(4)
        ]
        refused = insert(chunks, rows)
        assert [failure.document_id for failure in refused] == ["d1", "d3"]
        assert all("vector" in failure.reason for failure in refused)
        assert chunks.aggregate.over_all(total_count=True).total_count == 3
