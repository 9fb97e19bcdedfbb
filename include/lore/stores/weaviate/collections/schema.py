"""The collections of a Weaviate index: their properties and indexes, and the mapping from and to our types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import NAMESPACE_URL, UUID, uuid5

from lore.stores.keywords import keyword_text
from lore.stores.values import (
    DOCUMENT_COLUMNS,
    DOCUMENT_INFO_COLUMNS,
    chunk_values,
    document_values,
    indexed_values,
    to_utc,
    valid_utf8,
)
from lore.stores.weaviate.stems import index_stems
from lore.types import Chunk, Document, DocumentInfo, EmbeddedDocument, Recipe

if TYPE_CHECKING:
    from lore.types import Vector

SCHEMA_NUMBER = 4
"""Raise it when a property changes its meaning: versions with another number are neither read nor written."""

VECTOR_NAME = "default"

VectorIndex: TypeAlias = Literal["hnsw", "flat", "dynamic"]
Quantization: TypeAlias = Literal["none", "rq", "bq"]


@dataclass(frozen=True, slots=True)
class Property:
    """One property. Filterable text is one token; searchable text is split at spaces, see `stems`."""

    name: str
    type: str = "text"
    filterable: bool = False
    searchable: bool = False

    @property
    def tokenization(self) -> str | None:
        """Weaviate's tokenization of the text; None for other types."""
        if not self.type.startswith("text"):
            return None
        return "whitespace" if self.searchable else "field"


@dataclass(frozen=True, slots=True)
class CollectionOptions:
    """The options that settings choose when collections are created; Lore can't change them later."""

    replication_factor: int = 1
    vector_index: VectorIndex = "hnsw"
    quantization: Quantization = "none"

    def for_recipe(self, recipe: Recipe) -> CollectionOptions:
        """These options, overridden by the recipe's choices."""
        names = ("replication_factor", "vector_index", "quantization")
        choices: dict[str, Any] = {
            name: recipe.choices[f"weaviate_{name}"] for name in names if f"weaviate_{name}" in recipe.choices
        }
        return replace(self, **choices)


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
"""Converted documents, with the fingerprint of their source text."""

INDEXED = (
    Property("document_id"),
    Property("source_id", filterable=True),
    Property("fingerprint"),
    Property("chunk_count", "int", filterable=True),
)
"""The documents that a version has indexed, with the fingerprint of each; "" while a write is under way.

`chunk_count` is the number of its chunks. It has an index because Weaviate can only sum up indexed properties.
"""

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
"""Keyword search reads `words` and `title_words`, the stems of the passage and of its title.

`payload` is the whole chunk in one property, because the server decodes each property of each hit.
"""

STATE = (Property("key"), Property("kind", filterable=True), Property("value"))
"""Key → JSON: the record of each version, and the state of each source."""

DOCUMENT_PROPERTIES = ["document_id", *DOCUMENT_COLUMNS[1:]]
DOCUMENT_INFO_PROPERTIES = ["document_id", "source_id", *DOCUMENT_INFO_COLUMNS[1:]]
INDEXED_PROPERTIES = [indexed.name for indexed in INDEXED]


def object_id(text: str) -> UUID:
    """The object id of a document, index record or state, whose own id may be any text."""
    return uuid5(NAMESPACE_URL, valid_utf8(text))


def chunk_object_id(chunk_id: str) -> UUID:
    """The object id of a chunk: its own id if that is a UUID."""
    try:
        return UUID(chunk_id)
    except ValueError:
        return object_id(chunk_id)


def document_properties(entry: EmbeddedDocument) -> dict[str, Any]:
    """A document as properties. Raises StoreError for metadata that JSON can't hold."""
    updated_at = to_utc(entry.document.updated_at)
    return document_values(entry) | {
        "document_id": valid_utf8(entry.document.id),
        "updated_at": updated_at.isoformat() if updated_at else "",
    }


def indexed_properties(entry: EmbeddedDocument, *, pending: bool) -> dict[str, Any]:
    """The record of an indexed document as properties; `pending` leaves the fingerprint empty."""
    return {"document_id": valid_utf8(entry.document.id), **indexed_values(entry, pending=pending)}


def state_properties(kind: str, name: str, value: str) -> dict[str, Any]:
    """A record of the state collection as properties; its object id is the `object_id` of its key."""
    return {"key": f"{kind}:{name}", "kind": kind, "value": value}


def chunk_properties(chunk: Chunk, vector: Vector) -> dict[str, Any]:
    """A chunk as properties; `checksum` covers all of them and the vector."""
    properties = chunk_values(chunk) | {
        "document_key": str(object_id(chunk.document_id)),
        "words": index_stems(keyword_text(chunk.passage)),
        "title_words": index_stems(keyword_text(chunk.title)),
    }
    stored = json.dumps(properties, sort_keys=True).encode() + vector.tobytes()
    return properties | {"checksum": sha256(stored).hexdigest()}


def to_document(properties: Mapping[str, Any]) -> Document:
    """The document of an object with `DOCUMENT_PROPERTIES`; Weaviate omits empty ones."""
    updated_at = properties.get("updated_at")
    return Document(
        id=properties["document_id"],
        source_id=properties["source_id"],
        url=properties.get("url") or "",
        title=properties.get("title") or "",
        text=properties.get("text") or "",
        format=properties["format"],
        updated_at=datetime.fromisoformat(updated_at) if updated_at else None,
        metadata=json.loads(properties["metadata"]),
        audiences=tuple(properties.get("audiences") or ()),
    )


def to_document_info(properties: Mapping[str, Any]) -> DocumentInfo:
    """The info of an object with `DOCUMENT_INFO_PROPERTIES`."""
    return DocumentInfo(
        id=properties["document_id"],
        url=properties.get("url") or "",
        title=properties.get("title") or "",
        audiences=tuple(properties.get("audiences") or ()),
        metadata=json.loads(properties["metadata"]),
    )
