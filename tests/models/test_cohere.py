"""Cohere's reranker against a small server in its wire format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lore.errors import ConfigurationError, ModelError
from lore.models.cohere import CohereReranker
from lore.models.prices import load_prices
from lore.types import Hit, Usage

from tests.models.hits import make_hit
from tests.servers.model_apis.cohere import CohereServer, Fault, error

KEY = "co-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[CohereServer]:
    with CohereServer() as running:
        yield running


def make(server: CohereServer, **options: Any) -> CohereReranker:
    values = {"api_key": KEY, "base_url": server.base_url, "timeout": 5.0, "max_retries": 0}
    return CohereReranker("rerank-v4.0-pro", **(values | options))


@pytest.fixture
def hits() -> list[Hit]:
    return [make_hit("cats", "All about cats."), make_hit("keys", "How to rotate a key."), make_hit("odd", "\ud800")]


def test_passages_come_best_first_with_the_service_score(server: CohereServer, hits: list[Hit]) -> None:
    best = make(server).rerank("rotate key", hits, 2)
    assert [hit.chunk.document_id for hit in best] == ["fake:keys", "fake:cats"]
    assert [hit.score for hit in best] == [1.0, 0.0]
    (request,) = (call.body for call in server.requests)
    assert request["top_n"] == 2
    assert request["model"] == "rerank-v4.0-pro"
    assert request["documents"][1] == hits[1].chunk.passage


def test_nothing_to_rank_asks_nothing(server: CohereServer, hits: list[Hit]) -> None:
    assert make(server).rerank("x", [], 8) == []
    assert make(server).rerank("x", hits, 0) == []
    assert server.requests == []


def test_passages_and_query_are_bounded(server: CohereServer) -> None:
    hits = [make_hit(f"page{number}", "word " * 100_000) for number in range(3)]
    make(server).rerank("long " * 100_000, hits, 8)
    (request,) = (call.body for call in server.requests)
    assert len(request["query"]) < 10_000
    assert all(len(text) < 10_000 for text in request["documents"])
    assert request["top_n"] == 3


def test_more_hits_than_a_call_takes(server: CohereServer) -> None:
    hits = [make_hit(f"page{number}", "text") for number in range(1002)]
    assert len(make(server).rerank("x", hits, 1002)) == 1000


def first(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda payload: payload["results"][0].update(changes)


@pytest.mark.parametrize(
    "change",
    [
        first(index=3),
        first(index=-1),
        first(index="0"),
        first(index=0),
        first(relevance_score=float("nan")),
        first(relevance_score="high"),
        lambda payload: payload.update(results=[]),
        lambda payload: payload["results"].pop(),
        lambda payload: payload.pop("results"),
        lambda payload: payload["results"][0].pop("index"),
    ],
)
def test_a_ranking_that_does_not_fit_is_refused(
    server: CohereServer, hits: list[Hit], change: Callable[[dict[str, Any]], None]
) -> None:
    server.faults.append(Fault(change=change))
    with pytest.raises(ModelError, match="cohere:rerank"):
        make(server).rerank("rotate key", hits, 8)


@pytest.mark.parametrize(
    ("fault", "says", "retryable"),
    [
        (error(401, f"invalid api token {KEY}"), "rejected the key", False),
        (error(404, "model not found"), "was not found", False),
        (error(400, f"bad {KEY}"), "rejected the request", False),
        (error(429, "trial key limit"), "rate limit", True),
        (error(500, "oops"), "HTTP 500", True),
        (Fault(body=b'{"results": ['), "cohere", True),
        (Fault(cut=True), "could not be reached", True),
    ],
)
def test_failures_say_what_to_do_and_never_the_key(
    server: CohereServer, hits: list[Hit], fault: Fault, says: str, retryable: bool
) -> None:
    server.faults.append(fault)
    with pytest.raises(ModelError, match=says) as raised:
        make(server).rerank("rotate key", hits, 8)
    assert raised.value.retryable is retryable
    assert KEY not in repr(raised.value) + str(raised.value)
    assert raised.value.__cause__ is None


def test_a_failure_that_passes_is_tried_again(server: CohereServer, hits: list[Hit]) -> None:
    server.faults.extend([error(429, "slow down", Retry_After_Ms="5"), error(503, "busy", Retry_After_Ms="5")])
    assert len(make(server, max_retries=2).rerank("rotate key", hits, 8)) == 3
    assert len(server.requests) == 3


def test_without_a_key_only_a_server_of_ones_own(server: CohereServer, hits: list[Hit]) -> None:
    with pytest.raises(ConfigurationError, match=r"Set COHERE_API_KEY \(or LORE_COHERE_API_KEY\)"):
        make(server, api_key=None, base_url=None)
    assert len(make(server, api_key=None).rerank("x", hits, 1)) == 1


@pytest.mark.parametrize("said", [-5, float("nan"), float("inf"), 1e30, "many", None])
def test_a_bill_that_cannot_be_is_made_by_the_rule(server: CohereServer, said: object) -> None:
    def bill(payload: dict[str, Any]) -> None:
        payload["meta"]["billed_units"] = {"search_units": said}

    told: list[Usage] = []
    server.faults.append(Fault(change=bill))
    reranker = make(server, prices=load_prices())
    reranker.rerank(
        "rotate key", [make_hit("a", "Rotate the key."), make_hit("b", "Bananas.")], 2, on_usage=told.append
    )
    assert [usage.cost for usage in told] == [load_prices().search_cost("cohere:rerank-v4.0-pro", 1)]
