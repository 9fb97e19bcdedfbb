"""The versions of an embedded index: parallel tables, and a manifest that names the live version."""

from __future__ import annotations

from lore.stores.lancedb.folder import LOCK_TIMEOUT, LanceFolder
from lore.stores.lancedb.schema import SCHEMA_NUMBER
from lore.stores.lancedb.store import LanceStore
from lore.stores.manifest import IndexManifest, ManifestVersions
from lore.types import IndexVersion, Recipe

__all__ = ["LanceVersions"]


class LanceVersions(ManifestVersions):
    """The `Versions` of the index in a folder."""

    schema = SCHEMA_NUMBER

    def __init__(self, uri: str, *, lock_timeout: float = LOCK_TIMEOUT) -> None:
        self._folder = LanceFolder(uri, lock_timeout=lock_timeout)

    def _manifest(self) -> IndexManifest | None:
        return self._folder.manifest()

    def open(self, number: int) -> LanceStore:
        """See `Versions.open`."""
        version = self._folder.require_manifest().version(number)
        return LanceStore(self._folder, version.recipe, number=number)

    def create(self, recipe: Recipe) -> IndexVersion:
        """See `Versions.create`."""
        with self._folder.locked("write to"):
            manifest = self._folder.require_manifest()
            for number in self._folder.orphans(manifest):
                self._folder.remove_version(number)
            manifest, version = manifest.create(recipe, SCHEMA_NUMBER)
            self._folder.create_version(version.number, recipe)
            self._folder.write_manifest(manifest)
        return version

    def save(self, version: IndexVersion) -> None:
        """See `Versions.save`."""
        with self._folder.locked("write to"):
            self._folder.write_manifest(self._folder.require_manifest().save(version))

    def promote(self, number: int) -> None:
        """See `Versions.promote`."""
        with self._folder.locked("write to"):
            self._folder.write_manifest(self._folder.require_manifest().promote(number))

    def drop(self, number: int) -> None:
        """See `Versions.drop`."""
        with self._folder.locked("delete from"):
            manifest = self._folder.require_manifest().drop(number)
            self._folder.write_manifest(manifest)  # first: a version without its tables could not be opened
            for orphan in self._folder.orphans(manifest):
                self._folder.remove_version(orphan)
