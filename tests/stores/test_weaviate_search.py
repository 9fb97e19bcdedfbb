"""What is asked of Weaviate and how its replies are read: by messages, and beside the client's own queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Barrier, Event, Timer
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
import weaviate
from lore.errors import StoreError
from lore.stores.validation import QUERY_CHARACTERS
from lore.stores.values import chunk_values
from lore.stores.weaviate.collections.schema import VECTOR_NAME
from lore.stores.weaviate.objects.batches import WINDOW
from lore.stores.weaviate.search.client_queries import ClientQueries
from lore.stores.weaviate.search.hybrid import queries_for, search
from lore.stores.weaviate.search.message_queries import TESTED_CLIENT, MessageQueries
from lore.stores.weaviate.search.passages import WeaviatePassages
from lore.stores.weaviate.stems import index_stems
from lore.stores.weaviate.store import WeaviateStore
from lore.types import PUBLIC, Hit
from weaviate.classes.config import ConsistencyLevel
from weaviate.exceptions import WeaviateQueryError
from weaviate.proto.v1 import base_pb2, search_get_pb2

from tests.contracts.store import embed, make_entry
from tests.servers.weaviate import Address, client_of, remove
from tests.stores.test_weaviate import open_at

pytestmark = pytest.mark.xdist_group("weaviate")

VECTOR = np.array([0.6, 0.8], dtype=np.float32)


@dataclass
class Recorder:
    """A collection that keeps the messages it is asked with and finds, in every search, results made beforehand."""

    results: Sequence[Any] = ()
    name: str = "LoreChunks"
    consistency_level: ConsistencyLevel | None = ConsistencyLevel.QUORUM

    def __post_init__(self) -> None:
        self.asked: list[Any] = []
        self._connection = SimpleNamespace(grpc_search=self._answer)
        self.query = None

    def _answer(self, request: Any) -> Any:
        self.asked.append(request)
        results = self.results
        if wanted := ids_read(request):
            results = [found for found in results if found.metadata.id in wanted]
        return search_get_pb2.SearchReply(results=results)

    def search(
        self, text: str = "word", vector: np.ndarray | None = VECTOR, limit: int = 10, alpha: float = 0.5, **others: Any
    ) -> list[Hit]:
        options: dict[str, Any] = {"sources": (), "audiences": (PUBLIC,), "passages": WeaviatePassages()} | others
        return search(MessageQueries(self), text=text, vector=vector, limit=limit, alpha=alpha, **options)  # type: ignore[arg-type]

    @property
    def read(self) -> list[list[str]]:
        """The ids of each reading."""
        return [ids for request in self.asked if (ids := ids_read(request))]


def ids_read(request: Any) -> list[str]:
    """Which passages a message asks for; none where it is a search."""
    where = request.filters
    return list(where.value_text_array.values) if where.target.property == "_id" else []


def asked(text: str, vector: np.ndarray | None, alpha: float, **changes: Any) -> Any:
    """The message that such a search sends."""
    recorder = Recorder()
    assert recorder.search(text, vector, alpha=alpha, **{"limit": 100, **changes}) == []
    (request,) = recorder.asked
    return request


# ------------------------------------------------------------------------------------------------------- what is asked


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
    """After an update of weaviate-client: run these tests with another `TESTED_CLIENT`."""
    with client_of(weaviate_index) as client:
        chunks = client.collections.use(f"{weaviate_index.prefix}Chunks")
        assert isinstance(queries_for(chunks, weaviate.__version__), MessageQueries)


# ----------------------------------------------------------------------------------------------------- what comes back


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


# --------------------------------------------------------------------------------------------------- what is read when


def test_a_search_asks_for_ids_and_then_for_the_passages() -> None:
    recorder = Recorder([result("a", 2), result("b", 1)])
    recorder.search()
    ranking, reading = recorder.asked
    assert not ranking.properties.non_ref_properties
    assert not ranking.metadata.vectors
    assert ids_read(reading) == ["a", "b"]
    assert reading.limit == 2
    assert reading.properties.non_ref_properties == ["payload"]
    assert reading.metadata.vectors == [VECTOR_NAME]
    assert reading.consistency_level == base_pb2.CONSISTENCY_LEVEL_QUORUM


def test_searches_side_by_side_read_what_they_have_in_common_once() -> None:
    shared, meeting = WeaviatePassages(), Barrier(2, timeout=10)

    class Both(Recorder):
        def _answer(self, request: Any) -> Any:
            if not ids_read(request):
                meeting.wait()  # both have begun before either has ranked
            return super()._answer(request)

    one, other = Both([result(name, 1) for name in "abc"]), Both([result(name, 1) for name in "bcd"])
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda recorder: recorder.search(passages=shared), (one, other)))
    assert [[hit.chunk.id for hit in hits] for hits in found] == [["a", "b", "c"], ["b", "c", "d"]]
    assert sorted(name for ids in one.read + other.read for name in ids) == ["a", "b", "c", "d"]


def test_what_is_read_is_not_kept_for_a_later_search() -> None:
    recorder, shared = Recorder([result("a", 1)]), WeaviatePassages()
    recorder.search(passages=shared)
    recorder.results = [result("a", 1, audiences=["staff"])]
    assert [hit.chunk.audiences for hit in recorder.search(passages=shared, audiences=["staff"])] == [("staff",)]
    assert recorder.read == [["a"], ["a"]]


def test_what_another_search_fails_to_read_is_read_again() -> None:
    shared, waiting, failing = WeaviatePassages(), Event(), Event()

    class Failing(Recorder):
        def _answer(self, request: Any) -> Any:
            if ids_read(request):
                failing.set()
                assert waiting.wait(10)
                raise WeaviateQueryError("the connection was cut", "GRPC search")
            return super()._answer(request)

    class Waiting(Recorder):
        def _answer(self, request: Any) -> Any:
            if not ids_read(request):
                assert failing.wait(10)  # the other one has taken on "a"
                Timer(0.05, waiting.set).start()
            return super()._answer(request)

    failed, read = Failing([result("a", 1)]), Waiting([result("a", 1), result("b", 1)])
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(recorder.search, passages=shared) for recorder in (failed, read)]
        with pytest.raises(WeaviateQueryError):
            futures[0].result(10)
        assert [hit.chunk.id for hit in futures[1].result(10)] == ["a", "b"]
    assert read.read == [["b"], ["a"]]


def test_a_reading_that_hangs_is_not_waited_for() -> None:
    shared, hanging, end = WeaviatePassages(wait=0.01), Event(), Event()

    class Hanging(Recorder):
        def _answer(self, request: Any) -> Any:
            if ids_read(request):
                hanging.set()
                end.wait(30)
            return super()._answer(request)

    slow, fast = Hanging([result("a", 1)]), Recorder([result("a", 1), result("b", 1)])
    with ThreadPoolExecutor(2) as pool:
        late = pool.submit(slow.search, passages=shared)
        assert hanging.wait(10)
        found = pool.submit(fast.search, passages=shared)
        try:
            assert [hit.chunk.id for hit in found.result(10)] == ["a", "b"]
        finally:
            end.set()
        assert [hit.chunk.id for hit in late.result(10)] == ["a"]


def test_searches_that_waited_in_vain_do_not_wait_for_one_another() -> None:
    shared, failing, meeting = WeaviatePassages(), Event(), Barrier(2, timeout=10)
    ranked = Barrier(3, timeout=10)

    class Failing(Recorder):
        def _answer(self, request: Any) -> Any:
            if ids_read(request):
                failing.set()
                ranked.wait()
                raise WeaviateQueryError("the connection was cut", "GRPC search")
            return super()._answer(request)

    class Waiting(Recorder):
        def _answer(self, request: Any) -> Any:
            if ids_read(request):
                meeting.wait()  # both read at the same time
            else:
                assert failing.wait(10)
                ranked.wait()
            return super()._answer(request)

    with ThreadPoolExecutor(3) as pool:
        failed = pool.submit(Failing([result("a", 1)]).search, passages=shared)
        others = [pool.submit(Waiting([result("a", 1)]).search, passages=shared) for _ in range(2)]
        with pytest.raises(WeaviateQueryError):
            failed.result(10)
        assert [[hit.chunk.id for hit in other.result(20)] for other in others] == [["a"], ["a"]]


def test_what_is_read_is_not_kept_for_as_long_as_searches_overlap() -> None:
    now = [0.0]
    shared = WeaviatePassages(clock=lambda: now[0])
    read: list[list[list[str]]] = []

    class Outer(Recorder):
        """A search that goes on while others begin and end."""

        def _answer(self, request: Any) -> Any:
            if not ids_read(request):
                for now[0] in (0.5, 0.9, 1.0, 1.5, 60.0):
                    inner = Recorder([result("a", 1)])
                    assert [hit.chunk.id for hit in inner.search(passages=shared)] == ["a"]
                    read.append(inner.read)
            return super()._answer(request)

    Outer([result("a", 1)]).search(passages=shared)
    assert read == [[["a"]], [], [["a"]], [["a"]], [["a"]]]


class Removing(Recorder):
    """A collection from which passages vanish after they were ranked: `rankings` are what each search finds."""

    rankings: Sequence[str] = ()
    there = ""

    def _answer(self, request: Any) -> Any:
        searches = len(self.asked) - len(self.read)
        self.results = [result(name, 1) for name in (self.there if ids_read(request) else self.rankings[searches])]
        return super()._answer(request)


def test_what_changes_back_and_forth_is_found_by_who_may_see_it_in_the_end() -> None:
    shared = WeaviatePassages()

    class Outer(Recorder):
        """A search that goes on while another reads "a" that may not be seen yet, and a third one ranks it."""

        def _answer(self, request: Any) -> Any:
            if not ids_read(request):
                hidden = Recorder([result("a", 1, audiences=["staff"])])
                assert hidden.search(passages=shared, audiences=["staff"])
                assert [hit.chunk.id for hit in Late([]).search(passages=shared)] == ["a"]
            return super()._answer(request)

    class Late(Recorder):
        """What it ranks is shown at last when it has ranked for the third time."""

        def _answer(self, request: Any) -> Any:
            audience = PUBLIC if len(self.asked) - len(self.read) > 2 else "staff"
            self.results = [result("a", 1, audiences=[audience])]
            return super()._answer(request)

    Outer([result("a", 1)]).search(passages=shared)


def test_what_is_removed_after_the_ranking_makes_room_for_others() -> None:
    recorder = Removing()
    recorder.rankings, recorder.there = ["ab", "ac"], "ac"
    assert [hit.chunk.id for hit in recorder.search()] == ["a", "c"]
    assert recorder.read == [["a", "b"], ["c"]]


def test_what_is_hidden_after_the_ranking_makes_room_for_others() -> None:
    class Hiding(Recorder):
        def _answer(self, request: Any) -> Any:
            if ids_read(request):
                self.results = [result("a", 1), result("b", 1, audiences=["staff"]), result("c", 1)]
            else:
                self.results = [result(name, 1) for name in ("ac" if self.read else "ab")]
            return super()._answer(request)

    assert [hit.chunk.id for hit in Hiding().search()] == ["a", "c"]


def test_what_another_search_has_read_before_it_was_shown_is_read_anew() -> None:
    shared = WeaviatePassages()
    found: list[list[tuple[str, ...]]] = []

    class Outer(Recorder):
        """A search that goes on while others begin and end."""

        def _answer(self, request: Any) -> Any:
            if not ids_read(request):
                for audience in (PUBLIC, "staff", PUBLIC):
                    inner = Recorder([result("a", 1, audiences=[audience])])
                    found.append([hit.chunk.audiences for hit in inner.search(passages=shared, audiences=[audience])])
            return super()._answer(request)

    Outer([result("a", 1)]).search(passages=shared)
    assert found == [[(PUBLIC,)], [("staff",)], [(PUBLIC,)]]


def test_a_search_is_not_repeated_for_what_it_may_never_show() -> None:
    recorder = Recorder([result("a", 1, audiences=["staff "]), result("b", 1, audiences=["staff"])])
    assert [hit.chunk.id for hit in recorder.search(audiences=["staff"])] == ["b"]
    assert len(recorder.asked) == 2


def test_a_search_ends_when_passages_go_on_being_removed() -> None:
    recorder = Removing()
    recorder.rankings, recorder.there = [f"a{gone}" for gone in "bcdef"], "a"
    assert [hit.chunk.id for hit in recorder.search()] == ["a"]


def test_passages_that_go_on_being_removed_leave_no_gap_for_as_long_as_that_is_likely() -> None:
    recorder = Removing()
    recorder.rankings, recorder.there = ["ab", "ac", "ad", "ae"], "ae"
    assert [hit.chunk.id for hit in recorder.search()] == ["a", "e"]


def test_a_passage_that_is_ranked_twice_is_not_taken_for_one_that_was_removed() -> None:
    recorder = Recorder([result("a", 1), result("a", 1)])
    recorder.search()
    assert len(recorder.asked) == 2


def test_replies_that_are_too_large_are_asked_for_in_pieces() -> None:
    class Small(Recorder):
        def _answer(self, request: Any) -> Any:
            if len(ids_read(request)) > 2:
                self.asked.append(request)
                raise WeaviateQueryError("Received message larger than max (6 vs. 4)", "GRPC search")
            return super()._answer(request)

    recorder = Small([result(name, 1) for name in "abcde"])
    assert [hit.chunk.id for hit in recorder.search()] == list("abcde")
    assert recorder.read == [list("abcde"), ["a", "b", "c"], ["a", "b"], ["c"], ["d", "e"]]


@pytest.mark.parametrize("payload", ["", "not json", "null", "{}", '{"id": "a"}'])
def test_a_passage_that_lore_did_not_write_is_an_error_in_words(payload: str) -> None:
    strange = result("a", 1)
    strange.properties.non_ref_props.fields["payload"].text_value = payload
    with pytest.raises(StoreError, match="lore index build"):
        Recorder([strange, result("b", 1)]).search()


@pytest.mark.parametrize(("numbers", "told"), [(None, "0, 2"), (0, "0, 2"), (1, "1, 2"), (3, "2, 3")])
def test_vectors_of_several_lengths_are_an_error_in_words(numbers: int | None, told: str) -> None:
    strange = result("a", 1)
    strange.metadata.ClearField("vectors")
    if numbers is not None:
        strange.metadata.vectors.add(name=VECTOR_NAME, vector_bytes=np.ones(numbers, dtype=np.float32).tobytes())
    recorder = Recorder([strange, result("b", 1)])
    for vector, alpha in ((VECTOR, 0.5), (VECTOR, 1.0), (None, 0.0)):
        with pytest.raises(StoreError, match=f"{told}.*lore index build"):
            recorder.search(vector=vector, alpha=alpha)


def test_all_vectors_of_another_length_than_that_of_the_question_are_an_error_in_words() -> None:
    with pytest.raises(StoreError, match="2; the question has one of 3"):
        Recorder([result("a", 1)]).search(vector=np.ones(3, dtype=np.float32))


def result(name: str, score: float, explained: str = "", audiences: Sequence[str] = (PUBLIC,)) -> Any:
    """A hit as the server gives it."""
    (chunk,) = make_entry(name, ["text"], audiences=tuple(audiences)).chunks
    found = search_get_pb2.SearchResult()
    payload = chunk_values(replace(chunk, id=name))["payload"]
    found.properties.non_ref_props.fields["payload"].text_value = payload
    found.metadata.id = name
    found.metadata.score, found.metadata.explain_score = score, explained
    vector = np.array([0.8, 0.6], dtype=np.float32).tobytes()
    found.metadata.vectors.add(name=VECTOR_NAME, vector_bytes=vector)
    return found


# ---------------------------------------------------------------------------------------- beside the client's queries


@pytest.fixture(scope="module")
def library(weaviate_server: Address) -> Iterator[WeaviateStore]:
    """Passages of many kinds, some of them not for the public or of another source."""
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
    """To the bit. The limit is beyond all passages, because the server breaks ties as it likes."""
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
