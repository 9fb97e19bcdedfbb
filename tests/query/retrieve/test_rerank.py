"""Reranking with and without a reranker, a budget and failures."""

from __future__ import annotations

from collections.abc import Sequence

from lore.errors import ModelError
from lore.query.deadlines import TimeLimit
from lore.query.retrieve.rerank import rerank
from lore.types import Hit, Reranking

from tests.models.hits import make_hit

TIME = TimeLimit(5, "LORE_RERANK_SECONDS")
HITS = [make_hit("a", "first"), make_hit("b", "second"), make_hit("c", "third")]


class Backwards:
    name = "fake:backwards"

    def __init__(self, fails: bool = False) -> None:
        self._fails = fails

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        if self._fails:
            raise ModelError("It is tired.")
        return list(reversed(hits))


class Chain(Backwards):
    parts = ()

    def rank(
        self, query: str, hits: Sequence[Hit], limit: int, *, refusal: str = "", on_usage: object = None
    ) -> Reranking:
        return Reranking(tuple(hits), "fake:second", (refusal,))


def names(ranking: Reranking) -> list[str]:
    return [hit.chunk.document_id for hit in ranking.hits]


def test_the_reranker_orders_and_is_named() -> None:
    ranking = rerank(Backwards(), "q", HITS, 2, time=TIME)
    assert names(ranking) == ["fake:c", "fake:b"]
    assert (ranking.reranker, ranking.notes) == ("fake:backwards", ())


def test_without_a_reranker_the_search_orders() -> None:
    assert names(rerank(None, "q", HITS, 2, time=TIME)) == ["fake:a", "fake:b"]
    assert rerank(Backwards(), "q", [], 2, time=TIME) == Reranking((), "")


def test_a_reranker_that_fails_is_done_without_and_said() -> None:
    ranking = rerank(Backwards(fails=True), "q", HITS, 2, time=TIME)
    assert names(ranking) == ["fake:a", "fake:b"]
    assert ranking.reranker == ""
    assert "tired" in ranking.notes[0]


def test_what_may_not_be_paid_for_is_not_asked() -> None:
    assert rerank(Backwards(), "q", HITS, 2, time=TIME, refusal="Too dear.") == Reranking(
        tuple(HITS[:2]), "", ("Too dear.",)
    )
    ranking = rerank(Chain(), "q", HITS, 2, time=TIME, refusal="Too dear.")
    assert (ranking.reranker, ranking.notes, len(ranking.hits)) == ("fake:second", ("Too dear.",), 2)
