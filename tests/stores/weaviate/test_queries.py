"""Queries of Weaviate and their replies, by messages and by the client's documented methods."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
import weaviate
from lore.stores.validation import QUERY_CHARACTERS
from lore.stores.weaviate.collections.schema import VECTOR_NAME
from lore.stores.weaviate.objects.batches import WINDOW
from lore.stores.weaviate.search.client_queries import ClientQueries
from lore.stores.weaviate.search.hybrid import queries_for, search
from lore.stores.weaviate.search.message_queries import TESTED_CLIENT, MessageQueries
from lore.stores.weaviate.search.passages import WeaviatePassages
from lore.stores.weaviate.stems import index_stems
from lore.stores.weaviate.store import WeaviateStore
from lore.types import PUBLIC
from weaviate.proto.v1 import base_pb2

from tests.contracts.store import embed, make_entry
from tests.servers.weaviate import Address, client_of, remove
from tests.stores.weaviate.indexes import open_at
from tests.stores.weaviate.recorder import VECTOR, Recorder, asked, result

pytestmark = pytest.mark.xdist_group("weaviate")


def test_a_fused_search_says_all_that_its_ranking_depends_on() -> None:
    request = asked("the deployed clusters", VECTOR, 0.25)
    hybrid = request.hybrid_search
    assert (request.collection, request.limit) == ("LoreChunks", 100)
    assert (hybrid.query, list(hybrid.properties), hybrid.alpha) == (
        index_stems("the deployed clusters"),
        ["words"],
        0.25,
    )
    assert hybrid.fusion_type == hybrid.FUSION_TYPE_RELATIVE_SCORE
    (target,) = hybrid.near_vector.vector_for_targets
    assert (target.name, target.vectors[0].vector_bytes) == (VECTOR_NAME, VECTOR.tobytes())
    assert list(hybrid.targets.target_vectors) == [VECTOR_NAME]
    assert request.consistency_level == base_pb2.CONSISTENCY_LEVEL_QUORUM
    assert (request.metadata.score, request.metadata.explain_score) == (True, True)
    assert (request.uses_123_api, request.uses_125_api, request.uses_127_api) == (True, True, True)


def test_each_kind_of_search_is_one_message() -> None:
    kinds = ("hybrid_search", "bm25_search", "near_vector")
    for text, vector, alpha, kind in (
        ("word", VECTOR, 0.5, "hybrid_search"),
        ("word", VECTOR, 0.0, "bm25_search"),
        ("word", None, 0.0, "bm25_search"),
        ("word", VECTOR, 1.0, "near_vector"),
        ("of the", VECTOR, 0.5, "near_vector"),
    ):
        request = asked(text, vector, alpha)
        assert [name for name in kinds if request.HasField(name)] == [kind]


def test_without_words_and_without_a_vector_nothing_is_asked() -> None:
    recorder = Recorder()
    assert recorder.search("of the", None, alpha=0.0) == []
    assert recorder.search("of the", alpha=0.0) == []
    assert recorder.asked == []


def test_who_may_see_what_is_part_of_the_question() -> None:
    def condition(where: Any) -> tuple[str, list[str]]:
        assert where.operator == base_pb2.Filters.OPERATOR_CONTAINS_ANY
        return where.target.property, list(where.value_text_array.values)

    for alpha in (0.0, 0.5, 1.0):
        where = asked("word", VECTOR, alpha, audiences=("public", "staff\ud800")).filters
        assert condition(where) == ("audiences", ["public", "staff\ufffd"])
        where = asked("word", VECTOR, alpha, sources=("docs", "slack")).filters
        assert where.operator == base_pb2.Filters.OPERATOR_AND
        assert sorted(map(condition, where.filters)) == [("audiences", ["public"]), ("source_id", ["docs", "slack"])]


def test_limit_and_question_are_cut_to_what_the_server_takes() -> None:
    request = asked("word " * QUERY_CHARACTERS, VECTOR, 0.5, limit=10 * WINDOW)
    assert request.limit == WINDOW
    assert len(request.hybrid_search.query) <= QUERY_CHARACTERS


def test_the_title_weighs_as_much_as_is_set() -> None:
    assert list(asked("word", None, 0.0, title_weight=2.5).bm25_search.properties) == ["words", "title_words^2.5"]


@pytest.mark.parametrize("version", ["4.23.9", "4.25.0", "5.0.0"])
def test_another_client_is_asked_by_its_documented_methods(version: str) -> None:
    assert isinstance(queries_for(Recorder(), version), ClientQueries)


def test_a_client_without_the_private_method_is_asked_by_its_documented_methods() -> None:
    chunks = SimpleNamespace(name="LoreChunks", consistency_level=None, query=None)
    assert isinstance(queries_for(chunks, f"{TESTED_CLIENT}0"), ClientQueries)


def test_the_installed_client_is_one_that_messages_were_tested_with(weaviate_index: Address) -> None:
    """After an update of weaviate-client, run these tests with a new `TESTED_CLIENT`."""
    with client_of(weaviate_index) as client:
        chunks = client.collections.use(f"{weaviate_index.prefix}Chunks")
        assert isinstance(queries_for(chunks, weaviate.__version__), MessageQueries)


def test_hits_of_one_score_are_in_the_order_of_their_ids() -> None:
    hits = Recorder([result(name, score) for name, score in (("b", 1), ("c", 2), ("a", 1))]).search()
    assert [(hit.chunk.id, hit.score) for hit in hits] == [("c", 2.0), ("a", 1.0), ("b", 1.0)]


def test_a_chunk_whose_audience_only_looks_the_same_is_left_out() -> None:
    recorder = Recorder([result("a", 1, audiences=["staff "]), result("b", 1, audiences=["staff"])])
    assert [hit.chunk.id for hit in recorder.search(audiences=("staff",))] == ["b"]


def test_a_hit_has_the_scores_that_were_computed() -> None:
    explained = "Hybrid (Result Set keyword,bm25) Document x: original score 6.25, normalized score: 0.5"
    both, near = result("both", 0.75, explained), result("near", 0.5, "Hybrid (Result Set vector,hybridVector) ...")
    hits = Recorder([both, near]).search()
    assert [(hit.score, hit.keyword_score) for hit in hits] == [(0.75, 6.25), (0.5, None)]
    assert [hit.vector_score for hit in hits] == pytest.approx([0.96, 0.96])
    assert [type(score) for hit in hits for score in (hit.score, hit.vector_score)] == [float] * 4
    (hit,) = Recorder([both]).search(vector=None, alpha=0.0)
    assert (hit.score, hit.keyword_score, hit.vector_score) == (0.75, 0.75, None)
    assert hit.vector is not None
    assert hit.vector.tolist() == pytest.approx([0.8, 0.6])


@pytest.fixture(scope="module")
def library(weaviate_server: Address) -> Iterator[WeaviateStore]:
    """Passages of many kinds, some hidden from the public or from another source."""
    address = weaviate_server.but(prefix=f"T{uuid4().hex}_")
    entries = [
        make_entry(f"d{number}", [f"topic{number % 5} common {'word ' * number}", "Café 日本語 \n\t 'quoted' \\ \0"])
        for number in range(30)
    ]
    moment = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
    entries += [
        make_entry("bare", ["topic1"], title="", url="", audiences=("staff", PUBLIC)),
        make_entry("hidden", ["topic1"], audiences=("staff",)),
        make_entry("dated", ["topic1 dated"], updated_at=moment),
        make_entry("other", ["topic1"], source_id="x"),
    ]
    store = open_at(address)
    store.replace(entries)
    yield store
    remove(address)


@pytest.mark.parametrize("sources", [(), ("fake",)], ids=["all sources", "one source"])
@pytest.mark.parametrize(
    ("text", "alpha", "weight"),
    [
        ("common café", 0.0, 0.0),
        ("topic1 page", 0.0, 2.5),
        ("topic1 common café", 0.3, 0.0),
        ("topic1", 0.5, 2.5),
        ("", 0.5, 0.0),
        ("common", 1.0, 0.0),
    ],
)
def test_messages_find_what_the_clients_documented_methods_find(
    library: WeaviateStore, weaviate_server: Address, sources: tuple[str, ...], text: str, alpha: float, weight: float
) -> None:
    """Bit for bit. The limit exceeds the passages, because the server breaks ties arbitrarily."""
    vector = embed(text or "topic2 common")
    with client_of(weaviate_server) as client:
        chunks = client.collections.use(f"{library._index.prefix}Chunks")
        by_message, by_method = (
            search(queries, WeaviatePassages(), text, vector, 100, alpha, sources, [PUBLIC], title_weight=weight)
            for queries in (MessageQueries(chunks), ClientQueries(chunks))
        )
    assert by_message
    assert [(hit.chunk, hit.score, hit.vector_score, hit.keyword_score) for hit in by_message] == [
        (hit.chunk, hit.score, hit.vector_score, hit.keyword_score) for hit in by_method
    ]
    for hit, other in zip(by_message, by_method, strict=True):
        assert hit.vector is not None and other.vector is not None
        assert hit.vector.tobytes() == other.vector.tobytes()
    assert any(hit.keyword_score for hit in by_message) == bool(text and alpha < 1)


def test_a_documented_method_that_finds_nothing_or_no_vector(weaviate_index: Address) -> None:
    store = open_at(weaviate_index)
    store.replace([make_entry("a", ["topic"])])
    with client_of(weaviate_index) as client:
        chunks = client.collections.use(f"{weaviate_index.prefix}Chunks_1")
        queries = ClientQueries(chunks)
        assert search(queries, WeaviatePassages(), "unknown", None, 5, 0.0, (), [PUBLIC]) == []
        assert queries.read([str(uuid4())]) == []
        key = uuid4()
        chunks.data.insert({"document_id": "x"}, uuid=key)
        assert queries.read([str(key)]) == MessageQueries(chunks).read([str(key)]) == [(str(key), "", b"")]
