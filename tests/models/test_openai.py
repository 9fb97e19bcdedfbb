"""OpenAI embeddings against a small server in its wire format, with faults."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from lore.errors import ConfigurationError, ModelError
from lore.models.openai import OpenAIEmbedder
from lore.models.prices import load_prices
from lore.protocols import Embedder
from lore.types import Usage

from tests.contracts.embedder import EmbedderContract
from tests.servers.model_apis.openai import Fault, OpenAIServer, embedding_of, error

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def make(server: OpenAIServer, model: str = "my-model", **options: Any) -> OpenAIEmbedder:
    values = {"api_key": KEY, "base_url": server.base_url, "dimensions": None, "timeout": 5.0, "max_retries": 2}
    return OpenAIEmbedder(model, **(values | options))


class TestOpenAIEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self, server: OpenAIServer) -> Embedder:
        return make(server)


def expected(text: str, size: int) -> np.ndarray:
    vector = np.array(embedding_of(text, size))
    return vector / np.linalg.norm(vector)


def test_nothing_is_asked_before_the_first_text(server: OpenAIServer) -> None:
    assert make(server, "text-embedding-3-small").dimensions == 1536
    assert make(server, "text-embedding-3-large").max_tokens == 8191
    assert server.requests == []


def test_dimensions_of_an_unknown_model_are_asked_once(server: OpenAIServer) -> None:
    embedder = make(server)
    assert (embedder.dimensions, embedder.dimensions) == (8, 8)
    assert len(server.requests) == 1


def test_shortened_embeddings_are_another_space(server: OpenAIServer) -> None:
    embedder = make(server, "text-embedding-3-large", dimensions=256)
    assert embedder.name == "openai:text-embedding-3-large@256"
    assert embedder.embed_query("x").shape == (256,)
    assert server.requests[0].body["dimensions"] == 256
    assert make(server, "text-embedding-3-large", dimensions=3072).name == "openai:text-embedding-3-large"


def test_requests_stay_within_the_limits_and_rows_in_order(server: OpenAIServer) -> None:
    texts = [f"{number} " + "w" * 4000 for number in range(130)]
    vectors = make(server, "text-embedding-3-small").embed_documents(texts)
    sizes = [len(request.body["input"]) for request in server.requests]
    assert len(sizes) > 1
    assert max(sizes) <= 128
    assert all(sum(len(text) for text in request.body["input"]) <= 250_000 for request in server.requests)
    np.testing.assert_allclose(vectors[129], expected(texts[129], 1536), atol=1e-6)


def test_a_long_text_is_cut_to_what_the_model_reads(server: OpenAIServer) -> None:
    make(server, "text-embedding-3-small").embed_query("é" * 9000)
    (sent,) = server.requests[0].body["input"]
    assert sent == "é" * (8191 // 2)


def test_vectors_are_put_in_the_order_of_their_index(server: OpenAIServer) -> None:
    embedder = make(server, "text-embedding-3-small")
    server.faults.append(Fault(change=lambda payload: payload["data"].reverse()))
    vectors = embedder.embed_documents(["one", "two", "three"])
    np.testing.assert_allclose(vectors[0], expected("one", 1536), atol=1e-6)


def test_plain_lists_are_read_as_well_as_base64(server: OpenAIServer) -> None:
    def as_lists(payload: dict[str, Any]) -> None:
        payload["data"][0]["embedding"] = embedding_of("one", 1536)

    server.faults.append(Fault(change=as_lists))
    vector = make(server, "text-embedding-3-small").embed_query("one")
    np.testing.assert_allclose(vector, expected("one", 1536), atol=1e-6)


def test_retry_after_is_honoured(server: OpenAIServer) -> None:
    server.faults.append(error(429, "Slow down", Retry_After="0.2"))
    started = time.monotonic()
    make(server, "text-embedding-3-small").embed_query("x")
    assert 0.2 <= time.monotonic() - started < 5
    assert len(server.requests) == 2


def test_retries_are_bounded(server: OpenAIServer) -> None:
    server.faults.extend([error(500, "Oops", Retry_After_Ms="1")] * 9)
    with pytest.raises(ModelError, match="HTTP 500") as raised:
        make(server, "text-embedding-3-small").embed_query("x")
    assert raised.value.retryable
    assert len(server.requests) == 3


def test_a_server_that_asks_for_an_hour_is_not_waited_for(server: OpenAIServer) -> None:
    server.faults.append(error(429, "Come back later", Retry_After="3600"))
    with pytest.raises(ModelError, match="rate limit") as raised:
        make(server, "text-embedding-3-small").embed_query("x")
    assert raised.value.retryable


@pytest.mark.parametrize(
    ("fault", "says", "retryable"),
    [
        (error(401, f"Incorrect API key provided: {KEY}"), "rejected the key", False),
        (error(403, f"{KEY} may not"), "rejected the key", False),
        (error(404, "The model does not exist"), "was not found", False),
        (error(400, f"Bad request of {KEY}"), "rejected the request", False),
        (error(429, "You exceeded your quota", "insufficient_quota", Retry_After_Ms="1"), "quota", False),
        (Fault(body=b'{"data": [{"index": 0, "emb'), "unreadable", True),
        (Fault(body=b"<html>Bad gateway</html>", headers={"Content-Type": "text/html"}), "unreadable", True),
        (Fault(body=b'{"data": null}'), "unreadable", True),
        (Fault(cut=True), "could not be reached", True),
    ],
)
def test_failures_say_what_to_do_and_never_the_key(
    server: OpenAIServer, fault: Fault, says: str, retryable: bool
) -> None:
    server.faults.extend([fault] * 3)
    with pytest.raises(ModelError, match=says) as raised:
        make(server, "text-embedding-3-small", max_retries=0).embed_query("x")
    assert raised.value.retryable is retryable
    assert KEY not in repr(raised.value) + str(raised.value)
    assert raised.value.__cause__ is None


def drop_one(payload: dict[str, Any]) -> None:
    payload["data"].pop()


def repeat_one(payload: dict[str, Any]) -> None:
    payload["data"][1]["index"] = 0


def shorten_one(payload: dict[str, Any]) -> None:
    payload["data"][1]["embedding"] = [1.0, 2.0]


def shorten_all(payload: dict[str, Any]) -> None:
    for item in payload["data"]:
        item["embedding"] = [1.0, 2.0]


def spoil(value: float) -> Callable[[dict[str, Any]], None]:
    def change(payload: dict[str, Any]) -> None:
        payload["data"][1]["embedding"] = [value] * 1536

    return change


@pytest.mark.parametrize(
    "change",
    [drop_one, repeat_one, shorten_one, shorten_all, spoil(float("nan")), spoil(float("inf")), spoil(0.0)],
)
def test_answers_that_are_not_the_vectors_asked_for_are_refused(
    server: OpenAIServer, change: Callable[[dict[str, Any]], None]
) -> None:
    server.faults.append(Fault(change=change))
    with pytest.raises(ModelError, match="openai:text-embedding-3-small"):
        make(server, "text-embedding-3-small").embed_documents(["one", "two"])


def test_without_a_key_only_a_server_of_ones_own(server: OpenAIServer) -> None:
    with pytest.raises(ConfigurationError, match=r"Set OPENAI_API_KEY \(or LORE_OPENAI_API_KEY\)"):
        make(server, api_key=None, base_url=None)
    assert make(server, api_key=None).embed_query("x").shape == (8,)


def test_ada_cannot_be_shortened(server: OpenAIServer) -> None:
    with pytest.raises(ConfigurationError, match="LORE_EMBEDDING_DIMENSIONS"):
        make(server, "text-embedding-ada-002", dimensions=256)


def test_nobody_there() -> None:
    gone = OpenAIServer()
    with socket.socket() as taken:  # bound and deaf: nobody else gets the port meanwhile
        taken.bind(("127.0.0.1", 0))
        gone.base_url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        embedder = make(gone, "text-embedding-3-small", max_retries=0)
        with pytest.raises(ModelError, match=r"could not be reached .*Refused") as raised:
            embedder.embed_query("x")
    assert raised.value.retryable


def test_documents_wait_for_a_server_that_asks_to_and_a_question_does_not() -> None:
    with OpenAIServer() as server:
        embedder = make(server, "text-embedding-3-small", timeout=0.6, max_retries=1)
        embedder.embed_query("warm")  # the first call imports
        server.faults.append(error(429, "slow down", Retry_After="0.65"))
        with pytest.raises(ModelError, match="rate limit"):
            embedder.embed_query("how?")
        server.faults.append(error(429, "slow down", Retry_After="0.65"))
        assert embedder.embed_documents(["text"]).shape == (1, 1536)


def test_what_requests_took_is_told() -> None:
    told: list[Usage] = []
    with OpenAIServer() as server:
        embedder = make(server, "text-embedding-3-small", prices=load_prices(), on_usage=told.append)
        embedder.embed_documents(["two words"] * 130)
    assert [usage.input_tokens for usage in told] == [256, 4]
    assert told[0] == Usage("openai:text-embedding-3-small", "", 256, None, pytest.approx(256 * 0.02 / 1e6))
