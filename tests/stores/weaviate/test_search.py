"""Searches on a real server: concurrency, audiences, weights, and objects that others wrote."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from lore.errors import StoreError

from tests.contracts.store import embed, make_entry, texts
from tests.servers.weaviate import Address, client_of
from tests.stores.weaviate.indexes import open_at

pytestmark = pytest.mark.xdist_group("weaviate")


def test_searches_side_by_side_find_what_each_finds_alone(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry(f"d{number}", [f"topic{number % 7} words{number}"]) for number in range(60)])

    def found(number: int) -> list[tuple[str, float]]:
        hits = store.search(f"topic{number % 7}", embed(f"topic{number % 7}"), 20, 0.5)
        return [(hit.chunk.id, hit.score) for hit in hits]

    alone = [found(number) for number in range(7)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(found, range(56))) == alone * 8


def test_an_audience_is_compared_to_the_letter(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace(
        [make_entry("a", ["secret plan"], audiences=("team ",)), make_entry("b", ["plan"], audiences=("Team",))]
    )
    for alpha in (0.0, 0.5, 1.0):
        assert store.search("plan", embed("plan"), 5, alpha, audiences=("team",)) == []
        assert len(store.search("plan", embed("plan"), 5, alpha, audiences=("team ", "Team"))) == 2


def test_what_others_wrote_into_the_index_is_told_and_its_lack_of_a_vector_passed_over(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry("a", ["topic"]), make_entry("b", ["cluster"])])
    (topic,), (other,) = store.chunks("fake:a"), store.chunks("fake:b")
    with client_of(weaviate_index) as client:
        data = client.collections.use(f"{weaviate_index.prefix}Chunks_1").data
        row = client.collections.use(f"{weaviate_index.prefix}Chunks_1").query.fetch_object_by_id(topic.id)
        data.delete_by_id(topic.id)
        data.insert(row.properties, uuid=topic.id)  # without its vector
        with pytest.raises(StoreError, match=r"0, 64; .*lore index build --new"):
            store.search("topic", embed("topic"), 5, 0.5)
        assert set(store.vectors_for([topic.content_hash, other.content_hash])) == {other.content_hash}
        data.update(other.id, properties={"payload": "{}"})
        for read_it in (lambda: store.chunks("fake:b"), lambda: store.search("cluster", embed("cluster"), 5, 0.0)):
            with pytest.raises(StoreError, match="lore index build --new"):
                read_it()


def test_words_of_the_title_count_as_much_as_is_set(weaviate_index: Address) -> None:
    entries = [
        make_entry("title", ["much about other things here"], title="Backups"),
        make_entry("text", ["backups " * 3]),
    ]
    open_at(weaviate_index).replace(entries)

    def best(weight: float) -> str:
        return open_at(weaviate_index, title_weight=weight).search("backup", None, 5, 0.0)[0].chunk.document_id

    assert (best(0.0), best(9.0)) == ("fake:text", "fake:title")


def test_a_document_without_direction_does_not_disturb(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    entry = make_entry("zero", ["overnight"])
    store.replace([make_entry("a", ["text"]), replace(entry, vectors=entry.vectors * 0)])
    hits = store.search("overnight", embed("text"), 5, 0.5)
    assert {hit.chunk.text: hit.vector_score for hit in hits}["overnight"] == 0.0
    assert "text" in texts(hits)
