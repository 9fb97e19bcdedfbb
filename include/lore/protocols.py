"""The verbs: what each part asks of its neighbours, and nothing more."""

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
"""Told once for every call of a model that came back, also of one that failed in the end; `stage` is empty."""

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
    """Somewhere documents come from."""

    @property
    def id(self) -> str: ...

    def read(self, since: Cursor | None) -> Iterator[Batch]:
        """Yield what changed since the cursor, or everything when it is None. Raises SourceError."""
        ...


@runtime_checkable
class Listable(Protocol):
    """A source that can say cheaply what exists now, so that deletions become visible."""

    def list_ids(self) -> Iterator[str]:
        """Yield the id of every document that exists now, each once. Raises SourceError when it cannot be complete."""
        ...


@runtime_checkable
class Rereadable(Protocol):
    """A source whose cursor knows its documents one by one, so that those that failed can be read again alone."""

    def rewind(self, cursor: Cursor, document_ids: Sequence[str]) -> Cursor | None:
        """The cursor from which a read gives these documents again, and else at least what changed since `cursor`.

        None when one of them is not known to the cursor: then it must not be moved on.
        """
        ...


class Splitter(Protocol):
    @property
    def name(self) -> str:
        """Identifies the way of splitting: a version's recipe has it, or the mark of each document of a strategy."""
        ...

    def split(self, document: Document) -> list[Chunk]:
        """Cut a converted document into passages, in order; an empty document gives none."""
        ...


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Identifies the vector space, such as "local:all-MiniLM-L6-v2"; an index holds vectors of one name only."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """How many tokens of a text are read; the rest is cut off."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Matrix:
        """Embed passages: shape (len(texts), dimensions), float32, unit length. Raises ModelError."""
        ...

    def embed_query(self, text: str) -> Vector:
        """Embed a question: shape (dimensions,), float32, unit length. Raises ModelError."""
        ...


