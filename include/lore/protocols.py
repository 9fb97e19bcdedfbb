"""Protocols: the methods that each part calls on its neighbours, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar, runtime_checkable

from lore.types import (
    PUBLIC,
    Answer,
    Batch,
    Chunk,
    Counts,
    Cursor,
    Document,
    DocumentInfo,
    EmbeddedDocument,
    Hit,
    IndexVersion,
    Message,
    Recipe,
    Reranking,
    SourceState,
    Usage,
)

if TYPE_CHECKING:
    from lore.types import Matrix, Vector

Schema = TypeVar("Schema")

OnUsage: TypeAlias = Callable[[Usage], None]
"""Receives the usage of every model call that returned, even if it failed in the end; `stage` is empty."""

__all__ = [
    "ChatModel",
    "Embedder",
    "FallbackReranker",
    "Index",
    "Listable",
    "OnUsage",
    "Prices",
    "Recorder",
    "Reranker",
    "Rereadable",
    "Source",
    "Splitter",
    "Store",
    "Versions",
]


@runtime_checkable
class Source(Protocol):
    """An origin of documents, such as a folder, a site or a repository."""

    @property
    def id(self) -> str: ...

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield the changes since the cursor, or everything if it is None. Raises SourceError."""
        ...


@runtime_checkable
class Listable(Protocol):
    """A source that lists its documents cheaply, so that deletions become visible."""

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every document that exists now, each once. Raises SourceError if it can't list all."""
        ...


@runtime_checkable
class Rereadable(Protocol):
    """A source whose cursor tracks single documents, so that failed ones can be read again alone."""

    def rewind(self, cursor: Cursor, document_ids: Sequence[str]) -> Cursor | None:
        """Return a cursor from which a read yields these documents and at least all changes since `cursor`.

        None if the cursor doesn't track one of them: then it must stay where it is.
        """
        ...


class Splitter(Protocol):
    @property
    def name(self) -> str:
        """The identity of the splitting, kept in a version's recipe, or with each document of a strategy."""
        ...

    def split(self, document: Document) -> list[Chunk]:
        """Split a converted document into passages, in order; an empty document has none."""
        ...


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """The identity of the vector space, such as "local:all-MiniLM-L6-v2"; an index has vectors of one name only."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """The number of tokens that the model reads of a text; it ignores the rest."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed passages: shape (len(texts), dimensions), float32, unit length. Raises ModelError."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embed a question: shape (dimensions,), float32, unit length. Raises ModelError."""
        ...


class Index(Protocol):
    """A read-only view of the stored documents and chunks: all that answering needs."""

    def search(
        self,
        text: str,
        vector: Vector | None,
        limit: int,
        alpha: float,
        sources: Sequence[str] = (),
        audiences: Sequence[str] = (PUBLIC,),
    ) -> list[Hit]:
        """Return the best chunks, best first: by vector at alpha 1, by keyword at 0, fused by relative score between.

        `vector` may be None only at alpha 0. Empty `sources` means all. A chunk is visible if one of its audiences is
        among `audiences`. Every hit has its vector and, if `vector` is given, its cosine. Raises StoreError.
        """
        ...

    def document(self, document_id: str) -> Document | None:
        """Return the converted document, or None."""
        ...

    def documents(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> Iterator[Document]:
        """Stream the converted documents in no particular order; with `ids`, only those."""
        ...

    def count(self, source_id: str | None = None) -> Counts:
        """Count the stored documents and chunks of one source or of all."""
        ...

    def snapshot(self) -> Index:
        """Return the index pinned to its present version.

        A promotion between two searches of a question then doesn't mix passages of two versions.
        """
        ...

    def version(self) -> int | None:
        """Return the number of the version being read, or None before the first write. Raises StoreError."""
        ...


class Store(Index, Protocol):
    """An index that can be written to. Readers see each call whole or not at all, and a kill loses nothing.

    A document whose write was interrupted never has its new fingerprint in `fingerprints`. Documents are stored once.
    Chunks, vectors and fingerprints belong to one version: the live one, or the one that `Versions.open` returned.
    """

    def replace(self, entries: Sequence[EmbeddedDocument]) -> None:
        """Write documents with their chunks, and remove the chunks they had before. Idempotent.

        Inserts new chunks before it deletes old ones, so that a document is never missing.
        """
        ...

    def replace_chunks(self, entries: Sequence[EmbeddedDocument]) -> int:
        """Write the chunks of stored documents in this version alone, and return the number of documents written.

        Skips an entry whose fingerprint differs from that of the stored document.
        """
        ...

    def delete(self, source_id: str, document_ids: Sequence[str]) -> int:
        """Remove documents, and their chunks from every version; return the number removed. Ignores unknown ids."""
        ...

    def remove_chunks(self, document_ids: Sequence[str]) -> None:
        """Remove, from this version alone, the chunks of those documents that are no longer stored."""
        ...

    def document_fingerprints(
        self, source_id: str | None = None, *, ids: Sequence[str] | None = None
    ) -> dict[str, str]:
        """Return the fingerprints of the stored documents by id, for one source or all; with `ids`, for these only."""
        ...

    def fingerprints(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> dict[str, str]:
        """Return, by document id, the fingerprints that this version's chunks were made from.

        "" marks an interrupted write. For one source or all; with `ids`, for these only.
        """
        ...

    def vectors_for(self, hashes: Sequence[str]) -> dict[str, Vector]:
        """Return the stored vectors by content hash; hashes without one are left out."""
        ...

    def chunks(self, document_id: str) -> list[Chunk]:
        """Return a document's chunks by position."""
        ...

    def document_infos(self, source_id: str) -> Iterator[DocumentInfo]:
        """Stream a source's documents without their texts, in no particular order."""
        ...

    def state(self, source_id: str) -> SourceState | None:
        """Return the state of the source's last sync, or None."""
        ...

    def save_state(self, state: SourceState) -> None: ...

    def remove_state(self, source_id: str) -> None:
        """Forget the state of a source; an unknown id does nothing."""
        ...

    def states(self) -> Mapping[str, SourceState]:
        """Return the states of all sources that were ever synced, by id."""
        ...

    def optimize(self) -> None:
        """Update the search indexes and compact them. Call it once, at the end of a sync."""
        ...


