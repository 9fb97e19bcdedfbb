"""The manifest of an index: which versions there are, which is live, and which of them a set of settings may use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from lore.errors import ConfigurationError, IndexMismatchError, StoreError
from lore.types import Counts, IndexVersion, Recipe

__all__ = ["Manifest", "ManifestVersions", "version_from_json", "version_to_json"]

READ_BY = ("embedder", "dimensions", "schema")
"""What a reader has to have in common with a version; a writer, all of it."""
MOMENTS = ("created_at", "ready_at", "promoted_at")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The versions of an index by number. Every change gives a new manifest, which the store then writes."""

    live: int
    versions: tuple[IndexVersion, ...]

    @staticmethod
    def first(recipe: Recipe, schema: int) -> Manifest:
        """That of a new index: version 1, live and still without documents."""
        now = datetime.now(UTC)
        version = IndexVersion(1, recipe, schema, "ready", created_at=now, ready_at=now, promoted_at=now)
        return Manifest(1, (version,))

    def version(self, number: int) -> IndexVersion:
        """The version of that number. Raises ConfigurationError, naming those there are."""
        for version in self.versions:
            if version.number == number:
                return version
        there = ", ".join(str(version.number) for version in self.versions)
        raise ConfigurationError(f"The index has no version {number}.", remedy=f"There are: {there}.")

    def fitting(self, recipe: Recipe, schema: int) -> IndexVersion | None:
        """The version that these settings read and write: the live one, else the one that was live last and fits.

        A process that still has the settings of before a promotion goes on with the version of before.
        """
        promoted = sorted(
            (version for version in self.versions if version.promoted_at or version.number == self.live),
            key=lambda version: (version.number == self.live, version.promoted_at or version.created_at),
            reverse=True,
        )
        return next((version for version in promoted if fits(version, recipe, schema)), None)

    def before(self) -> IndexVersion | None:
        """The version that was live before the live one: where a rollback goes to."""
        others = (version for version in self.versions if version.number != self.live and version.promoted_at)
        return max(others, key=lambda version: version.promoted_at or version.created_at, default=None)

    def create(self, recipe: Recipe, schema: int) -> tuple[Manifest, IndexVersion]:
        """With one more version, which is being built."""
        number = 1 + max(version.number for version in self.versions)
        version = IndexVersion(number, recipe, schema, "building", created_at=datetime.now(UTC))
        return replace(self, versions=(*self.versions, version)), version

    def save(self, changed: IndexVersion) -> Manifest:
        """With what is now known of a version; when it was promoted is not for its builder to say."""
        held = self.version(changed.number)
        kept = replace(changed, promoted_at=held.promoted_at)
        return replace(self, versions=tuple(kept if one is held else one for one in self.versions))

    def promote(self, number: int) -> Manifest:
        """With that version live."""
        held = self.version(number)
        promoted = replace(held, promoted_at=datetime.now(UTC))
        return Manifest(number, tuple(promoted if one is held else one for one in self.versions))

    def drop(self, number: int) -> Manifest:
        """Without that version. Raises ConfigurationError for the live one."""
        held = self.version(number)
        if number == self.live:
            raise ConfigurationError(f"Version {number} is live.", remedy="Promote another one first.")
        return replace(self, versions=tuple(one for one in self.versions if one is not held))

    def mismatch(self, where: str, recipe: Recipe, schema: int) -> IndexMismatchError:
        """The error for settings that no version fits which questions may be answered from."""
        live = self.version(self.live)
        held, wanted = _parts(live.recipe, live.schema), _parts(recipe, schema)
        if not recipe.splitter:  # who only reads takes any
            held = {name: value for name, value in held.items() if name in READ_BY}
        differing = [name for name, value in held.items() if value != wanted[name]]
        built = ", ".join(f"{name} {held[name]}" for name in differing)
        chosen = ", ".join(f"{name} {wanted[name]}" for name in differing)
        waiting = [version.number for version in self.versions if fits(version, recipe, schema)]
        if waiting:
            remedy = f"Version {waiting[-1]} fits and is not live: run `lore index promote {waiting[-1]}`"
        else:
            remedy = "Run `lore index build` to make a version with these settings from the kept documents"
        return IndexMismatchError(
            f"Version {self.live}, the live one, of the index {where} was built with {built}; now chosen: {chosen}. "
            "Nothing was written.",
            remedy=f"{remedy}, or set LORE_EMBEDDER and LORE_CHUNK_CHARACTERS back to what built the live one.",
        )

    def to_json(self) -> str:
        """The manifest as text."""
        return json.dumps({"live": self.live, "versions": [version_to_json(version) for version in self.versions]})

    @staticmethod
    def from_json(text: str, where: str) -> Manifest:
        """The manifest that `to_json` wrote. Raises StoreError for anything else."""
        try:
            values = json.loads(text)
            versions = tuple(version_from_json(version) for version in values["versions"])
            manifest = Manifest(int(values["live"]), versions)
            manifest.version(manifest.live)
        except (ValueError, KeyError, TypeError, AttributeError, ConfigurationError) as error:
            raise StoreError(
                f"The manifest of the index {where} cannot be read ({type(error).__name__}).",
                remedy="Restore it from a backup, or set up a new index and run `lore sync --all`.",
            ) from None
        return manifest


class ManifestVersions:
    """What of `Versions` the manifest alone tells; a store says how it is read."""

    def _manifest(self) -> Manifest | None:
        """The manifest as it is now; None where nothing was written yet."""
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
        before = manifest.before() if manifest else None
        return before.number if before else None


def fits(version: IndexVersion, recipe: Recipe, schema: int) -> bool:
    """Whether these settings can read the version, and where a splitter is named, write it."""
    held = version.recipe
    readable = (held.embedder, held.dimensions, version.schema) == (recipe.embedder, recipe.dimensions, schema)
    return readable and (not recipe.splitter or (held.splitter, held.strategy) == (recipe.splitter, recipe.strategy))


def version_to_json(version: IndexVersion) -> dict[str, Any]:
    """A version as JSON values."""
    values = asdict(version)
    for name in MOMENTS:
        values[name] = values[name] and values[name].isoformat()
    return values


def version_from_json(values: Mapping[str, Any]) -> IndexVersion:
    """The version that `version_to_json` gave."""
    moments = {name: values[name] and datetime.fromisoformat(values[name]) for name in MOMENTS}
    counts = Counts(**values["counts"]) if values["counts"] else None
    return IndexVersion(**{**values, **moments, "counts": counts, "recipe": Recipe(**values["recipe"])})


def _parts(recipe: Recipe, schema: int) -> Mapping[str, str]:
    """What settings and a version have to have in common, by name."""
    return {
        "embedder": repr(recipe.embedder),
        "dimensions": str(recipe.dimensions),
        "splitter": repr(recipe.splitter),
        "strategy": repr(recipe.strategy),
        "schema": str(schema),
    }
