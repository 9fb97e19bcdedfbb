"""The search as a LangChain retriever: the library's own standard tests, and what its documents say."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from lore import LoreRetriever
from lore.errors import StoreError
from lore.query.pipeline import Pipeline

from tests.fakes import FakeEmbedder
from tests.query.fakes import MemoryIndex, make_chunk, pipeline_over
from tests.query.test_tool import CHUNKS

MORE = [make_chunk(f"more-{number}", f"Rotate the API key number {number}.") for number in range(4)]


def pipeline(failing: StoreError | None = None) -> Pipeline:
    embedder = FakeEmbedder(dimensions=512)
    return pipeline_over(MemoryIndex([*CHUNKS, *MORE], embedder, failing), embedder)


class TestStandard(RetrieversIntegrationTests):
    """The tests that every retriever of LangChain should pass."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return LoreRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"pipeline": pipeline()}

    @property
    def retriever_query_example(self) -> str:
        return "rotate the API key"


def test_a_document_says_where_its_passage_is_from() -> None:
    first, second = LoreRetriever(pipeline=pipeline(), k=2).invoke("rotate the API key under Settings")
    assert first.page_content == "Rotate the API key under Settings."
    assert (first.id, first.metadata["source"]) == ("chunk-keys", "https://docs.example.com/keys")
    assert (first.metadata["title"], first.metadata["section"]) == ("Page keys", "Keys")
    assert datetime.fromisoformat(first.metadata["updated_at"]) == datetime(2026, 1, 31, tzinfo=UTC)
    assert first.metadata["similarity"] > second.metadata["similarity"]


def test_it_reads_as_its_audiences_in_its_sources() -> None:
    def sources(**options: Any) -> set[str]:
        retriever = LoreRetriever(pipeline=pipeline(), **options)
        found = asyncio.run(retriever.ainvoke("the API key of the board and of the wiki"))
        return {document.metadata["source_id"] for document in found}

    assert sources() == {"docs", "wiki"}
    assert sources(sources=("wiki",)) == {"wiki"}
    assert sources(audiences=("board",)) == {"safe"}


def test_an_error_of_the_search_reaches_the_chain() -> None:
    with pytest.raises(StoreError, match="locked"):
        LoreRetriever(pipeline=pipeline(StoreError("The index is locked."))).invoke("key")
