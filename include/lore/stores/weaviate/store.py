"""The server store: Weaviate through its own client over gRPC, shared by threads, processes and machines.

No lock keeps writers apart: object ids follow from what is stored, so that writing the same again changes nothing. A
replacement is written in this order, so that a kill between any two steps is healed by writing it again: marks with an
empty fingerprint, documents, new chunks, the removal of old chunks, marks with their fingerprints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from typing import TYPE_CHECKING

from lore.errors import StoreError
from lore.stores.checks import check_entries, check_query
from lore.stores.manifest import Manifest
from lore.stores.schema import clean, slices, state_value, to_chunk, to_state
from lore.stores.weaviate import read as weaviate_read
from lore.stores.weaviate.collections import Collections, WeaviateIndex
from lore.stores.weaviate.connection import WeaviateConnection, WeaviateServer
from lore.stores.weaviate.make import make_index
from lore.stores.weaviate.passages import Passages
from lore.stores.weaviate.records import SOURCE
from lore.stores.weaviate.rows import Refused, by_ids, report
from lore.stores.weaviate.schema import (
    DOCUMENT_PROPERTIES,
    OUTLINE_PROPERTIES,
    SCHEMA_NUMBER,
    Shape,
    document_properties,
    key_of,
    to_document,
    to_outline,
)
from lore.stores.weaviate.search import search
from lore.stores.weaviate.write import remove_chunks, remove_documents, replace_chunks, replace_documents
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

DOCUMENTS_IN_A_WRITE = 128
DOCUMENTS_IN_A_PAGE = 64
DEFAULT_PREFIX = "Lore"
DEFAULT_SHAPE = Shape()


class WeaviateStore:
    """A `Store` on a Weaviate server. Nothing is made there before the first write, which makes version 1.

    It reads and writes the version that fits the `recipe` (a recipe without a splitter reads only), see
    `Manifest.fitting`; or the one of that `number`. Which is live is asked anew in every call, but for a `snapshot`.
    Names of collections begin with `prefix`; words of the title count `title_weight` times more; collections are laid
    out by the recipe's choices, else by `shape`. Raises ConfigurationError for an address that is none, StoreError for
    a server that cannot be read, IndexMismatchError when no version fits or one is laid out otherwise, all at once.
    An index that is open already, with its prefix, may be given for the `server`.
    """

    def __init__(
        self,
        server: WeaviateServer | WeaviateIndex,
        recipe: Recipe,
        *,
        number: int | None = None,
        prefix: str = DEFAULT_PREFIX,
        shape: Shape = DEFAULT_SHAPE,
        title_weight: float = 0.0,
    ) -> None:
        self._recipe = recipe
        self._number = number
        self._pinned: Collections | None = None
        self._passages: Passages | None = None
        self._shape = shape.chosen_by(recipe)
        self._title_weight = title_weight
        if isinstance(server, WeaviateIndex):
            self._index = server
        else:
            self._index = WeaviateIndex(WeaviateConnection(server), prefix=prefix)
        self._connection = self._index.connection
        with self._errors("open"):
            self._read()

    def _version(self, manifest: Manifest) -> IndexVersion:
        if self._number is not None:
            return manifest.version(self._number)
        version = manifest.fitting(self._recipe, SCHEMA_NUMBER)
        if version is None:
            raise manifest.mismatch(self._index.where, self._recipe, SCHEMA_NUMBER)
        return version

    def _read(self) -> Collections | None:
        """The collections to read; None where nothing was written yet."""
        if self._pinned is not None:
            return self._pinned
        manifest = self._index.manifest()
        return self._index.collections(self._version(manifest)) if manifest else None

    def _write(self) -> tuple[Manifest, Collections]:
        """The collections to write, made where there are none."""
        manifest = self._index.manifest() or make_index(self._index, self._recipe, self._shape)
        return manifest, self._index.writing(manifest, self._version(manifest), self._shape)

    def check_layout(self) -> None:
        """Raise IndexMismatchError, as the first write does, where the version is laid out otherwise than is set."""
        with self._errors("open"):
            if manifest := self._index.manifest():
                self._index.check(self._index.layouts(self._version(manifest).number), self._shape)

    # ------------------------------------------------------------------------------------------------------ reading

    def snapshot(self) -> WeaviateStore:
        """See `Index.snapshot`. It asks which version is live, and now and then what is recorded of it; what is then
        searched through it asks nothing more, and reads once what several searches find that run side by side.
        """
        if self._pinned is not None:
            return self
        with self._errors("open"):
            manifest = self._index.recent() if self._number is None else self._index.manifest()
            if manifest is None:
                return self
            version = self._version(manifest)
            if version.number not in (self._number, manifest.live):  # which one fits instead must not be of before
                version = self._version(self._index.held())
            collections = self._index.collections(version)
        held = copy(self)
        held._number, held._pinned, held._passages = version.number, collections, Passages()
        return held

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
        with self._errors("search"):
            held = self._read()
            if held is None:
                return []
            passages, weight = self._passages or Passages(), self._title_weight
            return search(held.chunks, passages, text, vector, limit, alpha, sources, audiences, title_weight=weight)

    def document(self, document_id: str) -> Document | None:
        """See `Index.document`."""
        with self._errors("read"):
            held = self._read()
            if held is None:
                return None
            row = held.documents.query.fetch_object_by_id(
                key_of(document_id), return_properties=list(DOCUMENT_PROPERTIES)
            )
            return to_document(row.properties) if row else None

    def chunks(self, document_id: str) -> list[Chunk]:
        """See `Store.chunks`."""
        with self._errors("read"):
            held = self._read()
            rows = weaviate_read.chunk_rows(held, [document_id], ["document_id", "payload"]) if held else ()
            return sorted(
                (to_chunk(row.properties["payload"]) for row in rows), key=lambda chunk: (chunk.position, chunk.id)
            )

    def count(self, source_id: str | None = None) -> Counts:
        """See `Index.count`."""
        with self._errors("count"):
            held = self._read()
            return weaviate_read.count(held, source_id) if held else Counts(0, 0, 0)

    def document_fingerprints(
        self, source_id: str | None = None, *, ids: Sequence[str] | None = None
    ) -> dict[str, str]:
        """See `Store.document_fingerprints`."""
        with self._errors("read"):
            held = self._read()
            return weaviate_read.fingerprints(held.documents, source_id, ids) if held else {}

    def fingerprints(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> dict[str, str]:
        """See `Store.fingerprints`."""
        with self._errors("read"):
            held = self._read()
            return weaviate_read.fingerprints(held.marks, source_id, ids) if held else {}

    def vectors_for(self, hashes: Sequence[str]) -> dict[str, Vector]:
        """See `Store.vectors_for`."""
        with self._errors("read"):
            held = self._read()
            return weaviate_read.vectors_for(held, hashes) if held else {}

    def documents(self, source_id: str | None = None, *, ids: Sequence[str] | None = None) -> Iterator[Document]:
        """See `Store.documents`. The texts are read page by page."""
        with self._errors("read"):
            held = self._read()
            if held is None:
                return
            if ids is None:
                rows = weaviate_read.source_rows(held.documents, source_id, ["source_id"])
                keys = [row.uuid for row in rows]
            else:
                keys = [key_of(name) for name in dict.fromkeys(map(clean, ids))]
        for page in slices(keys, DOCUMENTS_IN_A_PAGE):
            with self._errors("read"):
                found = [to_document(row.properties) for row in by_ids(held.documents, page, DOCUMENT_PROPERTIES)]
            yield from (one for one in found if source_id is None or one.source_id == clean(source_id))

    def document_infos(self, source_id: str) -> Iterator[DocumentInfo]:
        """See `Store.outlines`."""
        with self._errors("read"):
            held = self._read()
            rows = weaviate_read.source_rows(held.documents, source_id, OUTLINE_PROPERTIES) if held else ()
            yield from (to_outline(row.properties) for row in rows)

    def state(self, source_id: str) -> SourceState | None:
        """See `Store.state`."""
        return self.states().get(clean(source_id))

    def states(self) -> dict[str, SourceState]:
        """See `Store.states`."""
        with self._errors("read"):
            values = [row["value"] for row in self._index.entries(SOURCE)] if self._read() else []
        states = (to_state(json.loads(value)) for value in values)
        return {clean(state.source_id): state for state in states}

    # ------------------------------------------------------------------------------------------------------ writing

    def replace(self, entries: Sequence[EmbeddedDocument]) -> None:
        """See `Store.replace`. Raises StoreError, with nothing written, for entries that cannot be stored together.

        When the server refuses single objects, the other documents are completed and the error names these.
        """
        check_entries(entries, self._recipe.dimensions)
        rows = {entry.document.id: document_properties(entry) for entry in entries}
        refused: list[Refused] = []
        for piece in slices(entries, DOCUMENTS_IN_A_WRITE):
            with self._errors("write to"):
                _, held = self._write()
                refused += replace_documents(held, piece, rows)
        if refused:
            raise report(refused, self._connection.explain)

    def replace_chunks(self, entries: Sequence[EmbeddedDocument]) -> int:
        """See `Store.replace_chunks`. Raises StoreError as `replace` does.

        Nothing keeps a sync away that changes one of these documents in the same moment: then the fingerprint here is
        another than that of the kept document, so who compares `kept` with `fingerprints` afterwards writes it again.
        """
        check_entries(entries, self._recipe.dimensions)
        refused: list[Refused] = []
        written = 0
        for piece in slices(entries, DOCUMENTS_IN_A_WRITE):
            with self._errors("write to"):
                _, held = self._write()
                keys = [key_of(entry.document.id) for entry in piece]
                rows = by_ids(held.documents, keys, ["fingerprint"])
                kept = {row.uuid: row.properties.get("fingerprint") for row in rows}
                fresh = [entry for entry, key in zip(piece, keys, strict=True) if kept.get(key) == entry.fingerprint]
                failed = replace_chunks(held, fresh) if fresh else []
            written += len(fresh) - len({failure.document_id for failure in failed})
            refused += failed
        if refused:
            raise report(refused, self._connection.explain)
        return written

    def delete(self, source_id: str, document_ids: Sequence[str]) -> int:
        """See `Store.delete`."""
        deleted = 0
        with self._errors("delete from"):
            if not document_ids or self._read() is None:
                return 0
            for piece in self._pieces(document_ids):
                manifest, _ = self._write()
                versions = self._index.all_of(manifest)
                deleted += remove_documents(versions, source_id, piece, self._connection.explain)
        return deleted

    def remove_chunks(self, document_ids: Sequence[str]) -> None:
        """See `Store.remove_chunks`."""
        with self._errors("delete from"):
            for piece in self._pieces(document_ids):
                _, held = self._write()
                kept = {row.uuid for row in by_ids(held.documents, piece, ["document_id"])}
                remove_chunks(held, [key for key in piece if key not in kept], self._connection.explain)

    def save_state(self, state: SourceState) -> None:
        """See `Store.save_state`."""
        try:
            value = json.dumps(state_value(state))
        except (TypeError, ValueError) as error:
            raise StoreError(f"The state of source {state.source_id!r} is not made of JSON values: {error}.") from error
        with self._errors("write to"):
            self._write()
            self._index.record(SOURCE, clean(state.source_id), value)

    def optimize(self) -> None:
        """See `Store.optimize`. Weaviate keeps its indexes up to date by itself."""

    def _pieces(self, document_ids: Sequence[str]) -> Iterator[Sequence[UUID]]:
        return slices([key_of(name) for name in dict.fromkeys(map(clean, document_ids))], DOCUMENTS_IN_A_WRITE)

    def _errors(self, action: str) -> AbstractContextManager[None]:
        return self._connection.errors(action, self._index.forget)
