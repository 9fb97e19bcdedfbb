"""How documents, chunks and source states lie in Arrow tables, and how filters are spelled in LanceDB's SQL."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from lore.errors import StoreError
from lore.types import Chunk, Document, DocumentInfo, EmbeddedDocument, Failure, SourceState

if TYPE_CHECKING:
    import pyarrow as pa
    from msgspec.json import Decoder

    from lore.types import Matrix

SCHEMA_NUMBER = 4
"""Raised whenever a column of chunks changes its meaning: a version of another number is neither read nor written."""

CHUNK_COLUMNS = ("id", "document_id", "source_id", "audiences", "content_hash", "keywords", "payload", "vector")
"""What a passage is found by, and `payload`: all that a `Chunk` is made of, in one column, because a search pays for
each column of each row that it reads.
"""

OUTLINE_COLUMNS = ("id", "url", "title", "audiences", "metadata")
"""What an `DocumentInfo` is made of."""

DOCUMENT_COLUMNS = ("id", "source_id", "url", "title", "text", "format", "updated_at", "metadata", "audiences")

CHUNK_INDEXES = {
    "keywords": "words",
    "id": "many",
    "document_id": "many",
    "content_hash": "many",
    "source_id": "few",
    "audiences": "labels",
}
DOCUMENT_INDEXES = {"id": "many"}
MARK_INDEXES = {"id": "many"}
"""Column → how it is indexed: by word, by one of a list, or by value, of which there are few or many."""

ROWS_AT_ONCE = 1024

ERROR_CHARACTERS = 200
"""Of what is said against a payload, which may quote it, so much is told."""
MAKE_ANEW = (
    "Run `lore index build --new`, which makes all passages anew from the kept documents, and promote the version that "
    "it makes."
)
"""The remedy for passages that Lore cannot have written."""

CHUNK_FIELDS = tuple(field.name for field in fields(Chunk))

Item = TypeVar("Item")

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def document_schema() -> pa.Schema:
    """Converted documents, with the fingerprint of what they were made from."""
    import pyarrow as pa

    types = {"updated_at": pa.timestamp("us", tz="UTC"), "audiences": pa.list_(pa.string())}
    fields = [(name, types.get(name, pa.string())) for name in DOCUMENT_COLUMNS]
    return pa.schema([*fields, ("fingerprint", pa.string())])


def mark_schema() -> pa.Schema:
    """What a version holds of each document (`id`): chunks made at `fingerprint`, "" while a write is under way.

    `chunk_count` is how many must be in the table of chunks.
    """
    import pyarrow as pa

    names = ("id", "source_id", "fingerprint")
    return pa.schema([*((name, pa.string()) for name in names), ("chunk_count", pa.int64())])


def chunk_schema(dimensions: int) -> pa.Schema:
    """Chunks with their vectors; `keywords` is what keyword search reads, `payload` what `to_chunk` reads."""
    import pyarrow as pa

    types = {"audiences": pa.list_(pa.string()), "vector": pa.list_(pa.float32(), dimensions)}
    return pa.schema([(name, types.get(name, pa.string())) for name in CHUNK_COLUMNS])


def state_schema() -> pa.Schema:
    """Key → JSON: the state of each source."""
    import pyarrow as pa

    return pa.schema([("key", pa.string()), ("value", pa.string())])


def state_rows(values: Mapping[str, object]) -> pa.Table:
    """Rows of the state table."""
    import pyarrow as pa

    rows = [{"key": clean(key), "value": json.dumps(value)} for key, value in values.items()]
    return pa.Table.from_pylist(rows, schema=state_schema())


def document_rows(entries: Sequence[EmbeddedDocument]) -> pa.Table:
    """Rows of the document table."""
    import pyarrow as pa

    return pa.Table.from_pylist([_document_row(entry) for entry in entries], schema=document_schema())


def mark_rows(entries: Sequence[EmbeddedDocument], *, pending: bool) -> pa.Table:
    """Rows of a table of marks; `pending` leaves the fingerprints empty."""
    import pyarrow as pa

    rows = [{"id": clean(entry.document.id), **mark_values(entry, pending=pending)} for entry in entries]
    return pa.Table.from_pylist(rows, schema=mark_schema())


def metadata_json(document: Document) -> str:
    """A document's metadata as every store keeps them. Raises StoreError for what is not made of JSON values."""
    try:
        return json.dumps(dict(document.metadata))
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"The metadata of document {document.id!r} is not made of JSON values: {error}.",
            remedy="The source that made the document must turn them into text or numbers.",
        ) from error


def document_values(entry: EmbeddedDocument) -> dict[str, Any]:
    """What every store keeps of a document, but for id and date. Raises StoreError for metadata that are no JSON."""
    document = entry.document
    return {
        "source_id": clean(document.source_id),
        "url": clean(document.url),
        "title": clean(document.title),
        "text": clean(document.text),
        "format": clean(document.format),
        "metadata": metadata_json(document),
        "audiences": [clean(audience) for audience in document.audiences],
        "fingerprint": clean(entry.fingerprint),
    }


def mark_values(entry: EmbeddedDocument, *, pending: bool) -> dict[str, Any]:
    """What every store marks of a document in a version, but for its id; `pending` leaves the fingerprint empty."""
    return {
        "source_id": clean(entry.document.source_id),
        "fingerprint": "" if pending else clean(entry.fingerprint),
        "chunk_count": len(entry.chunks),
    }


