"""Values of ingestion: documents, chunks, sync states and versions of the index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector: TypeAlias = NDArray[np.float32]
    """One embedding, shape (dimensions,), unit length."""
    Matrix: TypeAlias = NDArray[np.float32]
    """Embeddings in the order of their texts, shape (texts, dimensions), each of unit length."""

PUBLIC = "public"
"""The audience that everybody belongs to."""

Strategy: TypeAlias = Literal["basic", "summary", "summary_parent"]
"""Ways to make a document searchable. "basic" embeds passages and gives them to the model. "summary" embeds and gives
summaries of large passages. "summary_parent" embeds the summaries and gives the passages."""

Cursor: TypeAlias = str
"""The point up to which a source has been read, opaque to all but the source that wrote it."""

__all__ = [
    "PUBLIC",
    "Batch",
    "Chunk",
    "Counts",
    "Cursor",
    "Document",
    "DocumentInfo",
    "EmbeddedDocument",
    "Failure",
    "IndexVersion",
    "Recipe",
    "SourceState",
    "Strategy",
]


@dataclass(frozen=True, slots=True)
class Document:
    """A page, thread, issue or file: as its source has it, or converted to Markdown.

    `id` is unique in an index and the same in every run; it starts with `source_id` and a colon. `url` is the page's
    public address, or "". `metadata` holds JSON values only.

    `text` is in `format`, a key of `convert.FORMATS` ("markdown" once converted). A source that holds bytes fills
    `data` instead of `text`, and conversion detects the charset.
    """

    id: str
    source_id: str
    url: str
    title: str
    text: str
    format: str = "markdown"
    updated_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    audiences: tuple[str, ...] = (PUBLIC,)
    data: bytes | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that couldn't be read or converted, with a reason that a person can act on."""

    document_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents, failures and deleted ids that a source yields together.

    Once this batch and all before it are indexed, the next read may start at `cursor`. `warnings` are for a person, and
    hold nothing back.
    """

    documents: tuple[Document, ...]
    cursor: Cursor | None = None
    deleted_ids: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: `text` is exactly `document.text[start:end]` of the converted document.

    `id` is a uuid5 of document id, heading path and text, with a counter where these repeat in a document. `headings`
    is the path of headings above the passage, outermost first, without the title. `summary` is empty, or the text that
    `strategy` embeds instead of the passage. `table_header` is empty, or the header row, with the line below it, of the
    table whose later rows `text` begins with.
    """

    id: str
    document_id: str
    source_id: str
    url: str
    title: str
    headings: tuple[str, ...]
    text: str
    position: int
    start: int
    end: int
    summary: str = ""
    audiences: tuple[str, ...] = (PUBLIC,)
    updated_at: datetime | None = None
    strategy: Strategy = "basic"
    table_header: str = ""

    @property
    def headed_text(self) -> str:
        """The text below the header of the table that it continues."""
        return f"{self.table_header}\n{self.text}" if self.table_header else self.text

    @property
    def passage(self) -> str:
        """The text below its title and headings, as keyword search and rerankers read it."""
        return "\n".join((" > ".join((self.title, *self.headings)), self.headed_text))

    @property
    def embedded_text(self) -> str:
        """The summary if there is one, else the passage."""
        return self.summary or self.passage

    @property
    def given_text(self) -> str:
        """The text that a language model answers from; citations, quotes and checks always use `text`."""
        return self.summary if self.strategy == "summary" and self.summary else self.headed_text

    @property
    def content_hash(self) -> str:
        """The sha256 of the embedded text: chunks with equal hashes have equal vectors."""
        return sha256(self.embedded_text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class EmbeddedDocument:
    """A document that is converted, split and embedded. `vectors` has one row for each chunk."""

    document: Document
    fingerprint: str
    chunks: tuple[Chunk, ...]
    vectors: Matrix


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """A stored document without its text, for decisions over a whole source."""

    id: str
    url: str
    title: str
    audiences: tuple[str, ...]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of stored documents and chunks. `recorded_chunks`, summed over the documents, must equal `chunks`."""

    documents: int
    chunks: int
    recorded_chunks: int


@dataclass(frozen=True, slots=True)
class SourceState:
    """The outcome of a source's last sync, as the store keeps it; `report` is the sync's summary as JSON values.

    `recipe` names the converter of the documents; another converter converts them again.
    """

    source_id: str
    cursor: Cursor | None = None
    recipe: str = ""
    status: Literal["ok", "warning", "failed"] = "ok"
    synced_at: datetime | None = None
    failures: tuple[Failure, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexSummary:
    """States and counts of the sources in an index, by source id."""

    states: Mapping[str, SourceState]
    counts: Mapping[str, Counts]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The splitter, embedder and strategy that turn stored documents into chunks and vectors.

    `choices` holds the settings that rebuild the same splitter and embedder, and a server's layout options.
    """

    embedder: str
    dimensions: int
    splitter: str = ""
    strategy: str = "passages"
    choices: Mapping[str, str | int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """A version of the index as its manifest describes it. It is "building" until it has every document.

    `schema` numbers the code's layout of passages. `counts` is set when the version becomes ready, `scores` when it is
    judged. `promoted_at` is the time of its last promotion, or None.
    """

    number: int
    recipe: Recipe
    schema: int
    status: Literal["building", "ready"]
    created_at: datetime
    ready_at: datetime | None = None
    promoted_at: datetime | None = None
    counts: Counts | None = None
    scores: Mapping[str, Any] = field(default_factory=dict)
