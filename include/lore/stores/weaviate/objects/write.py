"""Writes and removals of documents and their chunks, step by step.

Each step empties a document's fingerprint before it begins and sets it when it has ended, so that the next sync detects
an interrupted step and repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from lore.errors import StoreError
from lore.stores.values import batched, valid_utf8
from lore.stores.weaviate.collections.schema import (
    INDEXED_PROPERTIES,
    chunk_object_id,
    chunk_properties,
    indexed_properties,
    object_id,
)
from lore.stores.weaviate.objects.batches import (
    IDS_PER_CONDITION,
    NewObject,
    RejectedObject,
    any_of,
    delete_matching,
    fetch_by_ids,
    fetch_matching,
    id_in,
    insert,
    write_error,
)
from lore.stores.weaviate.objects.read import belongs_to, chunk_objects
from lore.types import EmbeddedDocument

if TYPE_CHECKING:
    from uuid import UUID

    from lore.stores.weaviate.collections.index import VersionCollections

Explain: TypeAlias = Callable[[str, str], StoreError]


def replace_documents(
    collections: VersionCollections, entries: Sequence[EmbeddedDocument], properties: Mapping[str, Mapping[str, Any]]
) -> list[RejectedObject]:
    """Write documents with their chunks; `properties` has each document's by its id. See `replace_chunks`."""
    interrupted = _interrupted(collections, entries)
    rejected = _write_indexed(collections, entries, pending=True)
    names = [entry.document.id for entry in _accepted(entries, rejected)]
    rejected += insert(collections.documents, (NewObject(name, object_id(name), properties[name]) for name in names))
    return rejected + _replace_chunks(collections, _accepted(entries, rejected), interrupted)


def replace_chunks(collections: VersionCollections, entries: Sequence[EmbeddedDocument]) -> list[RejectedObject]:
    """Write the chunks of documents and delete their former ones.

    A document of which the server rejected an object keeps its empty fingerprint.
    """
    interrupted = _interrupted(collections, entries)
    rejected = _write_indexed(collections, entries, pending=True)
    return rejected + _replace_chunks(collections, _accepted(entries, rejected), interrupted)


def _interrupted(collections: VersionCollections, entries: Sequence[EmbeddedDocument]) -> set[UUID]:
    """The documents whose last write was interrupted, or goes on in another process."""
    keys = [object_id(entry.document.id) for entry in entries]
    records = fetch_by_ids(collections.indexed, keys, ["fingerprint"])
    return {record.uuid for record in records if not record.properties.get("fingerprint")}


def _replace_chunks(
    collections: VersionCollections, entries: Sequence[EmbeddedDocument], interrupted: Collection[UUID]
) -> list[RejectedObject]:
    names = [entry.document.id for entry in entries]
    stored = {one.uuid: one.properties for one in chunk_objects(collections, names, ["document_id", "checksum"])}
    kept, changed = set(), []
    for entry in entries:
        for chunk in _chunk_objects(entry):
            kept.add(chunk.uuid)
            if chunk.uuid not in stored or stored[chunk.uuid]["checksum"] != chunk.properties["checksum"]:
                changed.append(chunk)
    rejected = insert(collections.chunks, changed)
    for entry in _accepted(entries, rejected):
        if object_id(entry.document.id) in interrupted:
            rejected += _reinsert_unindexed(collections, entry)
    complete = _accepted(entries, rejected)  # the others keep their former chunks
    names_of_complete = {valid_utf8(entry.document.id) for entry in complete}
    stale = [key for key, chunk in stored.items() if key not in kept and chunk["document_id"] in names_of_complete]
    for batch in batched(stale, IDS_PER_CONDITION):
        delete_matching(collections.chunks, id_in(batch))
    return rejected + _write_indexed(collections, complete, pending=False)


def _chunk_objects(entry: EmbeddedDocument) -> Iterator[NewObject]:
    for chunk, vector in zip(entry.chunks, entry.vectors, strict=True):
        yield NewObject(entry.document.id, chunk_object_id(chunk.id), chunk_properties(chunk, vector), vector)


