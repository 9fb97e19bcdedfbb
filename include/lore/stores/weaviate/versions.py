"""The versions of an index on a Weaviate server: parallel collections, and an alias that names the live version."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime

from lore.errors import ConfigurationError, StoreError
from lore.stores.manifest import IndexManifest, ManifestVersions
from lore.stores.weaviate.collections.creation import create_version, delete_orphans, delete_version
from lore.stores.weaviate.collections.index import WeaviateIndex
from lore.stores.weaviate.collections.schema import SCHEMA_NUMBER, CollectionOptions
from lore.stores.weaviate.server.connection import WeaviateConnection, WeaviateServer
from lore.stores.weaviate.store import DEFAULT_OPTIONS, DEFAULT_PREFIX, WeaviateStore
from lore.types import IndexVersion, Recipe

__all__ = ["WeaviateVersions"]


class WeaviateVersions(ManifestVersions):
    """The `Versions` of the index with this `prefix`.

    The recipe's choices, else `options`, decide how a new version is laid out. Processes need no lock: each number is
    given once, and concurrent promotion and removal of a version never leave an alias that points to nothing.
    """

    schema = SCHEMA_NUMBER

    def __init__(
        self,
        server: WeaviateServer,
        *,
        prefix: str = DEFAULT_PREFIX,
        options: CollectionOptions = DEFAULT_OPTIONS,
        title_weight: float = 0.0,
    ) -> None:
        self._options = options
        self._title_weight = title_weight
        self._connection = WeaviateConnection(server)
        self._index = WeaviateIndex(self._connection, prefix=prefix)

    def _manifest(self) -> IndexManifest | None:
        with self._errors("read"):
            return self._index.manifest()

    def open(self, number: int) -> WeaviateStore:
        """See `Versions.open`."""
        with self._errors("open"):
            version = self._index.require_manifest().version(number)
        return WeaviateStore(
            self._index,
            version.recipe,
            number=number,
            options=self._options,
            title_weight=self._title_weight,
        )

    def create(self, recipe: Recipe) -> IndexVersion:
        """See `Versions.create`."""
        with self._errors("write to"):
            self._index.require_manifest()
            delete_orphans(self._index)
            return create_version(self._index, recipe, self._options.for_recipe(recipe))

    def save(self, version: IndexVersion) -> None:
        """See `Versions.save`."""
        with self._errors("write to"):
            self._index.save(self._index.require_manifest().save(version).version(version.number))

    def promote(self, number: int) -> None:
        """See `Versions.promote`. A kill midway may leave the version live with its former `promoted_at`."""
        with self._errors("write to"):
            manifest = self._index.require_manifest()
            self._index.open(manifest.version(number))
            self._complete_promotion(manifest)
            self._index.set_live(number)
            if all(version.number != number for version in self._index.recorded_versions()):  # dropped meanwhile
                self._index.set_live(manifest.live)
                raise StoreError(
                    f"Version {number} was dropped while you promoted it.", remedy="Promote another version."
                )
            self._index.save(manifest.promote(number).version(number))

    def drop(self, number: int) -> None:
        """See `Versions.drop`."""
        with self._errors("delete from"):
            manifest = self._index.require_manifest()
            version = manifest.version(number)
            manifest.drop(number)  # rejects the live one
            self._index.remove_record(number)  # first: a version without its collections could not be opened
            if self._index.live() == number:  # promoted meanwhile
                self._index.save(version)
                raise ConfigurationError(f"Version {number} is live.", remedy="Promote another version first.")
            delete_version(self._index, number)
            delete_orphans(self._index)

    def _complete_promotion(self, manifest: IndexManifest) -> None:
        """Record the promotion date that an interrupted promotion did not write."""
        live = manifest.version(manifest.live)
        latest = max(filter(None, (version.promoted_at for version in manifest.versions)), default=None)
        if live.promoted_at is None or live.promoted_at != latest:
            self._index.save(replace(live, promoted_at=datetime.now(UTC)))

    def _errors(self, action: str) -> AbstractContextManager[None]:
        return self._connection.errors(action, self._index.invalidate)
