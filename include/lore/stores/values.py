"""Stored values of documents, chunks and source states, the same in every store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from lore.errors import StoreError
from lore.types import Chunk, Document, EmbeddedDocument, Failure, SourceState

if TYPE_CHECKING:
    from msgspec.json import Decoder

DOCUMENT_COLUMNS = ("id", "source_id", "url", "title", "text", "format", "updated_at", "metadata", "audiences")
DOCUMENT_INFO_COLUMNS = ("id", "url", "title", "audiences", "metadata")
"""The fields of a `DocumentInfo`."""

ERROR_CHARACTERS = 200
"""Limit on a decoder's message, which may quote the payload."""
REBUILD_REMEDY = (
    "Run `lore index build --new`, which makes all passages anew from the stored documents, and promote the version "
    "that it builds."
)
"""The remedy for passages that Lore cannot have written."""

CHUNK_FIELDS = tuple(field.name for field in fields(Chunk))
LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Item = TypeVar("Item")


def metadata_json(document: Document) -> str:
    """A document's metadata as JSON. Raises StoreError for anything but JSON values."""
    try:
        return json.dumps(dict(document.metadata))
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"The metadata of document {document.id!r} has a value that JSON can't hold: {error}.",
            remedy="Convert it to text or numbers in the source that made the document.",
        ) from error


def document_values(entry: EmbeddedDocument) -> dict[str, Any]:
    """The stored fields of a document except id and date. Raises StoreError for metadata that is not JSON."""
    document = entry.document
    return {
        "source_id": valid_utf8(document.source_id),
        "url": valid_utf8(document.url),
        "title": valid_utf8(document.title),
        "text": valid_utf8(document.text),
        "format": valid_utf8(document.format),
        "metadata": metadata_json(document),
        "audiences": [valid_utf8(audience) for audience in document.audiences],
        "fingerprint": valid_utf8(entry.fingerprint),
    }


def indexed_values(entry: EmbeddedDocument, *, pending: bool) -> dict[str, Any]:
    """The record of a document that a version has indexed, except its id; `pending` leaves the fingerprint empty."""
    return {
        "source_id": valid_utf8(entry.document.source_id),
        "fingerprint": "" if pending else valid_utf8(entry.fingerprint),
        "chunk_count": len(entry.chunks),
    }


def chunk_values(chunk: Chunk) -> dict[str, Any]:
    """The stored fields of a chunk except its id, keywords and vector."""
    return {
        "document_id": valid_utf8(chunk.document_id),
        "source_id": valid_utf8(chunk.source_id),
        "audiences": [valid_utf8(audience) for audience in chunk.audiences],
        "content_hash": chunk.content_hash,
        "payload": _payload(chunk),
    }


def _payload(chunk: Chunk) -> str:
    moment = to_utc(chunk.updated_at)
    values = {name: getattr(chunk, name) for name in CHUNK_FIELDS} | {"updated_at": moment and moment.isoformat()}
    return valid_utf8(json.dumps(values, ensure_ascii=False))


def to_chunk(payload: str) -> Chunk:
    """Decode the payload that `chunk_values` wrote. Raises StoreError for any other text."""
    try:
        return _decoder().decode(payload)
    except (TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:ERROR_CHARACTERS]
        raise StoreError(
            f"The index holds a passage that Lore did not write: {reason}.", remedy=REBUILD_REMEDY
        ) from error


@cache
def _decoder() -> Decoder[Chunk]:
    """One decoder for the process: a question decodes some 200 chunks."""
    from msgspec.json import Decoder

    return Decoder(Chunk)


def state_json(state: SourceState) -> str:
    """A source's state as JSON. Raises StoreError for anything but JSON values."""
    synced_at = to_utc(state.synced_at)
    values = {
        "source_id": state.source_id,
        "cursor": state.cursor,
        "recipe": state.recipe,
        "status": state.status,
        "synced_at": synced_at and synced_at.isoformat(),
        "failures": [[failure.document_id, failure.reason] for failure in state.failures],
        "report": dict(state.report),
    }
    try:
        return json.dumps(values)
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"The state of source {state.source_id!r} has a value that JSON can't hold: {error}."
        ) from error


def to_state(text: str) -> SourceState:
    """The inverse of `state_json`."""
    value: Mapping[str, Any] = json.loads(text)
    return SourceState(
        source_id=value["source_id"],
        cursor=value["cursor"],
        recipe=value["recipe"],
        status=value["status"],
        synced_at=value["synced_at"] and datetime.fromisoformat(value["synced_at"]),
        failures=tuple(Failure(document_id, reason) for document_id, reason in value["failures"]),
        report=value["report"],
    )


def valid_utf8(text: str) -> str:
    """The text with each lone surrogate, which UTF-8 can't encode, replaced by one character; offsets stay true."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return LONE_SURROGATE.sub("\ufffd", text)
    return text


def batched(values: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Split into slices of at most `size`, so that no condition grows without bound."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def to_utc(moment: datetime | None) -> datetime | None:
    """The moment in UTC; a naive one is taken to be UTC already."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
