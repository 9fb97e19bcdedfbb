"""Queries on the collections of one version: counts, fingerprints, chunks and vectors of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lore.stores.values import batched, valid_utf8
from lore.stores.weaviate.collections.schema import VECTOR_NAME, object_id
from lore.stores.weaviate.objects.batches import (
    IDS_PER_CONDITION,
    WINDOW,
    any_of,
    fetch_all,
    fetch_by_ids,
    fetch_in_one_query,
    fetch_matching,
)
from lore.types import Counts

if TYPE_CHECKING:
    from lore.stores.weaviate.collections.index import VersionCollections
    from lore.stores.weaviate.objects.batches import Collection
    from lore.types import Vector

DOCUMENTS_PER_QUERY = 128
"""The chunks of this many documents hardly ever exceed what one query returns."""


def count(collections: VersionCollections, source_id: str | None) -> Counts:
    """The contents of a version, for one source or for all."""
    from weaviate.classes.aggregate import Metrics

    where = None if source_id is None else any_of("source_id", [valid_utf8(source_id)])
    recorded = Metrics("chunk_count").integer(sum_=True)
    indexed = collections.indexed.aggregate.over_all(filters=where, total_count=True, return_metrics=recorded)
    total = indexed.properties["chunk_count"].sum_ if indexed.total_count else 0
    return Counts(indexed.total_count or 0, _total(collections.chunks, where), int(total or 0))


def fingerprints(collection: Collection, source_id: str | None, ids: Sequence[str] | None) -> dict[str, str]:
    """Document id → fingerprint of the stored or the indexed documents: of a source, of these `ids`, or of all."""
    properties = ["document_id", "source_id", "fingerprint"]
    if ids is None:
        objects = source_objects(collection, source_id, properties)
    else:
        wanted = None if source_id is None else valid_utf8(source_id)
        of_these = fetch_by_ids(collection, [object_id(name) for name in dict.fromkeys(ids)], properties)
        objects = (one for one in of_these if wanted in (None, one.properties["source_id"]))
    return {one.properties["document_id"]: one.properties.get("fingerprint") or "" for one in objects}


def source_objects(collection: Collection, source_id: str | None, properties: Sequence[str]) -> Iterator[Any]:
    """The stored or indexed documents of a source, or of all; `properties` must include source_id."""
    if source_id is None:
        return fetch_all(collection, properties)
    wanted = valid_utf8(source_id)
    where = any_of("source_id", [wanted])

    def matches(properties: Mapping[str, Any]) -> bool:
        return bool(properties["source_id"] == wanted)

    if _total(collection, where) < WINDOW:
        return fetch_matching(collection, properties, where, matches)
    return (one for one in fetch_all(collection, properties) if matches(one.properties))  # saves a futile query


def _total(collection: Collection, where: Any) -> int:
    return collection.aggregate.over_all(filters=where, total_count=True).total_count or 0


def chunk_objects(
    collections: VersionCollections, document_ids: Sequence[str], properties: Sequence[str]
) -> Iterator[Any]:
    """The chunks of documents; `properties` must include document_id. Documents with many get smaller queries."""
    batches = list(batched(list(dict.fromkeys(map(valid_utf8, document_ids))), DOCUMENTS_PER_QUERY))
    while batches:
        batch = batches.pop(0)
        where = any_of("document_key", (str(object_id(name)) for name in batch))
        if len(batch) == 1:
            yield from fetch_matching(collections.chunks, properties, where, partial(belongs_to, batch[0]))
        elif (objects := fetch_in_one_query(collections.chunks, properties, where)) is not None:
            yield from objects
        else:
            batches[:0] = batched(batch, (len(batch) + 1) // 2)


def belongs_to(document_id: str, properties: Mapping[str, Any]) -> bool:
    """True if the properties are those of a chunk of the document."""
    return bool(properties["document_id"] == document_id)


def vectors_for(collections: VersionCollections, hashes: Sequence[str]) -> dict[str, Vector]:
    """The vectors of content hashes. Many chunks may share a hash, so queries repeat until each known one was seen.

    Skips chunks without a vector, which Lore did not write.
    """
    import numpy as np

    found: dict[str, Vector] = {}
    for batch in batched(list(dict.fromkeys(hashes)), IDS_PER_CONDITION):
        missing, more = list(batch), True
        while missing and more:
            objects = collections.chunks.query.fetch_objects(
                filters=any_of("content_hash", missing),
                limit=IDS_PER_CONDITION,
                include_vector=[VECTOR_NAME],
                return_properties=["content_hash"],
            ).objects
            for one in objects:
                if VECTOR_NAME in one.vector:
                    found[one.properties["content_hash"]] = np.array(one.vector[VECTOR_NAME], dtype=np.float32)
            before, missing = missing, [name for name in missing if name not in found]
            more = len(objects) == IDS_PER_CONDITION and len(missing) < len(before)
    return found
