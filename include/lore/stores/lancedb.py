"""The embedded store: LanceDB in a local folder, shared safely by threads and processes.

A replacement is written in this order, so that a kill between any two steps is healed by writing it again: documents
with an empty fingerprint, their chunks (new in and old out in one commit), documents with their fingerprints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from include.lore.errors import StoreError
from include.lore.stores import schema
from include.lore.stores.checks import check_entries, check_query
from include.lore.stores.lance_folder import MANIFEST, LanceFolder
from include.lore.stores.lance_search import search, visible
from include.lore.types import PUBLIC, Chunk, Counts, Document, Entry, Hit, SourceState

if TYPE_CHECKING:
    import pyarrow as pa

    from include.lore.stores.lance_folder import Table
    from include.lore.types import Vector

IDS_IN_A_CONDITION = 500
DOCUMENTS_IN_A_COMMIT = 256
DOCUMENTS_IN_A_PAGE = 64
KEEP_VERSIONS = timedelta(minutes=10)
"""Reads take milliseconds and start at the newest version, so an older one is in nobody's use by then."""
UNINDEXED_SHARE, UNINDEXED_MINIMUM, UNINDEXED_MAXIMUM, FRAGMENTS_MAXIMUM = 0.02, 64, 1_000, 32
"""How much may stay outside the keyword index, read row by row, before all is compacted and indexed."""


