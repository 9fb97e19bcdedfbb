"""Which store the settings choose, and what they hand to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from include.lore.errors import ConfigurationError
from include.lore.settings import load_settings
from include.lore.stores.lancedb import LanceStore
from include.lore.wiring import open_store, weaviate_server
from tests.fakes import FakeEmbedder


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
