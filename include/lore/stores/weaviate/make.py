"""How the collections of an index and its versions are made and removed.

Weaviate inserts an object with an id of one's own as often as it is asked to at once, but makes a collection of a name
only once in the whole cluster. So it is the collection of chunks that gives a version its number, and what the version
is made with is written into its description in the same step.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from functools import partial

from lore.errors import ConfigurationError, StoreError
from lore.stores.manifest import Manifest, version_from_json, version_to_json
from lore.stores.weaviate.collections import WeaviateIndex
from lore.stores.weaviate.layout import Layout, create
from lore.stores.weaviate.records import LOST, unless_there
from lore.stores.weaviate.schema import SCHEMA_NUMBER, Shape
from lore.types import IndexVersion, Recipe

ABANDONED = timedelta(minutes=10)
"""A version takes under a second to be made: what lies unrecorded for so long was left by a process that was killed."""


def make_index(index: WeaviateIndex, recipe: Recipe, shape: Shape) -> Manifest:
    """A new index with its first version. What another process began is completed, with the recipe that it chose: so
    several that make it at once make one.
    """
    first = Manifest.first(recipe, SCHEMA_NUMBER).versions[0]
    if not _claim(index, first, shape):
        first = _described(index, 1)
    layouts = index.layouts(1)
    for layout in (layouts.marks, layouts.documents, layouts.state):
        _create(index, layout, shape, first if layout is layouts.marks else None)
    index.save(first)
    return index.held()


def add_version(index: WeaviateIndex, recipe: Recipe, shape: Shape) -> IndexVersion:
    """One more version, with a number that no other has or had."""
    recorded = {version.number for version in index.recorded()}
    number = max(recorded | index.dropped() | _there(index).keys()) + 1
    while not _claim(index, version := _building(number, recipe), shape):
        number += 1
    _create(index, index.layouts(number).marks, shape, version)
    index.save(version)  # last: what is recorded is there
    return version


def remove_version(index: WeaviateIndex, number: int) -> None:
    """Remove the collections of a version that is not recorded any more. Raises ConfigurationError for the live one."""
    if index.live() == number:  # Weaviate would leave an alias that points to nothing
        raise ConfigurationError(f"Version {number} is live.", remedy="Promote another one first.")
    layouts = index.layouts(number)
    index.connection.client().collections.delete([layouts.marks.name, layouts.chunks.name])


def remove_leftovers(index: WeaviateIndex) -> None:
    """Remove the collections that a process left that was killed while it made or removed a version."""
    there = _there(index)  # first: what is recorded in between stays
    recorded = {version.number for version in index.recorded()}
    dropped = index.dropped()
    for number in there.keys() - recorded:
        made = there[number]
        if number in dropped or made is None or datetime.now(UTC) - made > ABANDONED:
            remove_version(index, number)


def _building(number: int, recipe: Recipe) -> IndexVersion:
    return IndexVersion(number, recipe, SCHEMA_NUMBER, "building", created_at=datetime.now(UTC))


def _claim(index: WeaviateIndex, version: IndexVersion, shape: Shape) -> bool:
    """Make the collection of a version's chunks; whether it is this process that did."""
    return _create(index, index.layouts(version.number).chunks, shape, version)


def _create(index: WeaviateIndex, layout: Layout, shape: Shape, version: IndexVersion | None) -> bool:
    description = json.dumps(version_to_json(version)) if version else ""
    return unless_there(partial(create, index.connection.client(), layout, shape, description))


def _described(index: WeaviateIndex, number: int) -> IndexVersion:
    """What a version was made with, by the description of its chunks."""
    name = index.layouts(number).chunks.name
    version = _read(index.connection.client().collections.use(name).config.get().description)
    if version is None:
        raise StoreError(f"The collection {name} at {index.connection.address} was not made by Lore.", remedy=LOST)
    return version


def _there(index: WeaviateIndex) -> dict[int, datetime | None]:
    """The versions of which there are collections, and when each was made; None for what was not made by Lore."""
    found: dict[int, datetime | None] = {}
    for name, config in index.connection.client().collections.list_all(simple=True).items():
        number = index.number_of(name)
        if number is not None:
            version = _read(config.description)
            found[number] = (version and version.created_at) or found.get(number)
    return found


def _read(description: str | None) -> IndexVersion | None:
    try:
        return version_from_json(json.loads(description or ""))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
