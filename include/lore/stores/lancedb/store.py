"""The embedded store: LanceDB in a local folder, shared safely by threads and processes.

A replacement is written in this order, so that writing it again repairs a kill between any two steps: the index
records with an empty fingerprint, documents, their chunks (new in and old out in one commit), the index records with
their fingerprints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from typing import TYPE_CHECKING

from lore.errors import StoreError
from lore.stores.lancedb import schema
from lore.stores.lancedb.folder import LOCK_TIMEOUT, LanceFolder, VersionTables
from lore.stores.lancedb.index import optimize, optimize_chunks
from lore.stores.lancedb.passages import LancePassages
from lore.stores.lancedb.readers import run
from lore.stores.lancedb.search import search, visible
from lore.stores.lancedb.summary import save_summary
from lore.stores.lancedb.tables import NOT_BLANK, delete_blank_rows, remove_chunks, replace_chunks, select, upsert
from lore.stores.manifest import IndexManifest
from lore.stores.validation import check_entries, check_query
from lore.stores.values import DOCUMENT_COLUMNS, DOCUMENT_INFO_COLUMNS, batched, to_state, valid_utf8
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

IDS_PER_CONDITION = 500
DOCUMENTS_PER_COMMIT = 256
DOCUMENTS_PER_PAGE = 64


class LanceStore:
    """A `Store` in a local folder. The first write creates version 1; nothing is created on disk before.

    Reads and writes the version that fits the `recipe` (`IndexManifest.compatible`; one without a splitter only reads),
    or the version `number`. A write waits `lock_timeout` seconds for others. `uri` may be an open folder.
    Raises ConfigurationError if `uri` is not a local folder, and IndexMismatchError if no version fits.
    """

    def __init__(
        self, uri: str | LanceFolder, recipe: Recipe, *, number: int | None = None, lock_timeout: float = LOCK_TIMEOUT
    ) -> None:
        self._recipe = recipe
        self._number = number
        self._created_at: datetime | None = None
        self._passages: LancePassages | None = None
        self._folder = LanceFolder(uri, lock_timeout=lock_timeout) if isinstance(uri, str) else uri
        self._tables()

    def _version(self, manifest: IndexManifest) -> IndexVersion:
        if self._number is not None:
            version = manifest.version(self._number)
            if self._created_at not in (None, version.created_at):  # don't mix the two
                raise StoreError(
                    f"Version {self._number} of the index in {self._folder.path} was rebuilt while you read it.",
                    remedy="Try again.",
                    retryable=True,
                )
            return version
        compatible = manifest.compatible(self._recipe, schema.SCHEMA_NUMBER)
        if compatible is None:
            raise manifest.mismatch(f"in {self._folder.path}", self._recipe, schema.SCHEMA_NUMBER)
        return compatible

    def _tables(self) -> VersionTables | None:
        """The tables to read; None for an index that was never written to."""
        manifest = self._folder.manifest()
        return self._folder.tables(self._version(manifest)) if manifest else None

    def _writable(self) -> VersionTables:
        """The tables to write, created if missing. Hold the lock."""
        manifest = self._folder.manifest() or self._folder.create(self._recipe)
        return self._folder.tables(self._version(manifest))

    # ------------------------------------------------------------------------------------------------------ reading

    def snapshot(self) -> LanceStore:
        """See `Index.snapshot`. Its searches share a cache of passages.

        Its calls raise StoreError once the index was rebuilt and another version has the same number.
        """
        manifest = self._folder.manifest()
        if manifest is None:
            return self
        pinned, version = copy(self), self._version(manifest)
        pinned._number, pinned._created_at = version.number, version.created_at
        pinned._passages = LancePassages()
        return pinned

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
        """See `Index.search`. Keyword search is BM25 over stemmed title, headings and text.

        Vector search is exact up to 4,000 chunks, and approximate beyond.
        """
        check_query(vector, alpha, self._recipe.dimensions)
        tables = self._tables()
        if tables is None or limit <= 0 or not audiences:
            return []
        passages, where = self._passages or LancePassages(), visible(sources, audiences)

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
            rows = select(tables.documents, DOCUMENT_COLUMNS, schema.sql_in("id", [document_id]))
        return next(iter(schema.to_documents(rows)), None)

    def chunks(self, document_id: str) -> list[Chunk]:
        """See `Store.chunks`."""
        tables = self._tables()
        if tables is None:
            return []
        with self._folder.errors("read"):
            rows = select(tables.chunks, ["payload"], schema.sql_in("document_id", [document_id]))
        return sorted(schema.to_chunks(rows), key=lambda chunk: (chunk.position, chunk.id))

    def count(self, source_id: str | None = None) -> Counts:
        """See `Index.count`. Counts again with writers locked out if the figures disagree."""
        counts = self._count(source_id)
        if counts.chunks != counts.recorded_chunks:
            with suppress(StoreError), self._folder.locked("count"):
                counts = self._count(source_id)
        return counts

    def _count(self, source_id: str | None) -> Counts:
        import pyarrow.compute as pc

        tables = self._tables()
        if tables is None:
            return Counts(0, 0, 0)
        where = None if source_id is None else schema.sql_in("source_id", [source_id])
        with self._folder.errors("count"):
            recorded = select(tables.indexed, ["chunk_count"], where)["chunk_count"]
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
        return self._fingerprints(tables.indexed, source_id, ids) if tables else {}

    def _fingerprints(self, table: Table, source_id: str | None, ids: Sequence[str] | None) -> dict[str, str]:
        of_source = [] if source_id is None else [schema.sql_in("source_id", [source_id])]
        pieces = [None] if ids is None else batched(list(dict.fromkeys(ids)), IDS_PER_CONDITION)
        found: dict[str, str] = {}
        for piece in pieces:
            where = [*of_source, *([] if piece is None else [schema.sql_in("id", piece)])]
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
            for piece in batched(list(dict.fromkeys(hashes)), IDS_PER_CONDITION):
                rows = select(tables.chunks, ["content_hash", "vector"], schema.sql_in("content_hash", piece))
                found.update(zip(rows["content_hash"].to_pylist(), schema.to_vectors(rows), strict=True))
        return found

    def documents(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> Iterator[Document]:
        """See `Store.documents`. Reads page by page, so that a slow reader pins no old commit."""
        tables = self._tables()
        if tables is None:
            return
        names: Sequence[str] = list(ids) if ids is not None else []
        where = None if source_id is None else schema.sql_in("source_id", [source_id])
        if ids is None:
            with self._folder.errors("read"):
                names = select(tables.documents, ["id"], where)["id"].to_pylist()
        for page in batched(names, DOCUMENTS_PER_PAGE):
            of_these = schema.sql_in("id", page)
            with self._folder.errors("read"):
                rows = select(tables.documents, DOCUMENT_COLUMNS, f"{where} AND {of_these}" if where else of_these)
            yield from schema.to_documents(rows)

    def document_infos(self, source_id: str) -> Iterator[DocumentInfo]:
        """See `Store.document_infos`. Reads the columns at once, some 600 bytes a document."""
        tables = self._tables()
        if tables is None:
            return
        with self._folder.errors("read"):
            rows = select(tables.documents, DOCUMENT_INFO_COLUMNS, schema.sql_in("source_id", [source_id]))
        yield from schema.to_document_infos(rows)

    def state(self, source_id: str) -> SourceState | None:
        """See `Store.state`."""
        return self.states().get(valid_utf8(source_id))

    def states(self) -> dict[str, SourceState]:
        """See `Store.states`."""
        tables = self._tables()
        if tables is None:
            return {}
        with self._folder.errors("read"):
            rows = select(tables.state, ["key", "value"], None).to_pylist()
        states = (to_state(row["value"]) for row in rows)
        return {valid_utf8(state.source_id): state for state in states}

    # ------------------------------------------------------------------------------------------------------ writing

    def replace(self, entries: Sequence[EmbeddedDocument]) -> None:
        """See `Store.replace`. Raises StoreError for invalid entries, and then writes nothing."""
        check_entries(entries, self._recipe.dimensions)
        for piece in batched(entries, DOCUMENTS_PER_COMMIT):
            documents = schema.document_rows(piece)
            with self._folder.locked("write to"):
                tables = self._writable()
                upsert(tables.indexed, "id", schema.indexed_rows(piece, pending=True))
                upsert(tables.documents, "id", documents)
                replace_chunks(tables.chunks, piece)
                upsert(tables.indexed, "id", schema.indexed_rows(piece, pending=False))

    def replace_chunks(self, entries: Sequence[EmbeddedDocument]) -> int:
        """See `Store.replace_chunks`. Raises StoreError as `replace` does."""
        check_entries(entries, self._recipe.dimensions)
        written = 0
        for piece in batched(entries, DOCUMENTS_PER_COMMIT):
            with self._folder.locked("write to"):
                tables = self._writable()
                of_these = schema.sql_in("id", [entry.document.id for entry in piece])
                rows = select(tables.documents, ["id", "fingerprint"], of_these)
                kept = dict(zip(rows["id"].to_pylist(), rows["fingerprint"].to_pylist(), strict=True))
                fresh = [entry for entry in piece if kept.get(entry.document.id) == entry.fingerprint]
                if fresh:
                    upsert(tables.indexed, "id", schema.indexed_rows(fresh, pending=True))
                    replace_chunks(tables.chunks, fresh)
                    upsert(tables.indexed, "id", schema.indexed_rows(fresh, pending=False))
                written += len(fresh)
        return written

    def delete(self, source_id: str, document_ids: Sequence[str]) -> int:
        """See `Store.delete`."""
        if not document_ids or self._tables() is None:
            return 0
        deleted = 0
        with self._folder.locked("delete from"):
            mine = self._writable()
            versions = [self._folder.tables(version) for version in self._folder.require_manifest().versions]
            for piece in batched(list(dict.fromkeys(document_ids)), IDS_PER_CONDITION):
                where = f"{schema.sql_in('source_id', [source_id])} AND {schema.sql_in('id', piece)}"
                found = set(select(mine.documents, ["id"], where)["id"].to_pylist())
                deleted += len(found)
                for tables in versions:  # a killed deletion may have removed the document but not its chunks
                    remove_chunks(tables, found.union(select(tables.indexed, ["id"], where)["id"].to_pylist()))
                if found:
                    mine.documents.delete(schema.sql_in("id", found))
                for tables in versions:
                    tables.indexed.delete(where)
        return deleted

    def remove_chunks(self, document_ids: Sequence[str]) -> None:
        """See `Store.remove_chunks`."""
        for piece in batched(list(dict.fromkeys(document_ids)), IDS_PER_CONDITION):
            with self._folder.locked("delete from"):
                tables = self._writable()
                kept = select(tables.documents, ["id"], schema.sql_in("id", piece))["id"].to_pylist()
                if gone := set(piece).difference(kept):
                    remove_chunks(tables, gone)
                    tables.indexed.delete(schema.sql_in("id", gone))

    def save_state(self, state: SourceState) -> None:
        """See `Store.save_state`."""
        rows = schema.state_rows([state])
        with self._folder.locked("write to"):
            upsert(self._writable().state, "key", rows)
            self._save_summary()

    def remove_state(self, source_id: str) -> None:
        """See `Store.remove_state`."""
        if self._tables() is not None:
            with self._folder.locked("write to"):
                self._writable().state.delete(schema.sql_in("key", [schema.state_key(source_id)]))
                self._save_summary()

    def _save_summary(self) -> None:
        tables, manifest = self._tables(), self._folder.manifest()
        if tables is not None and manifest is not None:
            save_summary(self._folder.path, self._version(manifest), tables, self.states())

    def optimize(self) -> None:
        """See `Store.optimize`. Searches also find rows that are not indexed yet."""
        if self._tables() is None:
            return
        with self._folder.locked("optimize"):
            tables = self._writable()
            delete_blank_rows(tables.chunks)
            optimize_chunks(tables.chunks)
            for table in (tables.documents, tables.indexed, tables.state):
                optimize(table)
