"""The versions of an index on a Weaviate server: collections beside each other, and an alias that says who is live."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime

from lore.errors import ConfigurationError, StoreError
from lore.stores.manifest import Manifest, ManifestVersions
from lore.stores.weaviate.collections import WeaviateIndex
from lore.stores.weaviate.connection import WeaviateConnection, WeaviateServer
from lore.stores.weaviate.make import add_version, remove_leftovers, remove_version
from lore.stores.weaviate.schema import SCHEMA_NUMBER, Shape
from lore.stores.weaviate.store import DEFAULT_PREFIX, DEFAULT_SHAPE, WeaviateStore
from lore.types import IndexVersion, Recipe

__all__ = ["WeaviateVersions"]


class WeaviateVersions(ManifestVersions):
    """The `Versions` of the index with that `prefix`.

    A new version is laid out by its recipe's choices, else by `shape`. No lock keeps processes apart: numbers are given
    once, and a promotion and a removal of the same version at once end with it live, or there, or gone, but never with
    an alias that points to nothing.
    """

    schema = SCHEMA_NUMBER

    def __init__(
        self,
        server: WeaviateServer,
        *,
        prefix: str = DEFAULT_PREFIX,
        shape: Shape = DEFAULT_SHAPE,
        title_weight: float = 0.0,
    ) -> None:
        self._shape = shape
        self._title_weight = title_weight
        self._connection = WeaviateConnection(server)
        self._index = WeaviateIndex(self._connection, prefix=prefix)

    def _manifest(self) -> Manifest | None:
        with self._errors("read"):
            return self._index.manifest()

    def open(self, number: int) -> WeaviateStore:
        """See `Versions.open`."""
        with self._errors("open"):
            version = self._index.held().version(number)
        return WeaviateStore(
            self._index,
            version.recipe,
            number=number,
            shape=self._shape,
            title_weight=self._title_weight,
        )

    def create(self, recipe: Recipe) -> IndexVersion:
        """See `Versions.create`."""
        with self._errors("write to"):
            self._index.held()
            remove_leftovers(self._index)
            return add_version(self._index, recipe, self._shape.chosen_by(recipe))

    def save(self, version: IndexVersion) -> None:
        """See `Versions.save`."""
        with self._errors("write to"):
            self._index.save(self._index.held().save(version).version(version.number))

    def promote(self, number: int) -> None:
        """See `Versions.promote`. A kill before the end leaves the version live, and `promoted_at` as it was."""
        with self._errors("write to"):
            manifest = self._index.held()
            self._index.collections(manifest.version(number))
            self._complete(manifest)
            self._index.point(number)
            if all(version.number != number for version in self._index.recorded()):  # dropped meanwhile
                self._index.point(manifest.live)
                raise StoreError(f"Version {number} was dropped while it was promoted.", remedy="Promote another one.")
            self._index.save(manifest.promote(number).version(number))

    def drop(self, number: int) -> None:
        """See `Versions.drop`."""
        with self._errors("delete from"):
            manifest = self._index.held()
            version = manifest.version(number)
            manifest.drop(number)  # refuses the live one
            self._index.retire(number)  # first: a version without its collections could not be opened
            if self._index.live() == number:  # promoted meanwhile
                self._index.save(version)
                raise ConfigurationError(f"Version {number} is live.", remedy="Promote another one first.")
            remove_version(self._index, number)
            remove_leftovers(self._index)

    def _complete(self, manifest: Manifest) -> None:
        """Record when the live version became so, where a promotion was cut off before it did."""
        live = manifest.version(manifest.live)
        latest = max(filter(None, (version.promoted_at for version in manifest.versions)), default=None)
        if live.promoted_at is None or live.promoted_at != latest:
            self._index.save(replace(live, promoted_at=datetime.now(UTC)))

    def _errors(self, action: str) -> AbstractContextManager[None]:
        return self._connection.errors(action, self._index.forget)
