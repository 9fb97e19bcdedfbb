"""Openers of indexes on the tests' server."""

from __future__ import annotations

from lore.stores.weaviate.store import WeaviateStore
from lore.stores.weaviate.versions import WeaviateVersions
from lore.types import Recipe

from tests.contracts.store import RECIPE
from tests.servers.weaviate import Address


def open_at(address: Address, recipe: Recipe = RECIPE, **options: object) -> WeaviateStore:
    return WeaviateStore(address.server, recipe, prefix=address.prefix, **options)  # type: ignore[arg-type]


def versions_at(address: Address, **options: object) -> WeaviateVersions:
    return WeaviateVersions(address.server, prefix=address.prefix, **options)  # type: ignore[arg-type]


def open_store(address: str, recipe: Recipe = RECIPE) -> WeaviateStore:
    return open_at(Address.parse(address), recipe)


def open_versions(address: str) -> WeaviateVersions:
    return versions_at(Address.parse(address))
