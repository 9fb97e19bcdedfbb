"""A fake collection that records messages and replies like the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from lore.stores.values import chunk_values
from lore.stores.weaviate.collections.schema import VECTOR_NAME
from lore.stores.weaviate.search.hybrid import search
from lore.stores.weaviate.search.message_queries import MessageQueries
from lore.stores.weaviate.search.passages import WeaviatePassages
from lore.types import PUBLIC, Hit
from weaviate.classes.config import ConsistencyLevel
from weaviate.proto.v1 import search_get_pb2

from tests.contracts.store import make_entry

VECTOR = np.array([0.6, 0.8], dtype=np.float32)


@dataclass
class Recorder:
    """Records the messages that it receives and returns prepared results for every search."""

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
        """The ids of each read."""
        return [ids for request in self.asked if (ids := ids_read(request))]


def ids_read(request: Any) -> list[str]:
    """The ids of the passages that a message reads; none for a search."""
    where = request.filters
    return list(where.value_text_array.values) if where.target.property == "_id" else []


def asked(text: str, vector: np.ndarray | None, alpha: float, **changes: Any) -> Any:
    """The message that a search sends."""
    recorder = Recorder()
    assert recorder.search(text, vector, alpha=alpha, **{"limit": 100, **changes}) == []
    (request,) = recorder.asked
    return request


def result(name: str, score: float, explained: str = "", audiences: Sequence[str] = (PUBLIC,)) -> Any:
    """A hit as the server returns it."""
    (chunk,) = make_entry(name, ["text"], audiences=tuple(audiences)).chunks
    found = search_get_pb2.SearchResult()
    payload = chunk_values(replace(chunk, id=name))["payload"]
    found.properties.non_ref_props.fields["payload"].text_value = payload
    found.metadata.id = name
    found.metadata.score, found.metadata.explain_score = score, explained
    vector = np.array([0.8, 0.6], dtype=np.float32).tobytes()
    found.metadata.vectors.add(name=VECTOR_NAME, vector_bytes=vector)
    return found
