"""Cohere with the local reranker as fallback: failing, slow, over budget, down for a while."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest
from lore.models.breaker import CircuitBreaker
from lore.models.cohere import CohereReranker
from lore.models.fallback import RerankerChain
from lore.models.prices import load_prices
from lore.protocols import FallbackReranker
from lore.types import Hit, Usage

from tests.models.hits import make_hit
from tests.servers.model_apis.cohere import CohereServer, Fault, error

HITS = [make_hit("cats", "All about cats."), make_hit("keys", "How to rotate a key.")]


class Second:
    """Keeps the order."""

    name = "fake:second"

    def rerank(self, query: str, hits: list[Hit], limit: int) -> list[Hit]:
        return list(hits[:limit])


@pytest.fixture
def server() -> Iterator[CohereServer]:
    with CohereServer() as running:
        yield running


def make(server: CohereServer, **options: Any) -> RerankerChain:
    values = {"api_key": "k", "base_url": server.base_url, "timeout": 5.0, "max_retries": 0, "prices": load_prices()}
    return RerankerChain(CohereReranker("rerank-v4.0-pro", **(values | options)), Second())


def test_the_first_orders_while_it_works_and_tells_its_cost(server: CohereServer) -> None:
    told: list[Usage] = []
    ranking = make(server).rank("rotate key", HITS, 2, on_usage=told.append)
    assert [hit.chunk.document_id for hit in ranking.hits] == ["fake:keys", "fake:cats"]
    assert (ranking.reranker, ranking.notes) == ("cohere:rerank-v4.0-pro", ())
    assert told == [Usage("cohere:rerank-v4.0-pro", cost=0.0025)]


def test_the_searches_that_the_service_counted_are_paid(server: CohereServer) -> None:
    told: list[Usage] = []
    billed = {"billed_units": {"search_units": 3}}
    server.faults.append(Fault(change=lambda payload: payload["meta"].update(billed)))
    make(server).rank("rotate key", HITS, 2, on_usage=told.append)
    assert told[0].cost == pytest.approx(0.0075)


@pytest.mark.parametrize("fault", [error(500, "oops"), error(401, "no"), error(429, "slow down"), Fault(cut=True)])
def test_the_second_takes_its_place_and_it_is_said(server: CohereServer, fault: Fault) -> None:
    server.faults.append(fault)
    ranking = make(server).rank("rotate key", HITS, 2)
    assert [hit.chunk.document_id for hit in ranking.hits] == ["fake:cats", "fake:keys"]
    assert ranking.reranker == "fake:second"
    assert ranking.notes[0].startswith("The passages were ordered by fake:second, because cohere:rerank-v4.0-pro")


def test_a_slow_one_is_waited_for_as_long_as_its_deadline(server: CohereServer) -> None:
    late = Event()
    server.faults.append(Fault(change=lambda _: late.wait(5)))
    ranking = make(server, timeout=0.05).rank("rotate key", HITS, 2)
    late.set()
    assert ranking.reranker == "fake:second"
    assert "took over 0.05 s. Raise LORE_RERANKER_TIMEOUT_SECONDS" in ranking.notes[0]


def test_what_may_not_be_paid_for_is_not_asked(server: CohereServer) -> None:
    ranking = make(server).rank("rotate key", HITS, 2, refusal="Too dear.")
    assert (ranking.reranker, ranking.notes) == ("fake:second", ("Too dear.",))
    assert server.requests == []


def test_a_dead_one_is_left_alone_and_tried_again_later(server: CohereServer) -> None:
    now = [0.0]
    chain = make(server, breaker=CircuitBreaker(failures=2, pause=30, clock=lambda: now[0]))
    server.faults.extend([error(503, "down")] * 3)
    for _ in range(5):
        assert chain.rank("rotate key", HITS, 2).reranker == "fake:second"
    assert len(server.requests) == 2
    now[0] = 30.0  # one call tries, and fails
    assert "HTTP 503" in chain.rank("rotate key", HITS, 2).notes[0]
    assert "was not called" in chain.rank("rotate key", HITS, 2).notes[0]
    assert len(server.requests) == 3
    now[0] = 60.0
    assert chain.rank("rotate key", HITS, 2).reranker == "cohere:rerank-v4.0-pro"
    assert chain.rank("rotate key", HITS, 2).reranker == "cohere:rerank-v4.0-pro"


def test_it_is_a_reranker_like_any_other(server: CohereServer) -> None:
    chain = make(server)
    assert isinstance(chain, FallbackReranker)
    assert [hit.chunk.document_id for hit in chain.rerank("rotate key", HITS, 1)] == ["fake:keys"]
