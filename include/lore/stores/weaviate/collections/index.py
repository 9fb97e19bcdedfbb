"""The collections of one index in Weaviate, opened per version and checked against the code's layout.

{prefix}State, {prefix}Documents          records of versions and sources; converted documents, shared by all versions
{prefix}Chunks_N, {prefix}Marks_N         version N: chunks with vectors, and the documents that it has indexed
{prefix}Chunks                            the alias of the live version's chunks: moving it promotes a version
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from lore.errors import IndexMismatchError, StoreError
from lore.stores.manifest import IndexManifest
from lore.stores.weaviate.collections.catalog import NEW_INDEX, WeaviateCatalog
from lore.stores.weaviate.collections.layout import CollectionLayout, deviations, differences
from lore.stores.weaviate.collections.schema import CHUNKS, DOCUMENTS, INDEXED, STATE, CollectionOptions
from lore.types import IndexVersion

if TYPE_CHECKING:
    from lore.stores.weaviate.objects.batches import Collection
    from lore.stores.weaviate.server.connection import WeaviateConnection

REBUILD = (
    "Set the LORE_WEAVIATE_ settings back to the values that it was built with, or run `lore index build` to build a "
    "version with the current ones."
)


class VersionCollections(NamedTuple):
    """The collections of one version."""

    state: Collection
    documents: Collection
    indexed: Collection
    chunks: Collection


class VersionLayout(NamedTuple):
    """The layouts of the collections of one version."""

    state: CollectionLayout
    documents: CollectionLayout
    indexed: CollectionLayout
    chunks: CollectionLayout


class WeaviateIndex(WeaviateCatalog):
    """Finds the collections of an index; reading creates nothing.

    Use it inside `WeaviateConnection.errors`, with `invalidate`.
    """

    def __init__(self, connection: WeaviateConnection, *, prefix: str) -> None:
        super().__init__(connection, prefix=prefix)
        self._open: dict[int, tuple[datetime, VersionCollections]] = {}
        self._writable: dict[int, datetime] = {}
        self._opening = threading.RLock()

    def layout(self, number: int) -> VersionLayout:
        """The layout of a version's collections, with their names."""
        return VersionLayout(
            CollectionLayout(f"{self.prefix}State", STATE),
            CollectionLayout(f"{self.prefix}Documents", DOCUMENTS),
            CollectionLayout(f"{self.prefix}Marks_{number}", INDEXED),
            CollectionLayout(f"{self.alias}_{number}", CHUNKS, vectors=True),
        )

    def open(self, version: IndexVersion) -> VersionCollections:
        """The collections of a version, to read. Raises IndexMismatchError that names each field that differs."""
        with self._opening:
            created_at, collections = self._open.get(version.number, (None, None))
            if collections is None or created_at != version.created_at:  # a rebuilt index reuses the names
                self.check_layout(self.layout(version.number))
                collections = self._collections(version.number)
                self._open[version.number] = version.created_at, collections
            return collections

    def open_for_writing(
        self, manifest: IndexManifest, version: IndexVersion, options: CollectionOptions
    ) -> VersionCollections:
        """The collections of a version, to write. Raises IndexMismatchError if their options differ.

        Checks every time that they exist: a write into a missing collection would make the server create its own.
        """
        with self._opening:
            layout = self.layout(version.number)
            for each in layout:
                if not self.exists(each.name):
                    raise self._missing(each)
            if self._writable.get(version.number) != version.created_at:
                self.check_layout(layout, options)
                self.restore_alias(manifest.live)
                self._writable[version.number] = version.created_at
            return self.open(version)

    def open_all(self, manifest: IndexManifest) -> list[VersionCollections]:
        """The collections of every version that has them."""
        layouts = {version.number: self.layout(version.number) for version in manifest.versions}
        return [
            self._collections(number)
            for number, layout in layouts.items()
            if self.exists(layout.indexed.name) and self.exists(layout.chunks.name)
        ]

    def invalidate(self) -> None:
        """Discard open collections, because one of them is gone."""
        super().invalidate()
        self._open, self._writable = {}, {}

    def check_layout(self, layouts: Sequence[CollectionLayout], options: CollectionOptions | None = None) -> None:
        """Raise IndexMismatchError that names each field that differs from the code's layout or the `options`."""
        wrong: list[str] = []
        other: list[str] = []
        remedy = REBUILD
        for layout in layouts:
            if not self.exists(layout.name):
                raise self._missing(layout)
            config = self.connection.client().collections.use(layout.name).config.get()
            found = differences(config, layout)
            wrong += [f"{layout.name}: {difference}" for difference in found]
            if options is not None and not found:
                deviating = deviations(config, layout, options)
                other += [f"{layout.name}: {deviation}" for deviation in deviating]
                if deviating and layout.properties in (STATE, DOCUMENTS):  # all versions share these
                    remedy = (
                        "Set LORE_WEAVIATE_REPLICATION_FACTOR back to the value that the index was made with, or: "
                        f"{NEW_INDEX}."
                    )
        if wrong or other:
            raise IndexMismatchError(
                f"The layout of the index at {self.connection.address} differs: {'; '.join(wrong or other)}.",
                remedy=f"{NEW_INDEX}." if wrong else remedy,
            )

    def _collections(self, number: int) -> VersionCollections:
        """The collections of a version, unchecked."""
        return VersionCollections(*(self.collection(layout.name) for layout in self.layout(number)))

    def _missing(self, layout: CollectionLayout) -> StoreError:
        self.invalidate()
        return self.missing_error(layout.name)