class Versions(Protocol):
    """The versions of one index: chunks and vectors made from the same documents by different recipes."""

    @property
    def schema(self) -> int:
        """The number of the layout of a new version."""
        ...

    def all(self) -> list[IndexVersion]:
        """Return the manifest's versions, by number; none before the first write. Raises StoreError."""
        ...

    def live(self) -> int | None:
        """Return the number of the version that answers questions, or None."""
        ...

    def previous(self) -> int | None:
        """Return the number of the previously live version, the target of a rollback, or None."""
        ...

    def create(self, recipe: Recipe) -> IndexVersion:
        """Create an empty version with the status "building". Raises StoreError without an index."""
        ...

    def save(self, version: IndexVersion) -> None:
        """Write the status, counts and scores of a version that the manifest has."""
        ...

    def open(self, number: int) -> Store:
        """Open one version for reading and writing, live or not. Raises StoreError if it doesn't exist."""
        ...

    def promote(self, number: int) -> None:
        """Make a version live, atomically: a question is answered from the old one or from this one."""
        ...

    def drop(self, number: int) -> None:
        """Remove a version's chunks and vectors. Raises ConfigurationError for the live one."""
        ...


class Reranker(Protocol):
    @property
    def name(self) -> str: ...

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        """Return the `limit` best candidates, best first, with new scores. Raises ModelError."""
        ...


@runtime_checkable
class FallbackReranker(Reranker, Protocol):
    """A paid reranker with a free one behind it; `name` is that of the first."""

    @property
    def parts(self) -> Sequence[Reranker]:
        """The rerankers, in the order of trying them."""
        ...

    def rank(
        self, query: str, hits: Sequence[Hit], limit: int, *, refusal: str = "", on_usage: OnUsage | None = None
    ) -> Reranking:
        """Rerank, and name the reranker that did. A `refusal`, the reason not to spend, leads to the second one."""
        ...


class ChatModel(Protocol):
    @property
    def name(self) -> str: ...

    def structured(
        self, messages: Sequence[Message], schema: type[Schema], *, on_usage: OnUsage | None = None
    ) -> Schema:
        """Make one call and return its reply as an instance of the pydantic model `schema`. Raises ModelError."""
        ...

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        """Make one call and yield its reply piece by piece. Raises ModelError, also in the middle."""
        ...


class Prices(Protocol):
    """A price list of models, in US dollars; None for a model without a price."""

    def cost(self, model: str, input_tokens: int, output_tokens: int, *, cached_tokens: int = 0) -> float | None:
        """Return the cost of one call; `cached_tokens` are the input tokens that the provider had in its cache."""
        ...

    def search_cost(self, model: str, searches: int) -> float | None:
        """Return the cost of reranking, for models that charge by the search."""
        ...


class Recorder(Protocol):
    """A keeper of questions and answers."""

    def record(self, answer: Answer) -> None:
        """Take a finished answer. Return within seconds and never raise: recording can't break an answer."""
        ...
