"""The embedded store: LanceDB in a local folder, shared safely by threads and processes.

A replacement is written in this order, so that a kill between any two steps is healed by writing it again: marks with
an empty fingerprint, documents, their chunks (new in and old out in one commit), marks with their fingerprints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING

from lore.errors import StoreError
from lore.stores import schema
from lore.stores.checks import check_entries, check_query
from lore.stores.lancedb.folder import LOCK_TIMEOUT, LanceFolder, Tables
from lore.stores.lancedb.index import optimize, optimize_chunks
from lore.stores.lancedb.readers import run
from lore.stores.lancedb.rows import LanceRows
from lore.stores.lancedb.search import search, visible
from lore.stores.lancedb.tables import NOT_BLANK, remove_chunks, replace_chunks, select, sweep, upsert
from lore.stores.manifest import Manifest
from lore.types import (
    PUBLIC,
    Chunk,
    Counts,
    Document,
    DocumentInfo,
    EmbeddedDocument,
    Hit,
    IndexVersion,
    Recipe,
    SourceState,
)

if TYPE_CHECKING:
    from lore.stores.lancedb.folder import Table
    from lore.types import Vector

IDS_IN_A_CONDITION = 500
DOCUMENTS_IN_A_COMMIT = 256
DOCUMENTS_IN_A_PAGE = 64


class LanceStore:
    """A `Store` in a folder of the local disk. Nothing is made on disk before the first write, which makes version 1.

    It reads and writes the version that fits the `recipe` (a recipe without a splitter reads only), see
    `Manifest.fitting`; or the one of that `number`. Raises ConfigurationError when `uri` is not a local folder and
    IndexMismatchError when no version fits, both at once. `lock_timeout` is how many seconds a write waits for others.
    A folder that is open already may be given for the `uri`.
    """

    def __init__(
        self, uri: str | LanceFolder, recipe: Recipe, *, number: int | None = None, lock_timeout: float = LOCK_TIMEOUT
    ) -> None:
        self._recipe = recipe
        self._number = number
        self._made: datetime | None = None
        self._passages: LanceRows | None = None
        self._folder = LanceFolder(uri, lock_timeout=lock_timeout) if isinstance(uri, str) else uri
        self._tables()

    def _version(self, manifest: Manifest) -> IndexVersion:
        if self._number is not None:
            version = manifest.version(self._number)
            if self._made not in (None, version.created_at):  # what was read of the one before must not be mixed in
                raise StoreError(
                    f"Version {self._number} of the index in {self._folder.path} was made anew while it was read.",
                    remedy="Try again.",
                    retryable=True,
                )
            return version
        fitting = manifest.fitting(self._recipe, schema.SCHEMA_NUMBER)
        if fitting is None:
            raise manifest.mismatch(f"in {self._folder.path}", self._recipe, schema.SCHEMA_NUMBER)
        return fitting

    def _tables(self) -> Tables | None:
        """The tables to read; None where nothing was written yet."""
        manifest = self._folder.manifest()
        return self._folder.tables(self._version(manifest)) if manifest else None

    def _writable(self) -> Tables:
        """The tables to write, made where there are none; to be called while the lock is held."""
        manifest = self._folder.manifest() or self._folder.make(self._recipe)
        return self._folder.tables(self._version(manifest))

    # ------------------------------------------------------------------------------------------------------ reading

    def snapshot(self) -> LanceStore:
        """See `Index.snapshot`. What its searches find in common is read once. It reads that very version: its calls
        raise StoreError once another one has its number, because the index was made anew.
        """
        manifest = self._folder.manifest()
        if manifest is None:
            return self
        held, version = copy(self), self._version(manifest)
        held._number, held._made = version.number, version.created_at
        held._passages = LanceRows()
        return held

    def version(self) -> int | None:
        """See `Index.version`."""
        if self._number is not None:
            return self._number
        manifest = self._folder.manifest()
        return self._version(manifest).number if manifest else None

    def search(
        self,
        text: str,
        vector: Vector | None,
        limit: int,
        alpha: float,
        sources: Sequence[str] = (),
        audiences: Sequence[str] = (PUBLIC,),
    ) -> list[Hit]:
        """See `Index.search`. Keyword search is BM25 over stemmed title, headings and text; vector search is exact up
        to 4,000 chunks and finds nearly all of the nearest beyond.
        """
        check_query(vector, alpha, self._recipe.dimensions)
        tables = self._tables()
        if tables is None or limit <= 0 or not audiences:
            return []
        passages, where = self._passages or LanceRows(), visible(sources, audiences)

        async def found() -> list[Hit]:
            async with tables.readers.newest() as chunks:
                return await search(chunks, passages, text, vector, limit, alpha, where)

        with self._folder.errors("search"):
            return run(found())

    def document(self, document_id: str) -> Document | None:
        """See `Index.document`."""
        tables = self._tables()
        if tables is None:
            return None
        with self._folder.errors("read"):
            rows = select(tables.documents, schema.DOCUMENT_COLUMNS, schema.is_in("id", [document_id]))
        return next(iter(schema.to_documents(rows)), None)

    def chunks(self, document_id: str) -> list[Chunk]:
        """See `Store.chunks`."""
        tables = self._tables()
        if tables is None:
            return []
        with self._folder.errors("read"):
            rows = select(tables.chunks, ["payload"], schema.is_in("document_id", [document_id]))
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

        tables = self._tables()
        if tables is None:
            return Counts(0, 0, 0)
        where = None if source_id is None else schema.is_in("source_id", [source_id])
        with self._folder.errors("count"):
            recorded = select(tables.marks, ["chunk_count"], where)["chunk_count"]
            chunks = tables.chunks.count_rows(where or NOT_BLANK)
            return Counts(len(recorded), chunks, pc.sum(recorded).as_py() or 0)

    def document_fingerprints(
        self, source_id: str | None = None, *, ids: Sequence[str] | None = None
    ) -> dict[str, str]:
        """See `Store.document_fingerprints`."""
        tables = self._tables()
        return self._fingerprints(tables.documents, source_id, ids) if tables else {}

    def fingerprints(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> dict[str, str]:
        """See `Store.fingerprints`."""
        tables = self._tables()
        return self._fingerprints(tables.marks, source_id, ids) if tables else {}

    def _fingerprints(self, table: Table, source_id: str | None, ids: Sequence[str] | None) -> dict[str, str]:
        of_source = [] if source_id is None else [schema.is_in("source_id", [source_id])]
        pieces = [None] if ids is None else schema.slices(list(dict.fromkeys(ids)), IDS_IN_A_CONDITION)
        found: dict[str, str] = {}
        for piece in pieces:
            where = [*of_source, *([] if piece is None else [schema.is_in("id", piece)])]
            with self._folder.errors("read"):
                rows = select(table, ["id", "fingerprint"], " AND ".join(where) or None)
            found.update(zip(rows["id"].to_pylist(), rows["fingerprint"].to_pylist(), strict=True))
        return found

    def vectors_for(self, hashes: Sequence[str]) -> dict[str, Vector]:
        """See `Store.vectors_for`."""
        tables = self._tables()
        if tables is None:
            return {}
        found: dict[str, Vector] = {}
        with self._folder.errors("read"):
            for piece in schema.slices(list(dict.fromkeys(hashes)), IDS_IN_A_CONDITION):
                rows = select(tables.chunks, ["content_hash", "vector"], schema.is_in("content_hash", piece))
                found.update(zip(rows["content_hash"].to_pylist(), schema.to_vectors(rows), strict=True))
        return found

    def documents(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> Iterator[Document]:
        """See `Store.documents`. Read page by page, so that a slow reader holds no old version of the table."""
        tables = self._tables()
        if tables is None:
            return
        names: Sequence[str] = list(ids) if ids is not None else []
        where = None if source_id is None else schema.is_in("source_id", [source_id])
        if ids is None:
            with self._folder.errors("read"):
                names = select(tables.documents, ["id"], where)["id"].to_pylist()
        for page in schema.slices(names, DOCUMENTS_IN_A_PAGE):
            of_these = schema.is_in("id", page)
            with self._folder.errors("read"):
                rows = select(
                    tables.documents, schema.DOCUMENT_COLUMNS, f"{where} AND {of_these}" if where else of_these
                )
            yield from schema.to_documents(rows)

    def document_infos(self, source_id: str) -> Iterator[DocumentInfo]:
        """See `Store.outlines`. One read of the columns that are wanted: some 600 bytes a document."""
        tables = self._tables()
        if tables is None:
            return
        with self._folder.errors("read"):
            rows = select(tables.documents, schema.OUTLINE_COLUMNS, schema.is_in("source_id", [source_id]))
        yield from schema.to_document_infos(rows)

    def state(self, source_id: str) -> SourceState | None:
        """See `Store.state`."""
        return self.states().get(schema.clean(source_id))

    def states(self) -> dict[str, SourceState]:
        """See `Store.states`."""
        tables = self._tables()
        if tables is None:
            return {}
        with self._folder.errors("read"):
            rows = select(tables.state, ["key", "value"], None).to_pylist()
        states = (schema.to_state(json.loads(row["value"])) for row in rows)
        return {schema.clean(state.source_id): state for state in states}

    # ------------------------------------------------------------------------------------------------------ writing

    def replace(self, entries: Sequence[EmbeddedDocument]) -> None:
        """See `Store.replace`. Raises StoreError, with nothing written, for entries that cannot be stored together."""
        check_entries(entries, self._recipe.dimensions)
        for piece in schema.slices(entries, DOCUMENTS_IN_A_COMMIT):
            documents = schema.document_rows(piece)
            with self._folder.writing("write to"):
                tables = self._writable()
                upsert(tables.marks, "id", schema.mark_rows(piece, pending=True))
                upsert(tables.documents, "id", documents)
                replace_chunks(tables.chunks, piece)
                upsert(tables.marks, "id", schema.mark_rows(piece, pending=False))

    def replace_chunks(self, entries: Sequence[EmbeddedDocument]) -> int:
        """See `Store.replace_chunks`. Raises StoreError, with nothing written, as `replace` does."""
        check_entries(entries, self._recipe.dimensions)
        written = 0
        for piece in schema.slices(entries, DOCUMENTS_IN_A_COMMIT):
            with self._folder.writing("write to"):
                tables = self._writable()
                of_these = schema.is_in("id", [entry.document.id for entry in piece])
                rows = select(tables.documents, ["id", "fingerprint"], of_these)
                kept = dict(zip(rows["id"].to_pylist(), rows["fingerprint"].to_pylist(), strict=True))
                fresh = [entry for entry in piece if kept.get(entry.document.id) == entry.fingerprint]
                if fresh:
                    upsert(tables.marks, "id", schema.mark_rows(fresh, pending=True))
                    replace_chunks(tables.chunks, fresh)
                    upsert(tables.marks, "id", schema.mark_rows(fresh, pending=False))
                written += len(fresh)
        return written

    def delete(self, source_id: str, document_ids: Sequence[str]) -> int:
        """See `Store.delete`."""
        if not document_ids or self._tables() is None:
            return 0
        deleted = 0
        with self._folder.writing("delete from"):
            mine = self._writable()
            versions = [self._folder.tables(version) for version in self._folder.held().versions]
            for piece in schema.slices(list(dict.fromkeys(document_ids)), IDS_IN_A_CONDITION):
                where = f"{schema.is_in('source_id', [source_id])} AND {schema.is_in('id', piece)}"
                found = set(select(mine.documents, ["id"], where)["id"].to_pylist())
                deleted += len(found)
                for tables in versions:  # a version may hold what a killed deletion took out of the documents
                    remove_chunks(tables, found.union(select(tables.marks, ["id"], where)["id"].to_pylist()))
                if found:
                    mine.documents.delete(schema.is_in("id", found))
                for tables in versions:
                    tables.marks.delete(where)
        return deleted

    def remove_chunks(self, document_ids: Sequence[str]) -> None:
        """See `Store.remove_chunks`."""
        for piece in schema.slices(list(dict.fromkeys(document_ids)), IDS_IN_A_CONDITION):
            with self._folder.writing("delete from"):
                tables = self._writable()
                kept = select(tables.documents, ["id"], schema.is_in("id", piece))["id"].to_pylist()
                if gone := set(piece).difference(kept):
                    remove_chunks(tables, gone)
                    tables.marks.delete(schema.is_in("id", gone))

    def save_state(self, state: SourceState) -> None:
        """See `Store.save_state`."""
        try:
            rows = schema.state_rows({f"source:{state.source_id}": schema.state_value(state)})
        except (TypeError, ValueError) as error:
            raise StoreError(f"The state of source {state.source_id!r} is not made of JSON values: {error}.") from error
        with self._folder.writing("write to"):
            upsert(self._writable().state, "key", rows)

    def optimize(self) -> None:
        """See `Store.optimize`. What is not indexed yet is found all the same."""
        if self._tables() is None:
            return
        with self._folder.writing("optimize"):
            tables = self._writable()
            sweep(tables.chunks)
            optimize_chunks(tables.chunks)
            for table in (tables.documents, tables.marks, tables.state):
                optimize(table)