def chunk_values(chunk: Chunk) -> dict[str, Any]:
    """What every store keeps of a chunk, but for its id and what keyword search reads."""
    return {
        "document_id": clean(chunk.document_id),
        "source_id": clean(chunk.source_id),
        "audiences": [clean(audience) for audience in chunk.audiences],
        "content_hash": chunk.content_hash,
        "payload": _payload(chunk),
    }


def _payload(chunk: Chunk) -> str:
    moment = utc(chunk.updated_at)
    values = {name: getattr(chunk, name) for name in CHUNK_FIELDS} | {"updated_at": moment and moment.isoformat()}
    return clean(json.dumps(values, ensure_ascii=False))


def to_chunk(payload: str) -> Chunk:
    """The chunk that `chunk_values` wrote into the payload. Raises StoreError for a payload that is something else."""
    try:
        return _decoder().decode(payload)
    except (TypeError, ValueError) as error:
        why = " ".join(str(error).split())[:ERROR_CHARACTERS]
        raise StoreError(f"The index holds a passage that Lore did not write: {why}.", remedy=MAKE_ANEW) from error


@cache
def _decoder() -> Decoder[Chunk]:
    """Made once, of the types of `Chunk`: a question decodes some 200 of them."""
    from msgspec.json import Decoder

    return Decoder(Chunk)


def _document_row(entry: EmbeddedDocument) -> dict[str, object]:
    document = entry.document
    return document_values(entry) | {"id": clean(document.id), "updated_at": utc(document.updated_at)}


def chunk_rows(chunks: Sequence[Chunk], vectors: Matrix) -> pa.Table:
    """Rows of the chunk table; `vectors` is a finite float32 matrix with a row for each chunk."""
    import pyarrow as pa

    schema = chunk_schema(vectors.shape[1])
    plain = pa.Table.from_pylist([_chunk_row(chunk) for chunk in chunks], schema=schema.remove(len(schema) - 1))
    flat = pa.array(vectors.reshape(-1), type=pa.float32())
    column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return plain.append_column(schema.field("vector"), column)


def _chunk_row(chunk: Chunk) -> dict[str, object]:
    return chunk_values(chunk) | {"id": clean(chunk.id), "keywords": clean(chunk.passage)}


def to_documents(table: pa.Table) -> list[Document]:
    """The documents of rows that have at least `DOCUMENT_COLUMNS`."""
    return [
        Document(
            **row
            | {
                "metadata": json.loads(row["metadata"]),
                "audiences": tuple(row["audiences"]),
                "updated_at": utc(row["updated_at"]),
            }
        )
        for row in table.select(DOCUMENT_COLUMNS).to_pylist()
    ]


def to_document_infos(table: pa.Table) -> Iterator[DocumentInfo]:
    """The outlines of rows that have at least `OUTLINE_COLUMNS`."""
    for batch in table.select(OUTLINE_COLUMNS).to_batches(max_chunksize=ROWS_AT_ONCE):
        for row in batch.to_pylist():
            own = {"metadata": json.loads(row["metadata"]), "audiences": tuple(row["audiences"])}
            yield DocumentInfo(**row | own)


def to_chunks(table: pa.Table) -> list[Chunk]:
    """The chunks of rows that have at least the column `payload`."""
    return list(map(to_chunk, table["payload"].to_pylist()))


def to_vectors(table: pa.Table) -> Matrix:
    """The column `vector` as a matrix."""
    column = table["vector"].combine_chunks()
    matrix: Matrix = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
    return matrix


def state_value(state: SourceState) -> dict[str, object]:
    """A source's state as JSON values."""
    synced_at = utc(state.synced_at)
    return {
        "source_id": state.source_id,
        "cursor": state.cursor,
        "recipe": state.recipe,
        "status": state.status,
        "synced_at": synced_at and synced_at.isoformat(),
        "failures": [[failure.document_id, failure.reason] for failure in state.failures],
        "report": dict(state.report),
    }


def to_state(value: Mapping[str, Any]) -> SourceState:
    """The state that `state_value` wrote."""
    return SourceState(
        source_id=value["source_id"],
        cursor=value["cursor"],
        recipe=value["recipe"],
        status=value["status"],
        synced_at=value["synced_at"] and datetime.fromisoformat(value["synced_at"]),
        failures=tuple(Failure(document_id, reason) for document_id, reason in value["failures"]),
        report=value["report"],
    )


def clean(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot hold, replaced one for one, so that offsets stay true."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return LONE_SURROGATE.sub("\ufffd", text)
    return text


def literal(text: str) -> str:
    """The text as an SQL string: in this dialect the quote is the only character with a meaning."""
    return "'" + clean(text).replace("'", "''") + "'"


def is_in(column: str, values: Iterable[str]) -> str:
    """The condition that a column holds one of the values."""
    return f"{column} IN ({', '.join(map(literal, values))})"


def slices(values: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The values in pieces of at most `size`, so that no condition grows without bound."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def utc(moment: datetime | None) -> datetime | None:
    """The moment in UTC; one without a zone is taken to be in UTC already."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