class LanceStore:
    """A `Store` in a folder of the local disk. Nothing is made on disk before the first write.

    Raises ConfigurationError when `uri` is not a local folder and IndexMismatchError when the folder holds vectors of
    another embedder, both at once. `lock_timeout` is how many seconds a write waits for other writers.
    """

    def __init__(self, uri: str, *, embedder_name: str, dimensions: int, lock_timeout: float = 300.0) -> None:
        self._dimensions = dimensions
        self._folder = LanceFolder(uri, embedder_name=embedder_name, dimensions=dimensions, lock_timeout=lock_timeout)
        self._folder.tables()

    # ------------------------------------------------------------------------------------------------------ reading

    def search(
        self,
        text: str,
        vector: Vector | None,
        limit: int,
        alpha: float,
        sources: Sequence[str] = (),
        audiences: Sequence[str] = (PUBLIC,),
    ) -> list[Hit]:
        """See `Index.search`. Vector search is exact; keyword search is BM25 over stemmed title, headings and text."""
        check_query(vector, alpha, self._dimensions)
        tables = self._folder.tables()
        if tables is None or limit <= 0 or not audiences:
            return []
        with self._folder.errors("search"):
            return search(tables.chunks, text, vector, limit, alpha, visible(sources, audiences))

    def document(self, document_id: str) -> Document | None:
        """See `Index.document`."""
        tables = self._folder.tables()
        if tables is None:
            return None
        with self._folder.errors("read"):
            rows = _select(tables.documents, schema.DOCUMENT_COLUMNS, schema.is_in("id", [document_id]))
        return next(iter(schema.to_documents(rows)), None)

    def chunks(self, document_id: str) -> list[Chunk]:
        """See `Store.chunks`."""
        tables = self._folder.tables()
        if tables is None:
            return []
        with self._folder.errors("read"):
            rows = _select(tables.chunks, schema.CHUNK_COLUMNS, schema.is_in("document_id", [document_id]))
        return sorted(schema.to_chunks(rows), key=lambda chunk: (chunk.position, chunk.id))

    def count(self, source_id: str | None = None) -> Counts:
        """See `Index.count`. Figures that disagree are taken again with writers locked out."""
        counts = self._count(source_id)
        if counts.chunks != counts.recorded_chunks:
            with suppress(StoreError), self._folder.writing("count"):
                counts = self._count(source_id)
        return counts

    def _count(self, source_id: str | None) -> Counts:
        import pyarrow.compute as pc

        tables = self._folder.tables()
        if tables is None:
            return Counts(0, 0, 0)
        where = None if source_id is None else schema.is_in("source_id", [source_id])
        with self._folder.errors("count"):
            recorded = _select(tables.documents, ["chunk_count"], where)["chunk_count"]
            return Counts(len(recorded), tables.chunks.count_rows(where), pc.sum(recorded).as_py() or 0)

    def fingerprints(self, source_id: str) -> dict[str, str]:
        """See `Store.fingerprints`."""
        tables = self._folder.tables()
        if tables is None:
            return {}
        with self._folder.errors("read"):
            rows = _select(tables.documents, ["id", "fingerprint"], schema.is_in("source_id", [source_id]))
        return dict(zip(rows["id"].to_pylist(), rows["fingerprint"].to_pylist(), strict=True))

    def vectors_for(self, hashes: Sequence[str]) -> dict[str, Vector]:
        """See `Store.vectors_for`."""
        tables = self._folder.tables()
        if tables is None:
            return {}
        found: dict[str, Vector] = {}
        with self._folder.errors("read"):
            for piece in schema.slices(list(dict.fromkeys(hashes)), IDS_IN_A_CONDITION):
                rows = _select(tables.chunks, ["content_hash", "vector"], schema.is_in("content_hash", piece))
                found.update(zip(rows["content_hash"].to_pylist(), schema.to_vectors(rows), strict=True))
        return found

    def documents(self, source_id: str | None = None) -> Iterator[Document]:
        """See `Store.documents`. Read page by page, so that a slow reader holds no old version of the table."""
        tables = self._folder.tables()
        if tables is None:
            return
        where = None if source_id is None else schema.is_in("source_id", [source_id])
        with self._folder.errors("read"):
            ids = _select(tables.documents, ["id"], where)["id"]
        for start in range(0, len(ids), DOCUMENTS_IN_A_PAGE):
            page = ids.slice(start, DOCUMENTS_IN_A_PAGE).to_pylist()
            with self._folder.errors("read"):
                rows = _select(tables.documents, schema.DOCUMENT_COLUMNS, schema.is_in("id", page))
            yield from schema.to_documents(rows)

    def state(self, source_id: str) -> SourceState | None:
        """See `Store.state`."""
        return self.states().get(schema.clean(source_id))

    def states(self) -> dict[str, SourceState]:
        """See `Store.states`."""
        tables = self._folder.tables()
        if tables is None:
            return {}
        with self._folder.errors("read"):
            rows = _select(tables.state, ["key", "value"], f"key <> '{MANIFEST}'").to_pylist()
        states = (schema.to_state(json.loads(row["value"])) for row in rows)
        return {schema.clean(state.source_id): state for state in states}

    # ------------------------------------------------------------------------------------------------------ writing

    def replace(self, entries: Sequence[Entry]) -> None:
        """See `Store.replace`. Raises StoreError, with nothing written, for entries that cannot be stored together."""
        check_entries(entries, self._dimensions)
        for piece in schema.slices(entries, DOCUMENTS_IN_A_COMMIT):
            pending, complete = (schema.document_rows(piece, pending=pending) for pending in (True, False))
            with self._folder.writing("write to") as tables:
                _upsert(tables.documents, "id", pending)
                _replace_chunks(tables.chunks, piece, self._dimensions)
                _upsert(tables.documents, "id", complete)

    def delete(self, source_id: str, document_ids: Sequence[str]) -> int:
        """See `Store.delete`."""
        if not document_ids or self._folder.tables() is None:
            return 0
        deleted = 0
        with self._folder.writing("delete from") as tables:
            for piece in schema.slices(list(dict.fromkeys(document_ids)), IDS_IN_A_CONDITION):
                where = f"{schema.is_in('source_id', [source_id])} AND {schema.is_in('id', piece)}"
                found = _select(tables.documents, ["id"], where)["id"].to_pylist()
                if not found:
                    continue
                deleted += len(found)
                tables.documents.update(where=schema.is_in("id", found), values={"fingerprint": ""})
                tables.chunks.delete(schema.is_in("document_id", found))
                tables.documents.delete(schema.is_in("id", found))
        return deleted

    def save_state(self, state: SourceState) -> None:
        """See `Store.save_state`."""
        try:
            rows = schema.state_rows({f"source:{state.source_id}": schema.state_value(state)})
        except (TypeError, ValueError) as error:
            raise StoreError(f"The state of source {state.source_id!r} is not made of JSON values: {error}.") from error
        with self._folder.writing("write to") as tables:
            _upsert(tables.state, "key", rows)

    def optimize(self) -> None:
        """See `Store.optimize`. LanceDB rewrites a whole table to compact it, so this waits until enough has changed
        for that to pay; what is not indexed yet is found all the same.
        """
        if self._folder.tables() is None:
            return
        with self._folder.writing("optimize") as tables:
            for table in (tables.documents, tables.chunks, tables.state):
                if _is_due(table):
                    table.optimize(cleanup_older_than=KEEP_VERSIONS)


# ------------------------------------------------------------------------------------------------------------ helpers


def _select(table: Table, columns: Sequence[str], where: str | None) -> pa.Table:
    query = table.search().select(list(columns))
    return (query.where(where) if where else query).to_arrow()


def _upsert(table: Table, key: str, rows: pa.Table) -> None:
    table.merge_insert(key).when_matched_update_all().when_not_matched_insert_all().execute(rows)


def _replace_chunks(table: Table, entries: Sequence[Entry], dimensions: int) -> None:
    """Write the chunks and remove others of these documents, in one commit: a reader sees the old or the new ones."""
    import numpy as np

    of_these = schema.is_in("document_id", [entry.document.id for entry in entries])
    stored = set(_select(table, ["id"], of_these)["id"].to_pylist())
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


def _is_due(table: Table) -> bool:
    rows = table.count_rows()
    allowed = min(max(rows * UNINDEXED_SHARE, UNINDEXED_MINIMUM), UNINDEXED_MAXIMUM)
    if any(index.num_unindexed_rows > allowed for index in table.list_indices()):
        return True
    return bool(table.stats()["fragment_stats"]["num_small_fragments"] > FRAGMENTS_MAXIMUM)