def _reinsert_unindexed(collections: VersionCollections, entry: EmbeddedDocument) -> list[RejectedObject]:
    """Write the chunks of a document again that exist, but that filters do not find.

    Weaviate stores an object before it indexes it, so a killed server may have such objects, and it ignores a write
    that changes nothing. So they are deleted by id first.
    """
    chunks = {chunk.uuid: chunk for chunk in _chunk_objects(entry)}
    if not chunks:
        return []
    where = any_of("document_key", [str(object_id(entry.document.id))])
    where &= any_of("source_id", [valid_utf8(entry.document.source_id)])
    where &= any_of("content_hash", {chunk.properties["content_hash"] for chunk in chunks.values()})
    if all(chunk.properties["audiences"] for chunk in chunks.values()):
        where &= any_of("audiences", {name for chunk in chunks.values() for name in chunk.properties["audiences"]})
    matches = partial(belongs_to, valid_utf8(entry.document.id))
    found = fetch_matching(collections.chunks, ["document_id"], where, matches)
    lost = chunks.keys() - {one.uuid for one in found}
    for key in lost:
        collections.chunks.data.delete_by_id(key)
    return insert(collections.chunks, [chunks[key] for key in lost])


def remove_documents(
    versions: Sequence[VersionCollections], source_id: str, keys: Sequence[UUID], explain: Explain
) -> int:
    """Remove documents, and their chunks from every version; return the number of documents.

    Raises StoreError if the server rejects the emptied fingerprints.
    """
    documents = versions[0].documents
    existing = [one.uuid for one in _of_source(documents, source_id, keys, ["document_id", "source_id"])]
    indexed = [
        _clear_fingerprints(version, _of_source(version.indexed, source_id, keys, INDEXED_PROPERTIES), explain)
        for version in versions
    ]
    for version, its_keys in zip(versions, indexed, strict=True):
        # a killed deletion may have removed the document but not its chunks
        _delete_chunks(version, {*existing, *its_keys})
    _delete(documents, existing)
    for version, its_keys in zip(versions, indexed, strict=True):
        _delete(version.indexed, its_keys)
    return len(existing)


def remove_chunks(collections: VersionCollections, keys: Sequence[UUID], explain: Explain) -> None:
    """Remove documents from this version. Raises StoreError if the server rejects the emptied fingerprints."""
    records = list(fetch_by_ids(collections.indexed, keys, INDEXED_PROPERTIES))
    indexed = _clear_fingerprints(collections, records, explain)
    _delete_chunks(collections, keys)
    _delete(collections.indexed, indexed)


def _write_indexed(
    collections: VersionCollections, entries: Sequence[EmbeddedDocument], *, pending: bool
) -> list[RejectedObject]:
    names = [(entry, entry.document.id) for entry in entries]
    return insert(
        collections.indexed,
        (NewObject(name, object_id(name), indexed_properties(entry, pending=pending)) for entry, name in names),
    )


def _clear_fingerprints(collections: VersionCollections, records: Sequence[Any], explain: Explain) -> list[UUID]:
    """Empty the fingerprints of index records, which shows an interrupted removal; return the records' keys."""
    cleared = [
        NewObject(record.properties["document_id"], record.uuid, {**record.properties, "fingerprint": ""})
        for record in records
    ]
    if rejected := insert(collections.indexed, cleared):
        raise write_error(rejected, explain)
    return [record.uuid for record in records]


def _accepted(entries: Sequence[EmbeddedDocument], rejected: Sequence[RejectedObject]) -> list[EmbeddedDocument]:
    bad = {failure.document_id for failure in rejected}
    return [entry for entry in entries if entry.document.id not in bad]


def _of_source(collection: Any, source_id: str, keys: Sequence[UUID], properties: Sequence[str]) -> list[Any]:
    wanted = valid_utf8(source_id)
    return [one for one in fetch_by_ids(collection, keys, properties) if one.properties["source_id"] == wanted]


def _delete_chunks(collections: VersionCollections, keys: Collection[UUID]) -> None:
    if keys:
        delete_matching(collections.chunks, any_of("document_key", map(str, keys)))


def _delete(collection: Any, keys: Sequence[UUID]) -> None:
    if keys:
        delete_matching(collection, id_in(keys))
