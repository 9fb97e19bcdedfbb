"""Queries as messages of Weaviate's gRPC protocol, over a private method of weaviate-client. All private use is here.

The client's query methods create a Python object for every value of every hit, under the interpreter's lock. At 10,000
chunks, four runs of each in turns on two busy cores, a question took 41 ms of processor time (14 in this process) with
messages and 52 ms (23) through the methods, and a p50 of 44 instead of 58 ms. The protocol is published
(https://docs.weaviate.io/weaviate/api/grpc); the client's connection adds its keys, timeout, retries and errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from lore.stores.weaviate.collections.schema import VECTOR_NAME
from lore.stores.weaviate.search.queries import ChunkQuery, PassageContent, Ranking

if TYPE_CHECKING:
    from lore.stores.weaviate.objects.batches import Collection
    from lore.types import Vector

Message: TypeAlias = Any
"""A protobuf message; the installed protobuf determines its class."""

TESTED_CLIENT = "4.24."
"""The client versions whose private method is known to work; any other gets `ClientQueries`."""


def is_supported(chunks: Collection, client_version: str) -> bool:
    """True if this client sends messages as expected here."""
    return client_version.startswith(TESTED_CLIENT) and hasattr(getattr(chunks, "_connection", None), "grpc_search")


class MessageQueries:
    """Queries of a collection for which `is_supported` returns True."""

    def __init__(self, chunks: Collection) -> None:
        self._chunks = chunks

    def rank(self, query: ChunkQuery) -> Ranking:
        """See `Queries.rank`. Asks for ids and scores only: for anything else the server decodes whole objects."""
        from weaviate.proto.v1 import base_search_pb2, search_get_pb2

        search: dict[str, Message]
        if query.vector is None:
            search = {"bm25_search": base_search_pb2.BM25(query=query.words, properties=query.fields)}
        elif not query.words:
            search = {"near_vector": _near(query.vector)}
        else:
            hybrid = base_search_pb2.Hybrid(
                query=query.words,
                properties=query.fields,
                near_vector=_near(query.vector),
                targets=_targets(),
                alpha=query.alpha,
                fusion_type=base_search_pb2.Hybrid.FUSION_TYPE_RELATIVE_SCORE,
            )
            search = {"hybrid_search": hybrid}
        metadata = search_get_pb2.MetadataRequest(uuid=True, score=True, explain_score="hybrid_search" in search)
        properties = search_get_pb2.PropertiesRequest()
        ranking = Ranking()
        for result in self._send(query.limit, _filters(query), properties=properties, metadata=metadata, **search):
            ranking.ids.append(result.metadata.id)
            ranking.scores.append(result.metadata.score)
            ranking.explanations.append(result.metadata.explain_score)
        return ranking

    def read(self, ids: Sequence[str]) -> list[PassageContent]:
        """See `Queries.read`."""
        from weaviate.proto.v1 import search_get_pb2

        properties = search_get_pb2.PropertiesRequest(non_ref_properties=["payload"])
        metadata = search_get_pb2.MetadataRequest(uuid=True, vectors=[VECTOR_NAME])
        contents = []
        for result in self._send(len(ids), _any_of("_id", ids), properties=properties, metadata=metadata):
            payload = result.properties.non_ref_props.fields["payload"].text_value
            vectors = result.metadata.vectors
            contents.append(PassageContent(result.metadata.id, payload, vectors[0].vector_bytes if vectors else b""))
        return contents

    def _send(self, limit: int, filters: Message, **parts: Message) -> Sequence[Message]:
        from weaviate.proto.v1 import search_get_pb2

        level = self._chunks.consistency_level
        request = search_get_pb2.SearchRequest(
            collection=self._chunks.name,
            consistency_level=None if level is None else f"CONSISTENCY_LEVEL_{level.value}",
            limit=limit,
            filters=filters,
            uses_123_api=True,  # the reply formats since these server versions, which the client asks for too
            uses_125_api=True,
            uses_127_api=True,
            **parts,
        )
        results: Sequence[Message] = self._chunks._connection.grpc_search(request).results
        return results


def _filters(query: ChunkQuery) -> Message:
    from weaviate.proto.v1 import base_pb2

    conditions = [_any_of(name, values) for name, values in query.filters.items()]
    if len(conditions) == 1:
        return conditions[0]
    return base_pb2.Filters(operator=base_pb2.Filters.OPERATOR_AND, filters=conditions)


def _any_of(name: str, values: Sequence[str]) -> Message:
    from weaviate.proto.v1 import base_pb2

    return base_pb2.Filters(
        operator=base_pb2.Filters.OPERATOR_CONTAINS_ANY,
        target=base_pb2.FilterTarget(property=name),
        value_text_array=base_pb2.TextArray(values=values),
    )


def _near(vector: Vector) -> Message:
    from weaviate.proto.v1 import base_pb2, base_search_pb2

    single = base_pb2.Vectors(
        name=VECTOR_NAME,
        vector_bytes=vector.astype("<f4").tobytes(),
        type=base_pb2.Vectors.VECTOR_TYPE_SINGLE_FP32,
    )
    target = base_search_pb2.VectorForTarget(name=VECTOR_NAME, vectors=[single])
    return base_search_pb2.NearVector(vector_for_targets=[target], targets=_targets())


def _targets() -> Message:
    from weaviate.proto.v1 import base_search_pb2

    return base_search_pb2.Targets(target_vectors=[VECTOR_NAME])
