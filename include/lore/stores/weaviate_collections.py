"""The collections of one index in Weaviate: which versions there are, opened, and held against what the code needs.

{prefix}State, {prefix}Documents          what is recorded of versions and sources; converted documents, kept once
{prefix}Chunks_N, {prefix}Marks_N         version N: chunks with vectors, and of which state of a document they are
{prefix}Chunks                            the alias of the live version's chunks: moving it is the promotion
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from include.lore.errors import IndexMismatchError, StoreError
from include.lore.stores.manifest import Manifest, version_from_json, version_to_json
from include.lore.stores.weaviate_layout import Layout, deviations, differences
from include.lore.stores.weaviate_rows import Row, equal, insert, read, report
from include.lore.stores.weaviate_schema import CHUNKS, DOCUMENTS, MARKS, STATE, Shape, key_of, state_properties
from include.lore.types import IndexVersion

if TYPE_CHECKING:
    from include.lore.stores.weaviate_connection import WeaviateConnection

Collection: TypeAlias = Any
"""A `weaviate.collections.Collection`, whose own types are generic over what is stored."""

SOURCE, VERSION, DROPPED = "source", "version", "dropped"
"""Kinds of entries in the collection of states. A number that was dropped is not given again, so that whoever still
has that version in mind never takes another one for it."""

EARLIER_MANIFEST = "manifest"
SET_UP_ANEW = "Set LORE_WEAVIATE_PREFIX to a new one and run `lore sync --all`"
LOST = f"{SET_UP_ANEW}; or remove the other collections of this prefix and sync anew."
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


class WeaviateIndex:
    """Finds the collections of an index; looking makes nothing. To be used below `WeaviateConnection.errors`, with
    `forget`.
    """

    def __init__(self, connection: WeaviateConnection, *, prefix: str) -> None:
        self.connection = connection
        self.prefix = prefix
        self.alias = f"{prefix}Chunks"
        self.where = f"{self.alias} at {connection.address}"
        self._checked = False
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

    # ----------------------------------------------------------------------------------------------------- versions

    def live(self) -> int | None:
        """The number of the version that the alias points to; None where there is no alias."""
        if not self._checked:
            self.connection.check_version()
            self._checked = True
        try:
            found = self.connection.client().alias.get(alias_name=self.alias)
        except KeyError:
            raise StoreError(
                f"The server at {self.connection.address} does not answer as Weaviate does.",
                remedy="Correct LORE_WEAVIATE_URL.",
            ) from None
        if found is None:
            return None
        match = re.fullmatch(rf"{re.escape(self.alias)}_(\d+)", found.collection)
        if match is None:
            raise StoreError(
                f"The alias {self.where} points to {found.collection}, which is no version of this index.",
                remedy=f"Remove the alias, or: {SET_UP_ANEW}.",
            )
        return int(match[1])

    def manifest(self) -> Manifest | None:
        """What any process recorded last; None where nothing was written yet.

        An index without an alias, restored without it or still being made, is read at the version promoted last.
        """
        for _ in range(2):  # a version may be promoted, and the one before dropped, between the two looks
            live = self.live()
            if live is None and not self._exists(self._state):
                return None
            versions = tuple(self.recorded())
            if live is None:
                if not versions:
                    return None
                live = max(versions, key=lambda one: (one.promoted_at is not None, one.promoted_at, one.number)).number
            if any(version.number == live for version in versions):
                return Manifest(live, versions)
        self._check_earlier()
        raise StoreError(
            f"The alias {self.where} points to version {live}, of which nothing is recorded.",
            remedy=f"Restore the index from a backup, or: {SET_UP_ANEW}.",
        )

    def held(self) -> Manifest:
        """The manifest of an index that must be there. Raises StoreError."""
        manifest = self.manifest()
        if manifest is None:
            raise StoreError(f"There is no index {self.where} yet.", remedy="Run: lore sync --all")
        return manifest

    def save(self, version: IndexVersion) -> None:
        """Record a version in the place of what was recorded of it."""
        self.record(VERSION, str(version.number), json.dumps(version_to_json(version)))

    def retire(self, number: int) -> None:
        """Take a version out of what is recorded, but for its number."""
        self.record(DROPPED, str(number), "")
        self.handle(self._state).data.delete_by_id(key_of(f"{VERSION}:{number}"))

    def record(self, kind: str, name: str, value: str) -> None:
        """Write an entry of the collection of states. Raises StoreError where the server refuses it."""
        properties = state_properties(kind, name, value)
        refused = insert(self.handle(self._state), [Row(name, key_of(properties["key"]), properties)])
        if refused:
            raise report(refused, self.connection.explain)

    def dropped(self) -> set[int]:
        """The numbers of versions that were dropped."""
        return {int(row["key"].partition(":")[2]) for row in self.entries(DROPPED)}

    def recorded(self) -> list[IndexVersion]:
        """What is recorded of each version, whatever the alias points to."""
        try:
            return [version_from_json(json.loads(row["value"])) for row in self.entries(VERSION)]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreError(
                f"What is recorded of the versions of {self.where} cannot be read ({type(error).__name__}).",
                remedy=f"Restore the index from a backup, or: {SET_UP_ANEW}.",
            ) from None

    def entries(self, *kinds: str) -> list[Any]:
        """The entries of these kinds in the collection of states, as properties."""
        from weaviate.exceptions import WeaviateQueryError

        belongs = lambda row: row.get("kind") in kinds  # noqa: E731
        try:
            rows = read(self.handle(self._state), ["key", "kind", "value"], equal("kind", kinds), belongs)
            return [row.properties for row in rows]
        except WeaviateQueryError:
            if not self._exists(self._state):
                raise self._gone(self._state) from None
            self._check_earlier()
            raise

    def _check_earlier(self) -> None:
        """Raise IndexMismatchError for an index of a Lore that knew one version."""
        if self.handle(self._state).query.fetch_object_by_id(key_of(EARLIER_MANIFEST)) is not None:
            raise IndexMismatchError(
                f"The index {self.where} was made by an earlier Lore, without a manifest of versions.",
                remedy=f"{SET_UP_ANEW}; then remove the collections of the earlier one.",
            )

    # -------------------------------------------------------------------------------------------------- collections

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
                if not self._exists(layout):
                    raise self._gone(layout)
            if self._writable.get(version.number) != version.created_at:
                self.check(layouts, shape)
                if self.live() is None:
                    self.point(manifest.live)
                self._writable[version.number] = version.created_at
            return self.collections(version)

    def all_of(self, manifest: Manifest) -> list[Collections]:
        """Those of every version that are there."""
        numbers = [version.number for version in manifest.versions]
        return [self.handles(number) for number in numbers if all(map(self._exists, self.layouts(number)))]

    def point(self, number: int) -> None:
        """Make the alias point to a version: at every moment it points to the one before or to this one."""
        target = self.layouts(number).chunks.name
        alias = self.connection.client().alias
        if not alias.update(alias_name=self.alias, new_target_collection=target):
            unless_there(partial(alias.create, alias_name=self.alias, target_collection=target))

    def forget(self) -> None:
        """Look anew next time: what was open is gone."""
        self._open, self._writable = {}, {}

    def handles(self, number: int) -> Collections:
        """The collections of a version, not looked at."""
        return Collections(*map(self.handle, self.layouts(number)))

    def handle(self, layout: Layout) -> Collection:
        """A collection, read and written at a majority of the replicas, so that what was written is read back."""
        from weaviate.classes.config import ConsistencyLevel

        use = self.connection.client().collections.use
        return use(layout.name).with_consistency_level(ConsistencyLevel.QUORUM)

    def check(self, layouts: Sequence[Layout], shape: Shape | None = None) -> None:
        """Raise IndexMismatchError that names each field that is not as the code needs it, or as the `shape` says."""
        wrong: list[str] = []
        other: list[str] = []
        cure = BUILD
        for layout in layouts:
            if not self._exists(layout):
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

    @property
    def _state(self) -> Layout:
        return self.layouts(0).state

    def _exists(self, layout: Layout) -> bool:
        return bool(self.connection.client().collections.exists(layout.name))

    def _gone(self, layout: Layout) -> StoreError:
        self.forget()
        return StoreError(f"The collection {layout.name} at {self.connection.address} is gone.", remedy=LOST)


def unless_there(make: Callable[[], object]) -> bool:
    """Make something that another process may make at the same time; whether it was this one that did."""
    from weaviate.exceptions import UnexpectedStatusCodeError

    try:
        make()
    except UnexpectedStatusCodeError as error:
        if error.status_code != 422 or "already exists" not in str(error):
            raise
        return False
    return True
