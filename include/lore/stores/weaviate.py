"""The server store: Weaviate through its own client over gRPC, shared by threads, processes and machines.

No lock keeps writers apart: object ids follow from what is stored, so that writing the same again changes nothing. A
replacement is written in this order, so that a kill between any two steps is healed by writing it again: documents with
an empty fingerprint, new chunks, the removal of old chunks, documents with their fingerprints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from include.lore.errors import StoreError
from include.lore.stores.checks import check_entries, check_query
from include.lore.stores.schema import clean, slices, state_value, to_state
from include.lore.stores.weaviate_collections import WeaviateIndex
from include.lore.stores.weaviate_connection import WeaviateConnection, WeaviateServer
from include.lore.stores.weaviate_rows import IDS_IN_A_CONDITION, PAGE, Refused, Row, by_ids, equal, insert, report
from include.lore.stores.weaviate_schema import (
    CHUNK_PROPERTIES,
    DOCUMENT_PROPERTIES,
    VECTOR_NAME,
    Shape,
    document_properties,
    key_of,
    to_chunk,
    to_document,
)
from include.lore.stores.weaviate_search import search
from include.lore.stores.weaviate_write import chunk_rows, remove_documents, replace_documents, source_rows
from include.lore.types import PUBLIC, Chunk, Counts, Document, Entry, Hit, SourceState

if TYPE_CHECKING:
    from include.lore.types import Vector

DOCUMENTS_IN_A_WRITE = 128
DOCUMENTS_IN_A_PAGE = 64
SOURCE = "source:"
DEFAULT_PREFIX = "Lore"
DEFAULT_SHAPE = Shape()


class WeaviateStore:
    """A `Store` on a Weaviate server. Nothing is made there before the first write.

    Collections are named `prefix` and "Documents", "State" and "Chunks_1", with the alias "Chunks". Words of the title
    count `title_weight` times more. Raises ConfigurationError for an address that is none, StoreError for a server
    that cannot be read, IndexMismatchError for an index of another embedder or layout, all at once.
    """

    def __init__(
        self,
        server: WeaviateServer,
        *,
        embedder_name: str,
        dimensions: int,
        prefix: str = DEFAULT_PREFIX,
        shape: Shape = DEFAULT_SHAPE,
        title_weight: float = 0.0,
    ) -> None:
        self._dimensions = dimensions
        self._title_weight = title_weight
        self._connection = WeaviateConnection(server)
        self._index = WeaviateIndex(
            self._connection, prefix=prefix, embedder_name=embedder_name, dimensions=dimensions, shape=shape
        )
        with self._errors("open"):
            self._index.collections()

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
        """See `Index.search`. Keyword search is Weaviate's BM25 over our stems of title, headings and text."""
        check_query(vector, alpha, self._dimensions)
        if limit <= 0 or not audiences:
            return []
        with self._errors("search"):
            held = self._index.collections()
            if held is None:
                return []
            weight = self._title_weight
            return search(held.chunks, text, vector, limit, alpha, sources, audiences, title_weight=weight)

    def document(self, document_id: str) -> Document | None:
        """See `Index.document`."""
        with self._errors("read"):
            held = self._index.collections()
            if held is None:
                return None
            row = held.documents.query.fetch_object_by_id(
                key_of(document_id), return_properties=list(DOCUMENT_PROPERTIES)
            )
            return to_document(row.properties) if row else None

    def chunks(self, document_id: str) -> list[Chunk]:
        """See `Store.chunks`."""
        with self._errors("read"):
            held = self._index.collections()
            if held is None:
                return []
            rows = chunk_rows(held, [document_id], CHUNK_PROPERTIES)
            return sorted((to_chunk(row.properties) for row in rows), key=lambda chunk: (chunk.position, chunk.id))

    def count(self, source_id: str | None = None) -> Counts:
        """See `Index.count`."""
        from weaviate.classes.aggregate import Metrics

        with self._errors("count"):
            held = self._index.collections()
            if held is None:
                return Counts(0, 0, 0)
            where = None if source_id is None else equal("source_id", [clean(source_id)])
            recorded = Metrics("chunk_count").integer(sum_=True)
            documents = held.documents.aggregate.over_all(filters=where, total_count=True, return_metrics=recorded)
            chunks = held.chunks.aggregate.over_all(filters=where, total_count=True)
            total = documents.properties["chunk_count"].sum_ if documents.total_count else 0
            return Counts(documents.total_count or 0, chunks.total_count or 0, int(total or 0))

    def fingerprints(self, source_id: str) -> dict[str, str]:
        """See `Store.fingerprints`."""
        with self._errors("read"):
            held = self._index.collections()
            if held is None:
                return {}
            rows = source_rows(held, source_id, ["document_id", "source_id", "fingerprint"])
            return {row.properties["document_id"]: row.properties.get("fingerprint") or "" for row in rows}

    def vectors_for(self, hashes: Sequence[str]) -> dict[str, Vector]:
        """See `Store.vectors_for`. A hash may be that of many chunks, so ask until every one that is known was seen."""
        import numpy as np

        found: dict[str, Vector] = {}
        with self._errors("read"):
            held = self._index.collections()
            if held is None:
                return {}
            for piece in slices(list(dict.fromkeys(hashes)), IDS_IN_A_CONDITION):
                missing, full = list(piece), True
                while missing and full:
                    rows = held.chunks.query.fetch_objects(
                        filters=equal("content_hash", missing),
                        limit=IDS_IN_A_CONDITION,
                        include_vector=[VECTOR_NAME],
                        return_properties=["content_hash"],
                    ).objects
                    for row in rows:
                        found[row.properties["content_hash"]] = np.array(row.vector[VECTOR_NAME], dtype=np.float32)
                    missing, full = [name for name in missing if name not in found], len(rows) == IDS_IN_A_CONDITION
        return found

    def documents(self, source_id: str | None = None) -> Iterator[Document]:
        """See `Store.documents`. The texts are read page by page."""
        with self._errors("read"):
            held = self._index.collections()
            if held is None:
                return
            names = ["document_id", "source_id"]
            if source_id is None:
                rows = held.documents.iterator(return_properties=names, cache_size=PAGE)
            else:
                rows = source_rows(held, source_id, names)
            ids = [row.uuid for row in rows]
        for page in slices(ids, DOCUMENTS_IN_A_PAGE):
            with self._errors("read"):
                found = [to_document(row.properties) for row in by_ids(held.documents, page, DOCUMENT_PROPERTIES)]
            yield from found

    def state(self, source_id: str) -> SourceState | None:
        """See `Store.state`."""
        return self.states().get(clean(source_id))

    def states(self) -> dict[str, SourceState]:
        """See `Store.states`."""
        with self._errors("read"):
            held = self._index.collections()
            if held is None:
                return {}
            rows = [row.properties for row in held.state.iterator(return_properties=["key", "value"])]
        states = (to_state(json.loads(row["value"])) for row in rows if row["key"].startswith(SOURCE))
        return {clean(state.source_id): state for state in states}

    # ------------------------------------------------------------------------------------------------------ writing

    def replace(self, entries: Sequence[Entry]) -> None:
        """See `Store.replace`. Raises StoreError, with nothing written, for entries that cannot be stored together.

        When the server refuses single objects, the other documents are completed and the error names these.
        """
        check_entries(entries, self._dimensions)
        rows = {entry.document.id: document_properties(entry) for entry in entries}
        refused: list[Refused] = []
        for piece in slices(entries, DOCUMENTS_IN_A_WRITE):
            with self._errors("write to"):
                held = self._index.writing()
                refused += replace_documents(held, piece, rows)
        if refused:
            raise report(refused, self._connection.explain)

    def delete(self, source_id: str, document_ids: Sequence[str]) -> int:
        """See `Store.delete`."""
        deleted = 0
        with self._errors("delete from"):
            if not document_ids or self._index.collections() is None:
                return 0
            held = self._index.writing()
            keys = [key_of(name) for name in dict.fromkeys(map(clean, document_ids))]
            for piece in slices(keys, DOCUMENTS_IN_A_WRITE):
                found = [
                    row
                    for row in by_ids(held.documents, piece, [*DOCUMENT_PROPERTIES, "chunk_count"])
                    if row.properties["source_id"] == clean(source_id)
                ]
                if found:
                    if refused := remove_documents(held, found):
                        raise report(refused, self._connection.explain)
                    deleted += len(found)
        return deleted

    def save_state(self, state: SourceState) -> None:
        """See `Store.save_state`."""
        try:
            value = json.dumps(state_value(state))
        except (TypeError, ValueError) as error:
            raise StoreError(f"The state of source {state.source_id!r} is not made of JSON values: {error}.") from error
        key = f"{SOURCE}{clean(state.source_id)}"
        with self._errors("write to"):
            held = self._index.writing()
            refused = insert(held.state, [Row(state.source_id, key_of(key), {"key": key, "value": value})])
        if refused:
            raise report(refused, self._connection.explain)

    def optimize(self) -> None:
        """See `Store.optimize`. Weaviate keeps its indexes up to date by itself."""

    def _errors(self, action: str) -> AbstractContextManager[None]:
        return self._connection.errors(action, self._index.forget)
