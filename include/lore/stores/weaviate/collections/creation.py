"""Creation and removal of an index and its versions.

Weaviate accepts concurrent inserts of the same object id, but creates a collection name only once in the cluster. So
creating the chunk collection reserves a version's number, and its description records the recipe in the same step.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial

from lore.errors import ConfigurationError, StoreError
from lore.stores.manifest import IndexManifest, version_from_json, version_to_json
from lore.stores.weaviate.collections.catalog import DAMAGED, create_if_absent
from lore.stores.weaviate.collections.index import WeaviateIndex
from lore.stores.weaviate.collections.layout import CollectionLayout, create
from lore.stores.weaviate.collections.schema import SCHEMA_NUMBER, CollectionOptions
from lore.types import IndexVersion, Recipe

ABANDONED = timedelta(minutes=10)
"""Creating a version takes under a second: one without a record after this time belongs to a killed process."""


def create_index(index: WeaviateIndex, recipe: Recipe, options: CollectionOptions) -> IndexManifest:
    """Create an index with its first version, or complete what another process began, with that process's recipe.

    Several concurrent calls create one index.
    """
    first = IndexManifest.first(recipe, SCHEMA_NUMBER).versions[0]
    if not _reserve(index, first, options):
        first = _reserved_version(index, 1)
    layout = index.layout(1)
    for each in (layout.indexed, layout.documents, layout.state):
        _create(index, each, options, first if each is layout.indexed else None)
    index.save(first)
    return index.require_manifest()


def create_version(index: WeaviateIndex, recipe: Recipe, options: CollectionOptions) -> IndexVersion:
    """Create a version with a number that was never used before."""
    recorded = {version.number for version in index.recorded_versions()}
    number = max(recorded | index.dropped_numbers() | _existing(index).keys()) + 1
    while not _reserve(index, version := _building(number, recipe), options):
        number += 1
    _create(index, index.layout(number).indexed, options, version)
    index.save(version)  # last: a recorded version is complete
    return version


def delete_version(index: WeaviateIndex, number: int) -> None:
    """Delete the collections of a version without a record. Raises ConfigurationError for the live one."""
    if index.live() == number:  # Weaviate would keep an alias that points to nothing
        raise ConfigurationError(f"Version {number} is live.", remedy="Promote another version first.")
    layout = index.layout(number)
    index.connection.client().collections.delete([layout.indexed.name, layout.chunks.name])


def delete_orphans(index: WeaviateIndex) -> None:
    """Delete the collections that a process left when it was killed while creating or removing a version."""
    existing = _existing(index)  # first: a version that is recorded meanwhile must stay
    recorded = {version.number for version in index.recorded_versions()}
    dropped = index.dropped_numbers()
    for number in existing.keys() - recorded:
        created_at = existing[number]
        if number in dropped or created_at is None or datetime.now(UTC) - created_at > ABANDONED:
            delete_version(index, number)


def _building(number: int, recipe: Recipe) -> IndexVersion:
    return IndexVersion(number, recipe, SCHEMA_NUMBER, "building", created_at=datetime.now(UTC))


def _reserve(index: WeaviateIndex, version: IndexVersion, options: CollectionOptions) -> bool:
    """Create the chunk collection of a version; True if this process did."""
    return _create(index, index.layout(version.number).chunks, options, version)


def _create(
    index: WeaviateIndex, layout: CollectionLayout, options: CollectionOptions, version: IndexVersion | None
) -> bool:
    description = json.dumps(version_to_json(version)) if version else ""
    return create_if_absent(partial(create, index.connection.client(), layout, options, description))


def _reserved_version(index: WeaviateIndex, number: int) -> IndexVersion:
    """The version in the description of an existing chunk collection."""
    name = index.layout(number).chunks.name
    version = _parse(index.connection.client().collections.use(name).config.get().description)
    if version is None:
        raise StoreError(f"Lore did not make the collection {name} at {index.connection.address}.", remedy=DAMAGED)
    return version


def _existing(index: WeaviateIndex) -> dict[int, datetime | None]:
    """The versions that have collections, with their creation dates; None for collections that Lore did not make."""
    found: dict[int, datetime | None] = {}
    for name, config in index.connection.client().collections.list_all(simple=True).items():
        number = index.version_number(name)
        if number is not None:
            version = _parse(config.description)
            found[number] = (version and version.created_at) or found.get(number)
    return found


def _parse(description: str | None) -> IndexVersion | None:
    try:
        return version_from_json(json.loads(description or ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
