"""The versions of an embedded index: tables beside each other, and a manifest that says which are live."""

from __future__ import annotations

from lore.stores import schema
from lore.stores.lancedb.folder import LOCK_TIMEOUT, LanceFolder
from lore.stores.lancedb.store import LanceStore
from lore.stores.manifest import Manifest, ManifestVersions
from lore.types import IndexVersion, Recipe

__all__ = ["LanceVersions"]


class LanceVersions(ManifestVersions):
    """The `Versions` of the index in a folder."""

    schema = schema.SCHEMA_NUMBER

    def __init__(self, uri: str, *, lock_timeout: float = LOCK_TIMEOUT) -> None:
        self._folder = LanceFolder(uri, lock_timeout=lock_timeout)

    def _manifest(self) -> Manifest | None:
        return self._folder.manifest()

    def open(self, number: int) -> LanceStore:
        """See `Versions.open`."""
        version = self._folder.held().version(number)
        return LanceStore(self._folder, version.recipe, number=number)

    def create(self, recipe: Recipe) -> IndexVersion:
        """See `Versions.create`."""
        with self._folder.writing("write to"):
            manifest = self._folder.held()
            for number in self._folder.leftovers(manifest):
                self._folder.remove_version(number)
            manifest, version = manifest.create(recipe, schema.SCHEMA_NUMBER)
            self._folder.make_version(version.number, recipe)
            self._folder.write(manifest)
        return version

    def save(self, version: IndexVersion) -> None:
        """See `Versions.save`."""
        with self._folder.writing("write to"):
            self._folder.write(self._folder.held().save(version))

    def promote(self, number: int) -> None:
        """See `Versions.promote`."""
        with self._folder.writing("write to"):
            self._folder.write(self._folder.held().promote(number))

    def drop(self, number: int) -> None:
        """See `Versions.drop`."""
        with self._folder.writing("delete from"):
            manifest = self._folder.held().drop(number)
            self._folder.write(manifest)  # first: a version without its tables could not be opened
            for gone in self._folder.leftovers(manifest):
                self._folder.remove_version(gone)
