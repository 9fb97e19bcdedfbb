"""The collections of one index in Weaviate: which versions there are, opened, and held against what the code needs.

{prefix}State, {prefix}Documents          what is recorded of versions and sources; converted documents, kept once
{prefix}Chunks_N, {prefix}Marks_N         version N: chunks with vectors, and of which state of a document they are
{prefix}Chunks                            the alias of the live version's chunks: moving it is the promotion
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from lore.errors import IndexMismatchError, StoreError
from lore.stores.manifest import Manifest
from lore.stores.weaviate.layout import Layout, deviations, differences
from lore.stores.weaviate.records import SET_UP_ANEW, WeaviateRecords
from lore.stores.weaviate.schema import CHUNKS, DOCUMENTS, MARKS, STATE, Shape
from lore.types import IndexVersion

if TYPE_CHECKING:
    from lore.stores.weaviate.connection import WeaviateConnection

Collection: TypeAlias = Any
"""A `weaviate.collections.Collection`, whose own types are generic over what is stored."""

BUILD = (
    "Set the LORE_WEAVIATE_ settings back to what it was made with, or run `lore index build`: a new version is laid "
    "out as they say now."
)


class Collections(NamedTuple):
    """The collections of one version."""

    state: Collection
    documents: Collection
    marks: Collection
    chunks: Collection


class Layouts(NamedTuple):
    """How the collections of one version are laid out."""

    state: Layout
    documents: Layout
    marks: Layout
    chunks: Layout


class WeaviateIndex(WeaviateRecords):
    """Finds the collections of an index; looking makes nothing. To be used below `WeaviateConnection.errors`, with
    `forget`.
    """

    def __init__(self, connection: WeaviateConnection, *, prefix: str) -> None:
        super().__init__(connection, prefix=prefix)
        self._open: dict[int, tuple[datetime, Collections]] = {}
        self._writable: dict[int, datetime] = {}
        self._opening = threading.RLock()

    def layouts(self, number: int) -> Layouts:
        """How the collections of a version are laid out, and named."""
        return Layouts(
            Layout(f"{self.prefix}State", STATE),
            Layout(f"{self.prefix}Documents", DOCUMENTS),
            Layout(f"{self.prefix}Marks_{number}", MARKS),
            Layout(f"{self.alias}_{number}", CHUNKS, vectors=True),
        )

    def collections(self, version: IndexVersion) -> Collections:
        """Those of a version, to read. Raises IndexMismatchError, naming each field that is not as needed."""
        with self._opening:
            made, held = self._open.get(version.number, (None, None))
            if held is None or made != version.created_at:  # an index made anew has other ones of the same names
                self.check(self.layouts(version.number))
                held = self.handles(version.number)
                self._open[version.number] = version.created_at, held
            return held

    def writing(self, manifest: Manifest, version: IndexVersion, shape: Shape) -> Collections:
        """Those of a version, to write; they must be laid out as `shape` says.

        They are looked for every time: a write into a collection that is gone would make one of the server's own
        invention.
        """
        with self._opening:
            layouts = self.layouts(version.number)
            for layout in layouts:
                if not self.exists(layout.name):
                    raise self._gone(layout)
            if self._writable.get(version.number) != version.created_at:
                self.check(layouts, shape)
                self.point_if_lost(manifest.live)
                self._writable[version.number] = version.created_at
            return self.collections(version)

    def all_of(self, manifest: Manifest) -> list[Collections]:
        """Those of every version whose own ones are there."""
        layouts = {version.number: self.layouts(version.number) for version in manifest.versions}
        there = [number for number, of in layouts.items() if self.exists(of.marks.name) and self.exists(of.chunks.name)]
        return [self.handles(number) for number in there]

    def forget(self) -> None:
        """Look anew next time: what was open is gone."""
        super().forget()
        self._open, self._writable = {}, {}

    def handles(self, number: int) -> Collections:
        """The collections of a version, not looked at."""
        return Collections(*(self.handle(layout.name) for layout in self.layouts(number)))

    def check(self, layouts: Sequence[Layout], shape: Shape | None = None) -> None:
        """Raise IndexMismatchError that names each field that is not as the code needs it, or as the `shape` says."""
        wrong: list[str] = []
        other: list[str] = []
        cure = BUILD
        for layout in layouts:
            if not self.exists(layout.name):
                raise self._gone(layout)
            config = self.connection.client().collections.use(layout.name).config.get()
            found = differences(config, layout)
            wrong += [f"{layout.name}: {difference}" for difference in found]
            if shape is not None and not found:
                deviating = deviations(config, layout, shape)
                other += [f"{layout.name}: {deviation}" for deviation in deviating]
                if deviating and layout.properties in (STATE, DOCUMENTS):  # all versions share these
                    cure = (
                        f"Set LORE_WEAVIATE_REPLICATION_FACTOR back to what the index was made with, or: {SET_UP_ANEW}."
                    )
        if wrong or other:
            raise IndexMismatchError(
                f"The index at {self.connection.address} is not laid out as needed: {'; '.join(wrong or other)}.",
                remedy=f"{SET_UP_ANEW}." if wrong else cure,
            )

    def _gone(self, layout: Layout) -> StoreError:
        self.forget()
        return self.gone(layout.name)
