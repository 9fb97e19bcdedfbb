"""Reads and writes of table rows: select, upsert, replace, remove."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from lore.stores.lancedb.schema import chunk_rows, sql_in, to_vectors
from lore.types import EmbeddedDocument

if TYPE_CHECKING:
    import pyarrow as pa

    from lore.stores.lancedb.folder import Table, VersionTables


BLANK = ""
NOT_BLANK = "source_id <> ''"
"""The document and source of a row that is about to be deleted, and the condition that excludes such rows."""


def select(table: Table, columns: Sequence[str], where: str | None) -> pa.Table:
    """These columns of the rows that match `where`; None matches all."""
    query = table.search().select(list(columns))
    return (query.where(where) if where else query).to_arrow()


def upsert(table: Table, key: str, rows: pa.Table) -> None:
    """Insert rows, or replace the existing rows with the same key."""
    table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all().execute(rows)


def remove_chunks(tables: VersionTables, document_ids: Collection[str]) -> None:
    """Delete the chunks of documents. Their fingerprints are emptied first, which shows an interrupted deletion."""
    if document_ids:
        tables.indexed.update(where=sql_in("id", document_ids), values={"fingerprint": ""})
        tables.chunks.delete(sql_in("document_id", document_ids))


def replace_chunks(table: Table, entries: Sequence[EmbeddedDocument]) -> None:
    """Replace all chunks of these documents in one commit: a reader sees the old or the new ones.

    Unchanged chunks are not written. LanceDB could delete the stale ones in the same commit, but would read the whole
    table for it; so they are overwritten with blank rows, which no search finds, and deleted afterwards.
    """
    import numpy as np
    import pyarrow as pa

    where = sql_in("document_id", [entry.document.id for entry in entries])
    stored = _by_id(select(table, table.schema.names, where))
    chunks = [chunk for entry in entries for chunk in entry.chunks]
    rows = table.schema.empty_table()
    if chunks:
        vectors = np.concatenate([entry.vectors for entry in entries if entry.chunks])
        rows = chunk_rows(chunks, vectors.astype(np.float32, copy=False))
    given = _by_id(rows)
    stale = stored.keys() - given.keys()
    changed = rows.filter(pa.array([stored.get(name) != row for name, row in given.items()], type=pa.bool_()))
    if stale:
        zero = [0.0] * table.schema.field("vector").type.list_size
        blank = {"document_id": BLANK, "source_id": BLANK, "audiences": [], "vector": zero}
        blanks = pa.Table.from_pylist([blank | {"id": name} for name in sorted(stale)], schema=table.schema)
        changed = pa.concat_tables([changed, blanks])
    if len(changed):
        upsert(table, "id", changed)
    if stale:
        delete_blank_rows(table)


def delete_blank_rows(table: Table) -> None:
    """Delete the blank rows, including those of an interrupted write."""
    blank = sql_in("document_id", [BLANK])
    if table.count_rows(blank):
        table.delete(blank)


def _by_id(rows: pa.Table) -> dict[str, tuple[object, ...]]:
    """The content of each row by its id, for comparison."""
    values = zip(*(rows[name].to_pylist() for name in rows.column_names if name != "vector"), strict=True)
    vectors = (vector.tobytes() for vector in to_vectors(rows)) if len(rows) else ()
    return dict(zip(rows["id"].to_pylist(), zip(values, vectors, strict=True), strict=True))
