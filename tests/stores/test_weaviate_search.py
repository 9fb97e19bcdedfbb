"""What is asked of Weaviate and how its replies are read: by messages, and beside the client's own queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from weaviate.classes.config import ConsistencyLevel
from weaviate.classes.query import Filter, HybridFusion, MetadataQuery
from weaviate.proto.v1 import base_pb2, search_get_pb2

from include.lore.errors import ConfigurationError
from include.lore.stores.schema import chunk_values, to_chunk
from include.lore.stores.weaviate.rows import WINDOW
from include.lore.stores.weaviate.schema import VECTOR_NAME
from include.lore.stores.weaviate.search import QUERY_CHARACTERS, search
from include.lore.stores.weaviate.words import index_words
from include.lore.types import PUBLIC
from tests.contracts.store import embed, make_entry
from tests.servers.weaviate import Address, client_of
from tests.stores.test_weaviate import open_at

pytestmark = pytest.mark.xdist_group("weaviate")

VECTOR = np.array([0.6, 0.8], dtype=np.float32)


@dataclass
class Recorder:
    """A collection that keeps the message it is asked with and gives a reply made beforehand."""

    reply: Any = field(default_factory=search_get_pb2.SearchReply)
    name: str = "LoreChunks"
    consistency_level: ConsistencyLevel | None = ConsistencyLevel.QUORUM

    def __post_init__(self) -> None:
        self.asked: list[Any] = []
        self._connection = SimpleNamespace(grpc_search=self._answer)

    def _answer(self, request: Any) -> Any:
        self.asked.append(request)
        return self.reply


def asked(text: str, vector: np.ndarray | None, alpha: float, **changes: Any) -> Any:
    """The message that such a search sends."""
    recorder = Recorder()
    options: dict[str, Any] = {"limit": 100, "sources": (), "audiences": (PUBLIC,)} | changes
    assert search(recorder, text, vector, alpha=alpha, **options) == []
    (request,) = recorder.asked
    return request


# ------------------------------------------------------------------------------------------------------- what is asked


def test_a_fused_search_says_all_that_its_ranking_depends_on() -> None:
    request = asked("the deployed clusters", VECTOR, 0.25)
    hybrid = request.hybrid_search
    assert (request.collection, request.limit) == ("LoreChunks", 100)
    assert (hybrid.query, list(hybrid.properties), hybrid.alpha) == (
        index_words("the deployed clusters"),
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
    assert search(recorder, "of the", None, 10, 0.0, (), (PUBLIC,)) == []
    assert search(recorder, "of the", VECTOR, 10, 0.0, (), (PUBLIC,)) == []
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


def test_a_client_that_sends_in_another_way_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"weaviate-client \d.*requirements\.txt"):
        search(SimpleNamespace(name="LoreChunks", consistency_level=None), "word", VECTOR, 10, 0.5, (), (PUBLIC,))


# ----------------------------------------------------------------------------------------------------- what comes back


def test_hits_of_one_score_are_in_the_order_of_their_ids() -> None:
    reply = search_get_pb2.SearchReply(results=[result(name, score) for name, score in (("b", 1), ("c", 2), ("a", 1))])
    hits = search(Recorder(reply), "word", VECTOR, 10, 0.5, (), (PUBLIC,))
    assert [(hit.chunk.id, hit.score) for hit in hits] == [("c", 2.0), ("a", 1.0), ("b", 1.0)]


def test_a_chunk_whose_audience_only_looks_the_same_is_left_out() -> None:
    reply = search_get_pb2.SearchReply(
        results=[result("a", 1, audiences=["staff "]), result("b", 1, audiences=["staff"])]
    )
    hits = search(Recorder(reply), "word", VECTOR, 10, 0.5, (), ("staff",))
    assert [hit.chunk.id for hit in hits] == ["b"]


def test_a_hit_has_the_scores_that_were_computed() -> None:
    explained = "Hybrid (Result Set keyword,bm25) Document x: original score 6.25, normalized score: 0.5"
    both, near = result("both", 0.75, explained), result("near", 0.5, "Hybrid (Result Set vector,hybridVector) ...")
    hits = search(Recorder(search_get_pb2.SearchReply(results=[both, near])), "word", VECTOR, 10, 0.5, (), (PUBLIC,))
    assert [(hit.score, hit.keyword_score) for hit in hits] == [(0.75, 6.25), (0.5, None)]
    assert [hit.vector_score for hit in hits] == pytest.approx([0.96, 0.96])
    assert [type(score) for hit in hits for score in (hit.score, hit.vector_score)] == [float] * 4
    (hit,) = search(Recorder(search_get_pb2.SearchReply(results=[both])), "word", None, 10, 0.0, (), (PUBLIC,))
    assert (hit.score, hit.keyword_score, hit.vector_score) == (0.75, 0.75, None)
    assert hit.vector is not None
    assert hit.vector.tolist() == pytest.approx([0.8, 0.6])


def result(name: str, score: float, explained: str = "", audiences: Sequence[str] = (PUBLIC,)) -> Any:
    """A hit as the server gives it."""
    (chunk,) = make_entry(name, ["text"], audiences=tuple(audiences)).chunks
    found = search_get_pb2.SearchResult()
    payload = chunk_values(replace(chunk, id=name))["payload"]
    found.properties.non_ref_props.fields["payload"].text_value = payload
    found.metadata.score, found.metadata.explain_score = score, explained
    vector = np.array([0.8, 0.6], dtype=np.float32).tobytes()
    found.metadata.vectors.add(name=VECTOR_NAME, vector_bytes=vector)
    return found


# ---------------------------------------------------------------------------------------- beside the client's queries


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
def test_a_search_finds_what_the_clients_own_query_finds(weaviate_index: Address, alpha: float) -> None:
    """The client's documented methods, slower by four times, are what the messages must agree with."""
    moment = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)
    entries = [
        make_entry(f"d{number}", [f"topic{number % 5} common {'word ' * number}", "Café 日本語 \n\t 'quoted' \\ \0"])
        for number in range(30)
    ]
    entries += [make_entry("bare", ["topic1"], title="", url="", audiences=("staff", PUBLIC))]
    entries += [
        make_entry("dated", ["topic1 dated"], updated_at=moment),
        make_entry("other", ["topic1"], source_id="x"),
    ]
    store, query = open_at(weaviate_index), embed("topic1 common")
    store.replace(entries)
    hits = store.search("topic1 common café", query, 40, alpha, ["fake"], [PUBLIC])
    where = Filter.by_property("source_id").contains_any(["fake"]) & Filter.by_property("audiences").contains_any(
        [PUBLIC]
    )
    common: dict[str, Any] = {
        "limit": 40,
        "filters": where,
        "include_vector": [VECTOR_NAME],
        "return_properties": ["payload"],
    }
    words = index_words("topic1 common café")
    with client_of(weaviate_index) as client:
        ask = client.collections.use(f"{weaviate_index.prefix}Chunks").query
        if alpha == 0:
            rows = ask.bm25(words, query_properties=["words"], return_metadata=MetadataQuery(score=True), **common)
        elif alpha == 1:
            rows = ask.near_vector(query.tolist(), target_vector=VECTOR_NAME, **common)
        else:
            rows = ask.hybrid(
                words,
                vector={VECTOR_NAME: query.tolist()},
                target_vector=VECTOR_NAME,
                alpha=alpha,
                fusion_type=HybridFusion.RELATIVE_SCORE,
                query_properties=["words"],
                return_metadata=MetadataQuery(score=True),
                **common,
            )
    expected = {str(row.uuid): row for row in rows.objects}
    assert len(expected) == len(hits) == 40
    for hit in hits:
        row = expected[hit.chunk.id]
        assert hit.chunk == to_chunk(row.properties["payload"])
        assert hit.vector is not None
        assert hit.vector.tolist() == pytest.approx(row.vector[VECTOR_NAME], abs=0)
        if alpha < 1:
            assert hit.score == row.metadata.score
    assert any(hit.keyword_score for hit in hits) == (alpha < 1)
