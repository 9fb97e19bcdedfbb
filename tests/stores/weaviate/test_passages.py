"""Passages, read once for concurrent searches and in their current state."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Timer
from typing import Any

import numpy as np
import pytest
from lore.errors import StoreError
from lore.stores.weaviate.collections.schema import VECTOR_NAME
from lore.stores.weaviate.search.passages import WeaviatePassages
from lore.types import PUBLIC
from weaviate.exceptions import WeaviateQueryError
from weaviate.proto.v1 import base_pb2

from tests.stores.weaviate.recorder import VECTOR, Recorder, ids_read, result


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
        """A search that continues while others begin and end."""

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
    """A collection whose passages vanish after the ranking; `rankings` are the results of each search."""

    rankings: Sequence[str] = ()
    there = ""

    def _answer(self, request: Any) -> Any:
        searches = len(self.asked) - len(self.read)
        self.results = [result(name, 1) for name in (self.there if ids_read(request) else self.rankings[searches])]
        return super()._answer(request)


def test_what_changes_back_and_forth_is_found_by_who_may_see_it_in_the_end() -> None:
    shared = WeaviatePassages()

    class Outer(Recorder):
        """A search that continues while another reads "a", which is still hidden, and a third one ranks it."""

        def _answer(self, request: Any) -> Any:
            if not ids_read(request):
                hidden = Recorder([result("a", 1, audiences=["staff"])])
                assert hidden.search(passages=shared, audiences=["staff"])
                assert [hit.chunk.id for hit in Late([]).search(passages=shared)] == ["a"]
            return super()._answer(request)

    class Late(Recorder):
        """Its passage becomes visible at the third ranking."""

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
        """A search that continues while others begin and end."""

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