class Index(Protocol):
    """All that answering may do: read."""

    def search(
        self,
        text: str,
        vector: Vector | None,
        limit: int,
        alpha: float,
        sources: Sequence[str] = (),
        audiences: Sequence[str] = (PUBLIC,),
    ) -> list[Hit]:
        """Find the best chunks, best first: by vector at alpha 1, by keyword at 0, fused by relative score between.

        `vector` may be None only when alpha is 0. `sources` empty means all; a chunk is seen when one of its audiences
        is among `audiences`. Every hit carries its vector and, when `vector` is given, its cosine. Raises StoreError.
        """
        ...

    def document(self, document_id: str) -> Document | None:
        """The converted document, or None."""
        ...

    def documents(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> Iterator[Document]:
        """Stream the converted documents, in no particular order; with `ids`, those of them that are kept."""
        ...

    def count(self, source_id: str | None = None) -> Counts:
        """What is held, for one source or for all."""
        ...

    def snapshot(self) -> Index:
        """The index held at the version that is read now, for all the searches of one question: a promotion in
        between does not mix passages of two versions.
        """
        ...

    def version(self) -> int | None:
        """The number of the version that is read now; None where nothing was written yet. Raises StoreError."""
        ...


class Store(Index, Protocol):
    """An index that can be written to. Every call is atomic to readers and safe against a kill: a document whose
    write was cut off is never reported by `fingerprints` with the new fingerprint.

    Documents are kept once; chunks, vectors and fingerprints are those of one version: the live one, or the one that
    `Versions.open` was asked for.
    """

    def replace(self, entries: Sequence[EmbeddedDocument]) -> None:
        """Write documents with their chunks and remove the chunks they had before; idempotent.

        New chunks are inserted before old ones are deleted, so that a document is never missing.
        """
        ...

    def replace_chunks(self, entries: Sequence[EmbeddedDocument]) -> int:
        """Write the chunks of documents that are kept already, in this version alone; the documents stay as they are.

        An entry whose fingerprint is not, or no longer, that of the kept document is left out. Returns how many
        documents were written.
        """
        ...

    def delete(self, source_id: str, document_ids: Sequence[str]) -> int:
        """Remove documents, and their chunks from every version; unknown ids do no harm. Returns how many went."""
        ...

    def remove_chunks(self, document_ids: Sequence[str]) -> None:
        """Remove from this version alone what it holds of those of these documents that are not kept."""
        ...

    def document_fingerprints(
        self, source_id: str | None = None, *, ids: Sequence[str] | None = None
    ) -> dict[str, str]:
        """Document id → fingerprint of the documents that are kept, for one source or for all; with `ids`, of these."""
        ...

    def fingerprints(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> dict[str, str]:
        """Document id → fingerprint that this version's chunks were made at; "" where the write was cut off.

        For one source or for all; with `ids`, of these.
        """
        ...

    def vectors_for(self, hashes: Sequence[str]) -> dict[str, Vector]:
        """The stored vectors of those content hashes that are known."""
        ...

    def chunks(self, document_id: str) -> list[Chunk]:
        """A document's chunks by position."""
        ...

    def document_infos(self, source_id: str) -> Iterator[DocumentInfo]:
        """Stream a source's kept documents without their texts, in no particular order, however long these are."""
        ...

    def state(self, source_id: str) -> SourceState | None:
        """What is remembered of the source's last sync."""
        ...

    def save_state(self, state: SourceState) -> None: ...

    def states(self) -> Mapping[str, SourceState]:
        """The states of all sources that were ever synced."""
        ...

    def optimize(self) -> None:
        """Bring search indexes up to date and compact; to be called once at the end of a sync."""
        ...


class Versions(Protocol):
    """The versions of one index: chunks and vectors made in different ways of the same kept documents."""

    @property
    def schema(self) -> int:
        """The number of the layout in which a new version is made."""
        ...

    def all(self) -> list[IndexVersion]:
        """What the manifest says, by number; empty where nothing was written yet. Raises StoreError."""
        ...

    def live(self) -> int | None:
        """The number of the version that questions are answered from."""
        ...

    def previous(self) -> int | None:
        """The number of the version that was live before it, where a rollback goes to."""
        ...

    def create(self, recipe: Recipe) -> IndexVersion:
        """Make an empty version beside the others, with the status "building". Raises StoreError without an index."""
        ...

    def save(self, version: IndexVersion) -> None:
        """Write a version's status, counts and scores into the manifest; its number must be there."""
        ...

    def open(self, number: int) -> Store:
        """One version, to read and to write, whatever is live. Raises StoreError where there is none."""
        ...

    def promote(self, number: int) -> None:
        """Make a version the live one, in one step: a question is answered from the one before or from this one."""
        ...

    def drop(self, number: int) -> None:
        """Remove a version's chunks and vectors; the live one is refused with ConfigurationError."""
        ...


class Reranker(Protocol):
    @property
    def name(self) -> str: ...

    def rerank(self, query: str, hits: Sequence[Hit], limit: int) -> list[Hit]:
        """Order candidates by how well they answer, with new scores, and keep the best. No hits give none."""
        ...


@runtime_checkable
class FallbackReranker(Reranker, Protocol):
    """A reranker that costs something, with one behind it that does not; `name` is the first one's."""

    @property
    def parts(self) -> Sequence[Reranker]:
        """The rerankers in the order in which they are asked."""
        ...

    def rank(
        self, query: str, hits: Sequence[Hit], limit: int, *, refusal: str = "", on_usage: OnUsage | None = None
    ) -> Reranking:
        """As `rerank`, and by whom. A `refusal` says why nothing may be spent, and then the second one is asked."""
        ...


class ChatModel(Protocol):
    @property
    def name(self) -> str: ...

    def structured(
        self, messages: Sequence[Message], schema: type[Schema], *, on_usage: OnUsage | None = None
    ) -> Schema:
        """One call whose answer is an instance of the pydantic model `schema`. Raises ModelError."""
        ...

    def stream(self, messages: Sequence[Message], *, on_usage: OnUsage | None = None) -> Iterator[str]:
        """One call whose answer comes piece by piece. Raises ModelError, also in the middle."""
        ...


class Prices(Protocol):
    """What models cost by a price list, in US dollars; None for a model that is not on it."""

    def cost(self, model: str, input_tokens: int, output_tokens: int, *, cached_tokens: int = 0) -> float | None:
        """The cost of one call; `cached_tokens` are those of the input that the provider had in its cache."""
        ...

    def search_cost(self, model: str, searches: int) -> float | None:
        """The cost of reranking, for models that are paid by the search."""
        ...


class Recorder(Protocol):
    """Who keeps what was asked and answered."""

    def record(self, answer: Answer) -> None:
        """Take a finished answer. Returns at once and never raises: keeping it must not delay or break an answer."""
        ...
