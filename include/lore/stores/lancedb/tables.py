"""What is done to the tables of an index: rows read, put in place of others, and removed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from lore.stores import schema
from lore.types import EmbeddedDocument

if TYPE_CHECKING:
    import pyarrow as pa

    from lore.stores.lancedb.folder import Table, Tables


BLANK = ""
NOT_BLANK = "source_id <> ''"
"""The document and source of a row that is about to be removed, and the condition that a row is not one of these."""


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


def replace_chunks(table: Table, entries: Sequence[EmbeddedDocument]) -> None:
    """Write the chunks and remove others of these documents, in one commit: a reader sees the old or the new ones.

    Chunks that are there to the letter are left alone. LanceDB could delete the others in the commit that writes, but
    reads the whole table for it; so they are written over by blank rows, which nothing finds, and then swept away.
    """
    import numpy as np
    import pyarrow as pa

    of_these = schema.is_in("document_id", [entry.document.id for entry in entries])
    stored = _by_id(select(table, table.schema.names, of_these))
    chunks = [chunk for entry in entries for chunk in entry.chunks]
    rows = table.schema.empty_table()
    if chunks:
        vectors = np.concatenate([entry.vectors for entry in entries if entry.chunks])
        rows = schema.chunk_rows(chunks, vectors.astype(np.float32, copy=False))
    given = _by_id(rows)
    stale = stored.keys() - given.keys()
    written = rows.filter(pa.array([stored.get(name) != row for name, row in given.items()], type=pa.bool_()))
    if stale:
        nothing = [0.0] * table.schema.field("vector").type.list_size
        blank = {"document_id": BLANK, "source_id": BLANK, "audiences": [], "vector": nothing}
        blanks = pa.Table.from_pylist([blank | {"id": name} for name in sorted(stale)], schema=table.schema)
        written = pa.concat_tables([written, blanks])
    if len(written):
        upsert(table, "id", written)
    if stale:
        sweep(table)


def sweep(table: Table) -> None:
    """Remove the blank rows, also those that a killed write left."""
    blank = schema.is_in("document_id", [BLANK])
    if table.count_rows(blank):
        table.delete(blank)


def _by_id(rows: pa.Table) -> dict[str, tuple[object, ...]]:
    """All that is in each row, by its id, to be compared."""
    plain = zip(*(rows[name].to_pylist() for name in rows.column_names if name != "vector"), strict=True)
    vectors = (vector.tobytes() for vector in schema.to_vectors(rows)) if len(rows) else ()
    return dict(zip(rows["id"].to_pylist(), zip(plain, vectors, strict=True), strict=True))
