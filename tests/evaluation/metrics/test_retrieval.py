"""Scoring a stage: pages rank where their best chunk does, and a deeper search completes Recall@100."""

from __future__ import annotations

import math

import pytest
from lore.errors import LoreError, ModelError
from lore.evaluation.beir.dataset import Query
from lore.evaluation.metrics.retrieval import STAGES, score_stage, stage_search
from lore.models.fallback import RerankerChain
from lore.models.local_reranker import LocalReranker
from lore.types import Chunk, Hit, Question

from tests.fakes import FakeEmbedder


def hit(page: str, position: int = 0) -> Hit:
    chunk = Chunk(f"{page}-{position}", f"beir:{page}", "beir", "", page, (), "text", position, 0, 4)
    return Hit(chunk, score=1.0)


def test_pages_rank_where_their_best_chunk_does() -> None:
    answers = {"one": [hit("x"), hit("x", 1), hit("x", 2), hit("good")], "two": [hit("good"), hit("x")]}
    queries = [Query("1", "one", {"good": 1}), Query("2", "two", {"good": 1})]
    score = score_stage("hybrid", lambda question, limit: answers[question.text], queries)
    assert score.ndcg_at_10 == pytest.approx((1 / math.log2(3) + 1) / 2)
    assert score.mrr_at_10 == pytest.approx(0.75)
    assert score.recall_at_100 == score.recall_retrieved == 1.0
    assert score.pages_retrieved == 2.0
    assert 0.0 <= score.ms_p50 <= score.ms_p95


def test_a_deeper_search_completes_the_recall_and_nothing_else() -> None:
    limits: list[int] = []

    def search(question: Question, limit: int) -> list[Hit]:
        limits.append(limit)
        return [hit("x"), hit("y")] if limit == 100 else [hit("good"), hit("x")]

    score = score_stage("vector", search, [Query("1", "one", {"good": 1})])
    assert limits == [100, 100, 400]  # the first warms up
    assert (score.ndcg_at_10, score.mrr_at_10, score.recall_retrieved) == (0.0, 0.0, 0.0)
    assert score.recall_at_100 == 1.0


def test_no_deeper_search_when_there_are_a_hundred_pages() -> None:
    limits: list[int] = []

    def search(question: Question, limit: int) -> list[Hit]:
        limits.append(limit)
        return [hit(f"p{number}") for number in range(limit)]

    score = score_stage("keyword", search, [Query("1", "one", {"p99": 1, "p100": 1})])
    assert set(limits) == {100}
    assert score.recall_at_100 == 0.5


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    queries = [Query(str(number), "one", {"x": 1}) for number in range(3)]
    score_stage("keyword", lambda question, limit: [hit("x")], queries, progress=lambda *step: told.append(step))
    assert told == [("keyword", 1, 3), ("keyword", 2, 3), ("keyword", 3, 3)]


class RecordingIndex:
    def __init__(self, *hits: Hit) -> None:
        self.calls: list[tuple[bool, float]] = []
        self.hits = list(hits)

    def search(self, text: str, vector: object, limit: int, alpha: float, sources: object = (), audiences: object = ()):
        self.calls.append((vector is not None, alpha))
        self.asked_for = (sources, audiences)
        return self.hits

    def snapshot(self) -> RecordingIndex:
        return self


@pytest.mark.parametrize(
    ("stage", "expected"), [("keyword", (False, 0.0)), ("vector", (True, 1.0)), ("hybrid", (True, 0.3))]
)
def test_each_stage_is_the_search_of_its_name(stage: str, expected: tuple[bool, float]) -> None:
    index = RecordingIndex()
    stage_search(stage, index, FakeEmbedder(), None, alpha=0.3)(Question("text"), 10)  # type: ignore[arg-type]
    assert index.calls == [expected]


def test_the_search_is_narrowed_to_the_sources_and_audiences_of_the_question() -> None:
    for stage in STAGES:
        index = RecordingIndex()
        search = stage_search(stage, index, FakeEmbedder(), None)  # type: ignore[arg-type]
        search(Question("text", sources=("docs",), audiences=("sre",)), 10)
        assert index.asked_for == (("docs",), ("sre",)), stage


def test_a_benchmark_is_asked_of_its_own_corpus_only() -> None:
    asked: list[tuple[str, ...]] = []

    def search(question: Question, limit: int) -> list[Hit]:
        asked.append(question.sources)
        return []

    score_stage("hybrid", search, [Query("1", "one", {"x": 1})])
    assert set(asked) == {("beir",)}


class BrokenReranker:
    name = "broken"

    def rerank(self, query: str, hits: object, limit: int, **_: object) -> list[Hit]:
        raise ModelError("quota used up", remedy="Wait.")


def test_a_reranker_that_fails_gives_an_error_and_no_figure() -> None:
    search = stage_search("rerank", RecordingIndex(hit("x")), FakeEmbedder(), BrokenReranker())  # type: ignore[arg-type]
    with pytest.raises(LoreError, match="quota used up"):
        search(Question("text"), 10)


def test_the_one_behind_it_gives_no_figure_for_it_either() -> None:
    chain = RerankerChain(BrokenReranker(), LocalReranker(FakeEmbedder()))  # type: ignore[arg-type]
    search = stage_search("rerank", RecordingIndex(hit("x")), FakeEmbedder(), chain)  # type: ignore[arg-type]
    with pytest.raises(LoreError, match="quota used up"):
        search(Question("text"), 10)
