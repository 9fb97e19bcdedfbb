"""Which store the settings choose, and what they hand to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore.errors import ConfigurationError
from lore.settings import load_settings
from lore.stores.lancedb.store import LanceStore
from lore.types import Message
from lore.wiring.models import make_chat_model, make_reranker
from lore.wiring.stores import open_store, weaviate_server

from tests.fakes import FakeEmbedder
from tests.servers.model_apis.openai import OpenAIServer


def test_the_index_is_a_folder_unless_a_server_is_set(tmp_path: Path) -> None:
    settings = load_settings({"LORE_INDEX_URI": str(tmp_path / "index")})
    assert isinstance(open_store(settings, FakeEmbedder()), LanceStore)


def test_a_server_that_is_not_named_is_an_error_that_names_the_setting() -> None:
    with pytest.raises(ConfigurationError, match="LORE_WEAVIATE_URL"):
        open_store(load_settings({"LORE_STORE": "weaviate"}), FakeEmbedder())


def test_the_server_is_what_the_settings_say() -> None:
    server = weaviate_server(
        load_settings(
            {
                "LORE_WEAVIATE_URL": "https://weaviate.example.com",
                "LORE_WEAVIATE_GRPC_HOST": "grpc.example.com",
                "LORE_WEAVIATE_GRPC_PORT": "443",
                "LORE_WEAVIATE_API_KEY": "the-secret-key",
                "LORE_WEAVIATE_HEADERS": '{"X-Team": "docs"}',
                "LORE_TIMEOUT_SECONDS": "7",
            }
        )
    )
    assert (server.url, server.grpc_host, server.grpc_port) == ("https://weaviate.example.com", "grpc.example.com", 443)
    assert (server.api_key, server.headers, server.timeout) == ("the-secret-key", {"X-Team": "docs"}, 7.0)
    assert "the-secret-key" not in repr(server)


@pytest.mark.parametrize("headers", ["X-Team: docs", '["X-Team"]', '{"X-Team": 1}'])
def test_headers_that_are_no_object_of_texts_are_refused_and_not_repeated(headers: str) -> None:
    settings = load_settings({"LORE_WEAVIATE_URL": "http://localhost:8080", "LORE_WEAVIATE_HEADERS": headers})
    with pytest.raises(ConfigurationError, match="LORE_WEAVIATE_HEADERS") as caught:
        weaviate_server(settings)
    assert "X-Team" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("LORE_STORE", "milvus"), ("LORE_WEAVIATE_PREFIX", "lower"), ("LORE_WEAVIATE_QUANTIZATION", "pq")],
)
def test_values_that_do_not_fit_are_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        load_settings({name: value})


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        ({"LORE_OPENAI_API_KEY": "openai-key", "LORE_OPENAI_BASE_URL": "URL"}, "Bearer openai-key"),
        ({"OPENAI_API_KEY": "openai-key", "LORE_OPENAI_BASE_URL": "URL"}, "Bearer openai-key"),
        ({"LORE_OPENAI_API_KEY": "openai-key", "LORE_CHAT_BASE_URL": "URL"}, "Bearer none"),
        (
            {"LORE_OPENAI_API_KEY": "openai-key", "LORE_CHAT_BASE_URL": "URL", "LORE_CHAT_API_KEY": "chat-key"},
            "Bearer chat-key",
        ),
        ({"LORE_OPENAI_BASE_URL": "URL", "LORE_CHAT_API_KEY": "chat-key"}, "Bearer chat-key"),
    ],
)
def test_a_key_goes_to_the_server_that_it_is_set_for(environ: dict[str, str], sent: str) -> None:
    with OpenAIServer(["Yes."]) as server:
        values = {name: server.base_url if value == "URL" else value for name, value in environ.items()}
        chat_model = make_chat_model(load_settings({"LORE_CHAT_MODEL": "openai:tiny"} | values))
        assert chat_model is not None
        assert "".join(chat_model.stream([Message("user", "Well?")])) == "Yes."
        headers = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert headers["authorization"] == sent


@pytest.mark.parametrize(
    ("environ", "parts"),
    [
        ({}, ["local:minilm-bm25"]),
        ({"LORE_RERANKER": "local", "COHERE_API_KEY": "k"}, ["local:minilm-bm25"]),
        ({"COHERE_API_KEY": "k"}, ["cohere:rerank-v4.0-pro", "local:minilm-bm25"]),
        ({"LORE_RERANKER": "cohere:rerank-v3.5", "COHERE_API_KEY": "k"}, ["cohere:rerank-v3.5", "local:minilm-bm25"]),
    ],
)
def test_the_local_reranker_is_behind_cohere(environ: dict[str, str], parts: list[str]) -> None:
    reranker = make_reranker(load_settings(environ), FakeEmbedder())
    assert reranker is not None
    assert [part.name for part in getattr(reranker, "parts", (reranker,))] == parts


def test_a_reranker_may_be_none_and_must_be_known() -> None:
    assert make_reranker(load_settings({"LORE_RERANKER": "none"}), FakeEmbedder()) is None
    for name in ("cohere", "local:x", "cohere:", "fastembed:", "other:model", "none:x"):
        with pytest.raises(ConfigurationError, match="Unknown reranker"):
            make_reranker(load_settings({"LORE_RERANKER": name, "COHERE_API_KEY": "k"}), FakeEmbedder())
