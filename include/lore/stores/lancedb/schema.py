"""Arrow schemas and rows of the LanceDB tables, and conditions in LanceDB's SQL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lore.stores.keywords import keyword_text
from lore.stores.values import (
    DOCUMENT_COLUMNS,
    DOCUMENT_INFO_COLUMNS,
    chunk_values,
    document_values,
    indexed_values,
    state_json,
    to_chunk,
    to_utc,
    valid_utf8,
)
from lore.types import Chunk, Document, DocumentInfo, EmbeddedDocument, SourceState

if TYPE_CHECKING:
    import pyarrow as pa

    from lore.types import Matrix

SCHEMA_NUMBER = 4
"""Raise it when a chunk column changes its meaning: versions with another number are neither read nor written."""

CHUNK_COLUMNS = ("id", "document_id", "source_id", "audiences", "content_hash", "keywords", "payload", "vector")
"""The columns that a chunk is found by, and `payload`, the whole chunk: each column of each row costs a search time."""

CHUNK_INDEXES = {
    "keywords": "full text",
    "id": "many values",
    "document_id": "many values",
    "content_hash": "many values",
    "source_id": "few values",
    "audiences": "list",
}
DOCUMENT_INDEXES = {"id": "many values"}
INDEXED_INDEXES = {"id": "many values"}
"""Column → kind of index."""

ROWS_IN_A_BATCH = 1024


def document_schema() -> pa.Schema:
    """Converted documents, with the fingerprint of their source text."""
    import pyarrow as pa

    types = {"updated_at": pa.timestamp("us", tz="UTC"), "audiences": pa.list_(pa.string())}
    fields = [(name, types.get(name, pa.string())) for name in DOCUMENT_COLUMNS]
    return pa.schema([*fields, ("fingerprint", pa.string())])


def indexed_schema() -> pa.Schema:
    """The documents that a version has indexed, with the fingerprint of each; "" while a write is under way.

    `chunk_count` is the number of its rows in the chunk table.
    """
    import pyarrow as pa

    names = ("id", "source_id", "fingerprint")
    return pa.schema([*((name, pa.string()) for name in names), ("chunk_count", pa.int64())])


def chunk_schema(dimensions: int) -> pa.Schema:
    """Chunks with their vectors; keyword search reads `keywords`, and `to_chunk` reads `payload`."""
    import pyarrow as pa

    types = {"audiences": pa.list_(pa.string()), "vector": pa.list_(pa.float32(), dimensions)}
    return pa.schema([(name, types.get(name, pa.string())) for name in CHUNK_COLUMNS])


def state_schema() -> pa.Schema:
    """Key → JSON: the state of each source."""
    import pyarrow as pa

    return pa.schema([("key", pa.string()), ("value", pa.string())])


def state_rows(states: Sequence[SourceState]) -> pa.Table:
    """Rows of the state table. Raises StoreError for a state that JSON can't hold."""
    import pyarrow as pa

    rows = [{"key": state_key(state.source_id), "value": state_json(state)} for state in states]
    return pa.Table.from_pylist(rows, schema=state_schema())


def state_key(source_id: str) -> str:
    """Key of a source's state in the state table."""
    return valid_utf8(f"source:{source_id}")


def document_rows(entries: Sequence[EmbeddedDocument]) -> pa.Table:
    """Rows of the document table. Raises StoreError for metadata that JSON can't hold."""
    import pyarrow as pa

    rows = [
        document_values(entry) | {"id": valid_utf8(entry.document.id), "updated_at": to_utc(entry.document.updated_at)}
        for entry in entries
    ]
    return pa.Table.from_pylist(rows, schema=document_schema())


def indexed_rows(entries: Sequence[EmbeddedDocument], *, pending: bool) -> pa.Table:
    """Rows of the table of indexed documents; `pending` leaves the fingerprints empty."""
    import pyarrow as pa

    rows = [{"id": valid_utf8(entry.document.id), **indexed_values(entry, pending=pending)} for entry in entries]
    return pa.Table.from_pylist(rows, schema=indexed_schema())


def chunk_rows(chunks: Sequence[Chunk], vectors: Matrix) -> pa.Table:
    """Rows of the chunk table; `vectors` is a finite float32 matrix with a row for each chunk."""
    import pyarrow as pa

    schema = chunk_schema(vectors.shape[1])
    rows = [
        chunk_values(chunk) | {"id": valid_utf8(chunk.id), "keywords": valid_utf8(keyword_text(chunk.passage))}
        for chunk in chunks
    ]
    table = pa.Table.from_pylist(rows, schema=schema.remove(len(schema) - 1))
    flat = pa.array(vectors.reshape(-1), type=pa.float32())
    column = pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return table.append_column(schema.field("vector"), column)


def to_documents(table: pa.Table) -> list[Document]:
    """The documents of rows that have at least `DOCUMENT_COLUMNS`."""
    return [
        Document(
            **row
            | {
                "metadata": json.loads(row["metadata"]),
                "audiences": tuple(row["audiences"]),
                "updated_at": to_utc(row["updated_at"]),
            }
        )
        for row in table.select(DOCUMENT_COLUMNS).to_pylist()
    ]


def to_document_infos(table: pa.Table) -> Iterator[DocumentInfo]:
    """The infos of rows that have at least `DOCUMENT_INFO_COLUMNS`."""
    for batch in table.select(DOCUMENT_INFO_COLUMNS).to_batches(max_chunksize=ROWS_IN_A_BATCH):
        for row in batch.to_pylist():
            parsed = {"metadata": json.loads(row["metadata"]), "audiences": tuple(row["audiences"])}
            yield DocumentInfo(**row | parsed)


def to_chunks(table: pa.Table) -> list[Chunk]:
    """The chunks of rows that have at least the column `payload`."""
    return list(map(to_chunk, table["payload"].to_pylist()))


def to_vectors(table: pa.Table) -> Matrix:
    """The column `vector` as a matrix."""
    column = table["vector"].combine_chunks()
    matrix: Matrix = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, column.type.list_size)
    return matrix


def sql_literal(text: str) -> str:
    """The text as an SQL string: the quote is the only special character in this dialect."""
    return "'" + valid_utf8(text).replace("'", "''") + "'"


def sql_in(column: str, values: Iterable[str]) -> str:
    """The condition that a column equals one of the values."""
    return f"{column} IN ({', '.join(map(sql_literal, values))})"
