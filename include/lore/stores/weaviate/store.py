"""The server store: Weaviate through its own client, shared by threads, processes and machines.

Writers need no lock: object ids follow from the content, so writing the same again changes nothing. A replacement is
written in this order, so that writing it again repairs a kill between any two steps: the index records with an empty
fingerprint, documents, new chunks, the removal of old chunks, the index records with their fingerprints.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import TYPE_CHECKING

from lore.stores.manifest import IndexManifest
from lore.stores.validation import check_entries, check_query
from lore.stores.values import batched, state_json, to_chunk, to_state, valid_utf8
from lore.stores.weaviate.collections.catalog import SOURCE
from lore.stores.weaviate.collections.creation import create_index
from lore.stores.weaviate.collections.index import VersionCollections, WeaviateIndex
from lore.stores.weaviate.collections.schema import (
    DOCUMENT_INFO_PROPERTIES,
    DOCUMENT_PROPERTIES,
    SCHEMA_NUMBER,
    CollectionOptions,
    document_properties,
    object_id,
    to_document,
    to_document_info,
)
from lore.stores.weaviate.objects import read
from lore.stores.weaviate.objects.batches import RejectedObject, fetch_by_ids, write_error
from lore.stores.weaviate.objects.write import remove_chunks, remove_documents, replace_chunks, replace_documents
from lore.stores.weaviate.search.hybrid import queries_for, search
from lore.stores.weaviate.search.passages import WeaviatePassages
from lore.stores.weaviate.server.connection import WeaviateConnection, WeaviateServer
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
    from uuid import UUID

    from lore.types import Vector

DOCUMENTS_PER_WRITE = 128
DOCUMENTS_PER_PAGE = 64
DEFAULT_PREFIX = "Lore"
DEFAULT_OPTIONS = CollectionOptions()


class WeaviateStore:
    """A `Store` on a Weaviate server. The first write creates version 1; nothing is created before.

    Reads and writes the version that fits the `recipe` (`IndexManifest.compatible`; one without a splitter only reads),
    or the version `number`. Every call asks which version is live, except on a `snapshot`. Collection names
    begin with `prefix`; title words count `title_weight` times more; the recipe's choices, else `options`, decide how
    new collections are laid out. `server` may be an open index. Raises ConfigurationError for an invalid address,
    StoreError for a server that can't be read, IndexMismatchError if no version fits or its layout differs.
    """

    def __init__(
        self,
        server: WeaviateServer | WeaviateIndex,
        recipe: Recipe,
        *,
        number: int | None = None,
        prefix: str = DEFAULT_PREFIX,
        options: CollectionOptions = DEFAULT_OPTIONS,
        title_weight: float = 0.0,
    ) -> None:
        self._recipe = recipe
        self._number = number
        self._pinned: VersionCollections | None = None
        self._passages: WeaviatePassages | None = None
        self._options = options.for_recipe(recipe)
        self._title_weight = title_weight
        if isinstance(server, WeaviateIndex):
            self._index = server
        else:
            self._index = WeaviateIndex(WeaviateConnection(server), prefix=prefix)
        self._connection = self._index.connection
        with self._errors("open"):
            self._read()

    def _version(self, manifest: IndexManifest) -> IndexVersion:
        if self._number is not None:
            return manifest.version(self._number)
        version = manifest.compatible(self._recipe, SCHEMA_NUMBER)
        if version is None:
            raise manifest.mismatch(self._index.where, self._recipe, SCHEMA_NUMBER)
        return version

    def _read(self) -> VersionCollections | None:
        """The collections to read; None for an index that was never written to."""
        if self._pinned is not None:
            return self._pinned
        manifest = self._index.manifest()
        return self._index.open(self._version(manifest)) if manifest else None

    def _write(self) -> tuple[IndexManifest, VersionCollections]:
        """The collections to write, created if missing."""
        manifest = self._index.manifest() or create_index(self._index, self._recipe, self._options)
        return manifest, self._index.open_for_writing(manifest, self._version(manifest), self._options)

    def check_layout(self) -> None:
        """Raise IndexMismatchError, as the first write does, if the version's layout differs from the settings."""
        with self._errors("open"):
            if manifest := self._index.manifest():
                self._index.check_layout(self._index.layout(self._version(manifest).number), self._options)

    # ------------------------------------------------------------------------------------------------------ reading

    def snapshot(self) -> WeaviateStore:
        """See `Index.snapshot`. Asks which version is live, and every two seconds for the records of versions.

        Its searches ask neither again, and concurrent ones read each passage once.
        """
        if self._pinned is not None:
            return self
        with self._errors("open"):
            manifest = self._index.recent_manifest() if self._number is None else self._index.manifest()
            if manifest is None:
                return self
            version = self._version(manifest)
            if version.number not in (self._number, manifest.live):  # the fallback needs current records
                version = self._version(self._index.require_manifest())
            collections = self._index.open(version)
        pinned = copy(self)
        pinned._number, pinned._pinned, pinned._passages = version.number, collections, WeaviatePassages()
        return pinned

    def version(self) -> int | None:
        """See `Index.version`."""
        if self._number is not None:
            return self._number
        with self._errors("open"):
            manifest = self._index.manifest()
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
        """See `Index.search`. Keyword search is Weaviate's BM25 over our stems of title, headings and text."""
        check_query(vector, alpha, self._recipe.dimensions)
        if limit <= 0 or not audiences:
            return []
        import weaviate

        with self._errors("search"):
            collections = self._read()
            if collections is None:
                return []
            queries = queries_for(collections.chunks, weaviate.__version__)
            passages, weight = self._passages or WeaviatePassages(), self._title_weight
            return search(queries, passages, text, vector, limit, alpha, sources, audiences, title_weight=weight)

    def document(self, document_id: str) -> Document | None:
        """See `Index.document`."""
        with self._errors("read"):
            collections = self._read()
            if collections is None:
                return None
            row = collections.documents.query.fetch_object_by_id(
                object_id(document_id), return_properties=list(DOCUMENT_PROPERTIES)
            )
            return to_document(row.properties) if row else None

    def chunks(self, document_id: str) -> list[Chunk]:
        """See `Store.chunks`."""
        with self._errors("read"):
            collections = self._read()
            rows = read.chunk_objects(collections, [document_id], ["document_id", "payload"]) if collections else ()
            return sorted(
                (to_chunk(row.properties["payload"]) for row in rows), key=lambda chunk: (chunk.position, chunk.id)
            )

    def count(self, source_id: str | None = None) -> Counts:
        """See `Index.count`."""
        with self._errors("count"):
            collections = self._read()
            return read.count(collections, source_id) if collections else Counts(0, 0, 0)

    def document_fingerprints(
        self, source_id: str | None = None, *, ids: Sequence[str] | None = None
    ) -> dict[str, str]:
        """See `Store.document_fingerprints`."""
        with self._errors("read"):
            collections = self._read()
            return read.fingerprints(collections.documents, source_id, ids) if collections else {}

    def fingerprints(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> dict[str, str]:
        """See `Store.fingerprints`."""
        with self._errors("read"):
            collections = self._read()
            return read.fingerprints(collections.indexed, source_id, ids) if collections else {}

    def vectors_for(self, hashes: Sequence[str]) -> dict[str, Vector]:
        """See `Store.vectors_for`."""
        with self._errors("read"):
            collections = self._read()
            return read.vectors_for(collections, hashes) if collections else {}

    def documents(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> Iterator[Document]:
        """See `Store.documents`. Reads page by page."""
        with self._errors("read"):
            collections = self._read()
            if collections is None:
                return
            if ids is None:
                rows = read.source_objects(collections.documents, source_id, ["source_id"])
                keys = [row.uuid for row in rows]
            else:
                keys = [object_id(name) for name in dict.fromkeys(map(valid_utf8, ids))]
        for page in batched(keys, DOCUMENTS_PER_PAGE):
            with self._errors("read"):
                found = [
                    to_document(row.properties)
                    for row in fetch_by_ids(collections.documents, page, DOCUMENT_PROPERTIES)
                ]
            yield from (one for one in found if source_id is None or one.source_id == valid_utf8(source_id))

    def document_infos(self, source_id: str) -> Iterator[DocumentInfo]:
        """See `Store.document_infos`."""
        with self._errors("read"):
            collections = self._read()
            rows = (
                read.source_objects(collections.documents, source_id, DOCUMENT_INFO_PROPERTIES) if collections else ()
            )
            yield from (to_document_info(row.properties) for row in rows)

    def state(self, source_id: str) -> SourceState | None:
        """See `Store.state`."""
        return self.states().get(valid_utf8(source_id))

    def states(self) -> dict[str, SourceState]:
        """See `Store.states`."""
        with self._errors("read"):
            values = [row["value"] for row in self._index.records(SOURCE)] if self._read() else []
        states = (to_state(value) for value in values)
        return {valid_utf8(state.source_id): state for state in states}

    # ------------------------------------------------------------------------------------------------------ writing

    def replace(self, entries: Sequence[EmbeddedDocument]) -> None:
        """See `Store.replace`. Raises StoreError for invalid entries, and then writes nothing.

        If the server rejects single objects, the other documents are completed and the StoreError names these.
        """
        check_entries(entries, self._recipe.dimensions)
        properties = {entry.document.id: document_properties(entry) for entry in entries}
        rejected: list[RejectedObject] = []
        for batch in batched(entries, DOCUMENTS_PER_WRITE):
            with self._errors("write to"):
                _, collections = self._write()
                rejected += replace_documents(collections, batch, properties)
        if rejected:
            raise write_error(rejected, self._connection.explain)

    def replace_chunks(self, entries: Sequence[EmbeddedDocument]) -> int:
        """See `Store.replace_chunks`. Raises StoreError as `replace` does.

        A sync may change one of these documents at the same moment. Its fingerprint here then differs from the stored
        document's, so a later comparison of `document_fingerprints` with `fingerprints` writes it again.
        """
        check_entries(entries, self._recipe.dimensions)
        rejected: list[RejectedObject] = []
        written = 0
        for batch in batched(entries, DOCUMENTS_PER_WRITE):
            with self._errors("write to"):
                _, collections = self._write()
                keys = [object_id(entry.document.id) for entry in batch]
                rows = fetch_by_ids(collections.documents, keys, ["fingerprint"])
                kept = {row.uuid: row.properties.get("fingerprint") for row in rows}
                fresh = [entry for entry, key in zip(batch, keys, strict=True) if kept.get(key) == entry.fingerprint]
                failed = replace_chunks(collections, fresh) if fresh else []
            written += len(fresh) - len({failure.document_id for failure in failed})
            rejected += failed
        if rejected:
            raise write_error(rejected, self._connection.explain)
        return written

    def delete(self, source_id: str, document_ids: Sequence[str]) -> int:
        """See `Store.delete`."""
        deleted = 0
        with self._errors("delete from"):
            if not document_ids or self._read() is None:
                return 0
            for batch in self._batches(document_ids):
                manifest, _ = self._write()
                versions = self._index.open_all(manifest)
                deleted += remove_documents(versions, source_id, batch, self._connection.explain)
        return deleted

    def remove_chunks(self, document_ids: Sequence[str]) -> None:
        """See `Store.remove_chunks`."""
        with self._errors("delete from"):
            for batch in self._batches(document_ids):
                _, collections = self._write()
                kept = {row.uuid for row in fetch_by_ids(collections.documents, batch, ["document_id"])}
                remove_chunks(collections, [key for key in batch if key not in kept], self._connection.explain)

    def save_state(self, state: SourceState) -> None:
        """See `Store.save_state`."""
        value = state_json(state)
        with self._errors("write to"):
            self._write()
            self._index.record(SOURCE, valid_utf8(state.source_id), value)

    def remove_state(self, source_id: str) -> None:
        """See `Store.remove_state`."""
        with self._errors("write to"):
            if self._read() is not None:
                self._index.remove_source(valid_utf8(source_id))

    def optimize(self) -> None:
        """See `Store.optimize`. Does nothing: Weaviate maintains its indexes itself."""

    def _batches(self, document_ids: Sequence[str]) -> Iterator[Sequence[UUID]]:
        return batched([object_id(name) for name in dict.fromkeys(map(valid_utf8, document_ids))], DOCUMENTS_PER_WRITE)

    def _errors(self, action: str) -> AbstractContextManager[None]:
        return self._connection.errors(action, self._index.invalidate)
