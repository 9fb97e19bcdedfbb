"""Weaviate's search call in the server's own protocol: what is asked, and what comes back without an object per value.

The client's `query` methods make a Python object of every value of every hit, one after the other under the
interpreter's lock, which costs four times what the messages themselves cost to read. So the messages are built and read
here. They are the server's published protocol (https://docs.weaviate.io/weaviate/api/grpc), as the client ships it. The
call goes over the client's own connection, with its keys, timeout, retries and errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lore.errors import ConfigurationError
from lore.stores.weaviate.schema import VECTOR_NAME

if TYPE_CHECKING:
    from lore.stores.weaviate.collections import Collection
    from lore.types import Vector

Message: TypeAlias = Any
"""A protobuf message; its class is chosen at import by the protobuf that is installed."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The ids of what a search finds, best first.

    `scores` are 0 where the search gives none, and `explanations` "" where none was asked for.
    """

    ids: list[str]
    scores: list[float]
    explanations: list[str]


class Content(NamedTuple):
    """What an object holds; the vector is little-endian float32, and empty where there is none."""

    id: str
    payload: str
    vector_bytes: bytes


def one_of(name: str, values: Iterable[str]) -> Message:
    """The condition that a property holds one of the values."""
    from weaviate.proto.v1 import base_pb2

    return base_pb2.Filters(
        operator=base_pb2.Filters.OPERATOR_CONTAINS_ANY,
        target=base_pb2.FilterTarget(property=name),
        value_text_array=base_pb2.TextArray(values=values),
    )


def all_of(conditions: Sequence[Message]) -> Message:
    """The condition that all of the conditions hold."""
    from weaviate.proto.v1 import base_pb2

    if len(conditions) == 1:
        return conditions[0]
    return base_pb2.Filters(operator=base_pb2.Filters.OPERATOR_AND, filters=conditions)


def by_keyword(chunks: Collection, words: str, fields: Sequence[str], limit: int, where: Message) -> Ranked:
    """The best chunks by BM25 over these fields."""
    from weaviate.proto.v1 import base_search_pb2

    search = base_search_pb2.BM25(query=words, properties=fields)
    return _rank(chunks, limit, where, bm25_search=search)


def by_vector(chunks: Collection, vector: Vector, limit: int, where: Message) -> Ranked:
    """The chunks nearest to the vector, without scores."""
    return _rank(chunks, limit, where, near_vector=_near(vector))


def by_both(
    chunks: Collection, words: str, fields: Sequence[str], vector: Vector, alpha: float, limit: int, where: Message
) -> Ranked:
    """The best chunks by both, fused by relative score, with the server's explanation of each score."""
    from weaviate.proto.v1 import base_search_pb2

    search = base_search_pb2.Hybrid(
        query=words,
        properties=fields,
        near_vector=_near(vector),
        targets=_targets(),
        alpha=alpha,
        fusion_type=base_search_pb2.Hybrid.FUSION_TYPE_RELATIVE_SCORE,
    )
    return _rank(chunks, limit, where, explain=True, hybrid_search=search)


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


def contents(chunks: Collection, ids: Sequence[str]) -> list[Content]:
    """What the objects of these ids hold, but for those that are not there, in no particular order."""
    from weaviate.proto.v1 import search_get_pb2

    properties = search_get_pb2.PropertiesRequest(non_ref_properties=["payload"])
    metadata = search_get_pb2.MetadataRequest(uuid=True, vectors=[VECTOR_NAME])
    found = []
    for result in _send(chunks, len(ids), one_of("_id", ids), properties=properties, metadata=metadata):
        held = result.metadata
        payload = result.properties.non_ref_props.fields["payload"].text_value
        found.append(Content(held.id, payload, held.vectors[0].vector_bytes if held.vectors else b""))
    return found


def _rank(chunks: Collection, limit: int, where: Message, *, explain: bool = False, **search: Message) -> Ranked:
    """Ask for ids and scores alone: to give anything else the server would decode all of an object for each ranking."""
    from weaviate.proto.v1 import search_get_pb2

    nothing = search_get_pb2.PropertiesRequest()
    metadata = search_get_pb2.MetadataRequest(uuid=True, score=True, explain_score=explain)
    ranked = Ranked([], [], [])
    for result in _send(chunks, limit, where, properties=nothing, metadata=metadata, **search):
        held = result.metadata
        ranked.ids.append(held.id)
        ranked.scores.append(held.score)
        ranked.explanations.append(held.explain_score)
    return ranked


def _send(chunks: Collection, limit: int, where: Message, **asked: Message) -> Sequence[Message]:
    from weaviate.proto.v1 import search_get_pb2

    level = chunks.consistency_level
    request = search_get_pb2.SearchRequest(
        collection=chunks.name,
        consistency_level=None if level is None else f"CONSISTENCY_LEVEL_{level.value}",
        limit=limit,
        filters=where,
        uses_123_api=True,  # the shapes that replies have had since these versions, as the client asks for them
        uses_125_api=True,
        uses_127_api=True,
        **asked,
    )
    results: Sequence[Message] = _caller(chunks)(request).results
    return results


def _caller(chunks: Collection) -> Any:
    """The client's call for a search message: not among its documented methods, so its absence is named."""
    try:
        return chunks._connection.grpc_search
    except AttributeError:
        import weaviate

        raise ConfigurationError(
            f"weaviate-client {weaviate.__version__} sends searches in another way than the one Lore was made for.",
            remedy="Install the version of weaviate-client that requirements.txt names.",
        ) from None
