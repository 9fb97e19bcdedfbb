"""A query of the chunks of one version, and its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from lore.types import Vector


@dataclass(frozen=True, slots=True)
class ChunkQuery:
    """A keyword search without `vector`, a vector search without `words`, a hybrid search with both.

    `words` are stems, looked up in the properties `fields`. `alpha` weighs the vector in a hybrid search. Each property
    in `filters` must hold one of its values.
    """

    words: str
    fields: Sequence[str]
    vector: Vector | None
    alpha: float
    limit: int
    filters: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The object ids of the best chunks, best first.

    `scores` are 0 for a vector search, and `explanations` "" except for a hybrid search.
    """

    ids: list[str] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    explanations: list[str] = field(default_factory=list)


class PassageContent(NamedTuple):
    """The content of an object; the vector is little-endian float32, empty for an object without one."""

    id: str
    payload: str
    vector_bytes: bytes


class Queries(Protocol):
    """The queries that a search makes of one collection. Both raise the client's errors."""

    def rank(self, query: ChunkQuery) -> Ranking:
        """The best chunks by the server's BM25, vectors, or their relative score fusion."""
        ...

    def read(self, ids: Sequence[str]) -> list[PassageContent]:
        """The contents of the existing objects with these ids, in any order."""
        ...
