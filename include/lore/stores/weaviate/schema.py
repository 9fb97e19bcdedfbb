"""The collections of a Weaviate index: what each property is, how it is indexed, and how rows become our nouns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import NAMESPACE_URL, UUID, uuid5

from lore.stores.schema import (
    DOCUMENT_COLUMNS,
    OUTLINE_COLUMNS,
    chunk_values,
    clean,
    document_values,
    mark_values,
    utc,
)
from lore.stores.weaviate.words import index_words
from lore.types import Chunk, Document, DocumentInfo, EmbeddedDocument, Recipe

if TYPE_CHECKING:
    from lore.types import Vector

SCHEMA_NUMBER = 4
"""Raised whenever a property changes its meaning: a version of another number is neither read nor written."""

VECTOR_NAME = "default"

VectorIndex: TypeAlias = Literal["hnsw", "flat", "dynamic"]
Quantization: TypeAlias = Literal["none", "rq", "bq"]


@dataclass(frozen=True, slots=True)
class Property:
    """One property. Text that is filtered by is one token; text that is searched is split at spaces, see `words`."""

    name: str
    type: str = "text"
    filterable: bool = False
    searchable: bool = False

    @property
    def tokenization(self) -> str | None:
        """How Weaviate splits the text: None for other types."""
        if not self.type.startswith("text"):
            return None
        return "whitespace" if self.searchable else "field"


@dataclass(frozen=True, slots=True)
class Shape:
    """What is chosen by settings when the collections are made, and cannot be changed by us later."""

    replication_factor: int = 1
    vector_index: VectorIndex = "hnsw"
    quantization: Quantization = "none"

    def chosen_by(self, recipe: Recipe) -> Shape:
        """The shape that the recipe's choices say, and as here where they say nothing."""
        names = ("replication_factor", "vector_index", "quantization")
        chosen: dict[str, Any] = {
            name: recipe.choices[f"weaviate_{name}"] for name in names if f"weaviate_{name}" in recipe.choices
        }
        return replace(self, **chosen)


DOCUMENTS = (
    Property("document_id"),
    Property("source_id", filterable=True),
    Property("url"),
    Property("title"),
    Property("text"),
    Property("format"),
    Property("updated_at"),
    Property("metadata"),
    Property("audiences", "text[]"),
    Property("fingerprint"),
)
"""Converted documents, with the fingerprint of what they were made from."""

MARKS = (
    Property("document_id"),
    Property("source_id", filterable=True),
    Property("fingerprint"),
    Property("chunk_count", "int", filterable=True),
)
"""What a version holds of each document: chunks made at `fingerprint`, "" while a write is under way. `chunk_count` is
how many chunks there must be: it is summed up, which Weaviate does over an index only."""

CHUNKS = (
    Property("document_id"),
    Property("document_key", "uuid", filterable=True),
    Property("source_id", filterable=True),
    Property("audiences", "text[]", filterable=True),
    Property("content_hash", filterable=True),
    Property("checksum"),
    Property("words", searchable=True),
    Property("title_words", searchable=True),
    Property("payload"),
)
"""`words` and `title_words` are what keyword search reads: the stems of the passage and of its title alone. `payload`
is all that a chunk is made of, in one property, because the server decodes each one of each hit."""

STATE = (Property("key"), Property("kind", filterable=True), Property("value"))
"""Key → JSON: what is recorded of each version, and the state of each source."""

DOCUMENT_PROPERTIES = ["document_id", *DOCUMENT_COLUMNS[1:]]
OUTLINE_PROPERTIES = ["document_id", "source_id", *OUTLINE_COLUMNS[1:]]
MARK_PROPERTIES = [mark.name for mark in MARKS]


def key_of(text: str) -> UUID:
    """The object id of a document, mark or state: its own id is text of any form."""
    return uuid5(NAMESPACE_URL, clean(text))


def chunk_key(chunk_id: str) -> UUID:
    """The object id of a chunk: its own, where that is a UUID."""
    try:
        return UUID(chunk_id)
    except ValueError:
        return key_of(chunk_id)


def document_properties(entry: EmbeddedDocument) -> dict[str, Any]:
    """A document as properties. Raises StoreError for metadata that are not JSON values."""
    document = entry.document
    own = {"document_id": clean(document.id), "updated_at": _moment(document.updated_at)}
    return document_values(entry) | own


def mark_properties(entry: EmbeddedDocument, *, pending: bool) -> dict[str, Any]:
    """What a version holds of a document, as properties; `pending` leaves the fingerprint empty."""
    return {"document_id": clean(entry.document.id), **mark_values(entry, pending=pending)}


def state_properties(kind: str, name: str, value: str) -> dict[str, Any]:
    """An entry of the collection of states as properties; `key_of` their key is its object id."""
    return {"key": f"{kind}:{name}", "kind": kind, "value": value}


def chunk_properties(chunk: Chunk, vector: Vector) -> dict[str, Any]:
    """A chunk as properties; `checksum` covers all of them and the vector."""
    properties = chunk_values(chunk) | {
        "document_key": str(key_of(chunk.document_id)),
        "words": index_words(chunk.passage),
        "title_words": index_words(chunk.title),
    }
    stored = json.dumps(properties, sort_keys=True).encode() + vector.tobytes()
    return properties | {"checksum": sha256(stored).hexdigest()}


def to_document(row: Mapping[str, Any]) -> Document:
    """The document of a row with `DOCUMENT_PROPERTIES`; Weaviate leaves out what is empty."""
    return Document(
        id=row["document_id"],
        source_id=row["source_id"],
        url=row.get("url") or "",
        title=row.get("title") or "",
        text=row.get("text") or "",
        format=row["format"],
        updated_at=_to_moment(row.get("updated_at")),
        metadata=json.loads(row["metadata"]),
        audiences=tuple(row.get("audiences") or ()),
    )


def to_outline(row: Mapping[str, Any]) -> DocumentInfo:
    """The outline of a row with `OUTLINE_PROPERTIES`."""
    return DocumentInfo(
        id=row["document_id"],
        url=row.get("url") or "",
        title=row.get("title") or "",
        audiences=tuple(row.get("audiences") or ()),
        metadata=json.loads(row["metadata"]),
    )


def _moment(moment: datetime | None) -> str:
    """The moment as ISO text in UTC, exact to the microsecond; "" for none."""
    in_utc = utc(moment)
    return in_utc.isoformat() if in_utc else ""


def _to_moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
