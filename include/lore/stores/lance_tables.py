"""What is done to the tables of an index: rows read, put in place of others, and removed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from include.lore.stores import schema
from include.lore.types import Entry

if TYPE_CHECKING:
    import pyarrow as pa

    from include.lore.stores.lance_folder import Table, Tables


def select(table: Table, columns: Sequence[str], where: str | None) -> pa.Table:
    """The columns of the rows that `where` allows."""
    query = table.search().select(list(columns))
    return (query.where(where) if where else query).to_arrow()


def upsert(table: Table, key: str, rows: pa.Table) -> None:
    """Write rows, each in the place of one with its key."""
    table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all().execute(rows)


def remove_chunks(tables: Tables, document_ids: Collection[str]) -> None:
    """Remove the chunks of documents, which are marked first, so that a removal that was cut off is seen."""
    if document_ids:
        tables.marks.update(where=schema.is_in("id", document_ids), values={"fingerprint": ""})
        tables.chunks.delete(schema.is_in("document_id", document_ids))


def replace_chunks(table: Table, entries: Sequence[Entry]) -> None:
    """Write the chunks and remove others of these documents, in one commit: a reader sees the old or the new ones."""
    import numpy as np

    of_these = schema.is_in("document_id", [entry.document.id for entry in entries])
    stored = set(select(table, ["id"], of_these)["id"].to_pylist())
    chunks = [chunk for entry in entries for chunk in entry.chunks]
    stale = stored.difference(schema.clean(chunk.id) for chunk in chunks)
    if not chunks:
        if stale:
            table.delete(of_these)
        return
    vectors = np.concatenate([entry.vectors for entry in entries if entry.chunks]).astype(np.float32, copy=False)
    merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    if stale:  # this makes LanceDB read the whole table, so only where there is something to remove
        merge = merge.when_not_matched_by_source_delete(of_these)
    merge.execute(schema.chunk_rows(chunks, vectors))
