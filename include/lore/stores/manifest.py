"""The manifest of an index: its versions, the live one, and the one that fits a set of settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from lore.errors import ConfigurationError, IndexMismatchError, StoreError
from lore.types import Counts, IndexVersion, Recipe

__all__ = ["IndexManifest", "ManifestVersions", "version_from_json", "version_to_json"]

READER_FIELDS = ("embedder", "dimensions", "schema")
"""The fields that a reader's settings must share with a version; a writer's must share all."""
MOMENTS = ("created_at", "ready_at", "promoted_at")


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """The versions of an index by number. Each change returns a new manifest, which the store then writes."""

    live: int
    versions: tuple[IndexVersion, ...]

    @staticmethod
    def first(recipe: Recipe, schema: int) -> IndexManifest:
        """The manifest of a new index: version 1, live and still empty."""
        now = datetime.now(UTC)
        version = IndexVersion(1, recipe, schema, "ready", created_at=now, ready_at=now, promoted_at=now)
        return IndexManifest(1, (version,))

    def version(self, number: int) -> IndexVersion:
        """The version with this number. Raises ConfigurationError that lists the existing ones."""
        for version in self.versions:
            if version.number == number:
                return version
        numbers = ", ".join(str(version.number) for version in self.versions)
        raise ConfigurationError(f"The index has no version {number}.", remedy=f"Choose one of: {numbers}.")

    def compatible(self, recipe: Recipe, schema: int) -> IndexVersion | None:
        """The version to read and write with these settings: the live one, or the compatible one promoted last.

        A process that still runs with the settings from before a promotion keeps the previous version.
        """
        promoted = sorted(
            (version for version in self.versions if version.promoted_at or version.number == self.live),
            key=lambda version: (version.number == self.live, version.promoted_at or version.created_at),
            reverse=True,
        )
        return next((version for version in promoted if is_compatible(version, recipe, schema)), None)

    def previous(self) -> IndexVersion | None:
        """The version that was live before the live one: the target of a rollback."""
        others = (version for version in self.versions if version.number != self.live and version.promoted_at)
        return max(others, key=lambda version: version.promoted_at or version.created_at, default=None)

    def create(self, recipe: Recipe, schema: int) -> tuple[IndexManifest, IndexVersion]:
        """The manifest with one more version, which is still being built."""
        number = 1 + max(version.number for version in self.versions)
        version = IndexVersion(number, recipe, schema, "building", created_at=datetime.now(UTC))
        return replace(self, versions=(*self.versions, version)), version

    def save(self, changed: IndexVersion) -> IndexManifest:
        """The manifest with new facts about a version; the promotion date stays as it was."""
        current = self.version(changed.number)
        kept = replace(changed, promoted_at=current.promoted_at)
        return replace(self, versions=tuple(kept if one is current else one for one in self.versions))

    def promote(self, number: int) -> IndexManifest:
        """The manifest with this version live."""
        current = self.version(number)
        promoted = replace(current, promoted_at=datetime.now(UTC))
        return IndexManifest(number, tuple(promoted if one is current else one for one in self.versions))

    def drop(self, number: int) -> IndexManifest:
        """The manifest without this version. Raises ConfigurationError for the live one."""
        current = self.version(number)
        if number == self.live:
            raise ConfigurationError(f"Version {number} is live.", remedy="Promote another version first.")
        return replace(self, versions=tuple(one for one in self.versions if one is not current))

    def mismatch(self, where: str, recipe: Recipe, schema: int) -> IndexMismatchError:
        """The error for settings that no live or formerly live version fits."""
        live = self.version(self.live)
        built, chosen = _fields(live.recipe, live.schema), _fields(recipe, schema)
        names = list(built) if recipe.splitter else READER_FIELDS
        differing = [name for name in names if built[name] != chosen[name]]
        waiting = [version.number for version in self.versions if is_compatible(version, recipe, schema)]
        if waiting:
            remedy = f"Version {waiting[-1]} fits but is not live: run `lore index promote {waiting[-1]}`"
        else:
            remedy = (
                "Run `lore index build` to build such a version from the stored documents, then `lore index promote N`"
            )
        if differing == ["splitter"] and _characters(live.recipe.splitter) == _characters(recipe.splitter):
            return IndexMismatchError(
                f"This version of Lore splits documents differently ({chosen['splitter']}) than the one that built the "
                f"live version {self.live} of the index {where} ({built['splitter']}). Nothing was written.",
                remedy=f"{remedy}.",
            )
        return IndexMismatchError(
            f"Your settings don't fit the index {where}. The live version {self.live} was built with "
            f"{', '.join(f'{name} {built[name]}' for name in differing)}; you chose "
            f"{', '.join(f'{name} {chosen[name]}' for name in differing)}. Nothing was written.",
            remedy=f"{remedy}, or set LORE_EMBEDDER and LORE_CHUNK_CHARACTERS back to the values that built it.",
        )

    def to_json(self) -> str:
        """The manifest as JSON text."""
        return json.dumps({"live": self.live, "versions": [version_to_json(version) for version in self.versions]})

    @staticmethod
    def from_json(text: str, where: str) -> IndexManifest:
        """Parse the output of `to_json`. Raises StoreError for anything else."""
        try:
            values = json.loads(text)
            versions = tuple(version_from_json(version) for version in values["versions"])
            manifest = IndexManifest(int(values["live"]), versions)
            manifest.version(manifest.live)
        except (ValueError, KeyError, TypeError, AttributeError, ConfigurationError) as error:
            raise StoreError(
                f"Couldn't read the manifest of the index {where}: it is damaged ({type(error).__name__}).",
                remedy="Restore it from a backup, or set up a new index and run `lore sync --all`.",
            ) from None
        return manifest


class ManifestVersions:
    """The part of `Versions` that needs the manifest alone; each store says how to read it."""

    def _manifest(self) -> IndexManifest | None:
        """The current manifest; None for an index that was never written to."""
        raise NotImplementedError

    def all(self) -> list[IndexVersion]:
        """See `Versions.all`."""
        manifest = self._manifest()
        return sorted(manifest.versions, key=lambda version: version.number) if manifest else []

    def live(self) -> int | None:
        """See `Versions.live`."""
        manifest = self._manifest()
        return manifest.live if manifest else None

    def previous(self) -> int | None:
        """See `Versions.previous`."""
        manifest = self._manifest()
        previous = manifest.previous() if manifest else None
        return previous.number if previous else None


def is_compatible(version: IndexVersion, recipe: Recipe, schema: int) -> bool:
    """True if a recipe can read the version and, if the recipe names a splitter, write it."""
    built = version.recipe
    readable = (built.embedder, built.dimensions, version.schema) == (recipe.embedder, recipe.dimensions, schema)
    return readable and (not recipe.splitter or (built.splitter, built.strategy) == (recipe.splitter, recipe.strategy))


def version_to_json(version: IndexVersion) -> dict[str, Any]:
    """A version as JSON values."""
    values = asdict(version)
    for name in MOMENTS:
        values[name] = values[name] and values[name].isoformat()
    return values


def version_from_json(values: Mapping[str, Any]) -> IndexVersion:
    """The inverse of `version_to_json`."""
    moments = {name: values[name] and datetime.fromisoformat(values[name]) for name in MOMENTS}
    counts = Counts(**values["counts"]) if values["counts"] else None
    return IndexVersion(**{**values, **moments, "counts": counts, "recipe": Recipe(**values["recipe"])})


def _characters(splitter: str) -> str:
    """Return the budget in a splitter's name, which a person may choose; the rest names the code."""
    return splitter.partition(":")[2]


def _fields(recipe: Recipe, schema: int) -> Mapping[str, str]:
    """The fields that settings and a version must share, by name."""
    return {
        "embedder": repr(recipe.embedder),
        "dimensions": str(recipe.dimensions),
        "splitter": repr(recipe.splitter),
        "strategy": repr(recipe.strategy),
        "schema": str(schema),
    }
