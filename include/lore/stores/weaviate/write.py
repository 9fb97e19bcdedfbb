"""How documents and their chunks are written to Weaviate and taken out, step by step.

Each step is marked before it begins and after it ended, so that what was cut off is seen and done again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from lore.errors import StoreError
from lore.stores.schema import clean, slices
from lore.stores.weaviate.read import chunk_rows, is_of
from lore.stores.weaviate.rows import (
    IDS_IN_A_CONDITION,
    Refused,
    Row,
    by_ids,
    delete,
    equal,
    insert,
    read,
    report,
)
from lore.stores.weaviate.schema import (
    MARK_PROPERTIES,
    chunk_key,
    chunk_properties,
    key_of,
    mark_properties,
)
from lore.types import EmbeddedDocument

if TYPE_CHECKING:
    from uuid import UUID

    from lore.stores.weaviate.collections import Collections

Explain: TypeAlias = Callable[[str, str], StoreError]


def replace_documents(
    held: Collections, entries: Sequence[EmbeddedDocument], rows: Mapping[str, Mapping[str, Any]]
) -> list[Refused]:
    """Write these documents, given as properties too, with their chunks; see `replace_chunks`."""
    unfinished = _unfinished(held, entries)
    refused = _mark(held, entries, pending=True)
    names = [entry.document.id for entry in _taken(entries, refused)]
    refused += insert(held.documents, (Row(name, key_of(name), rows[name]) for name in names))
    return refused + _replace_chunks(held, _taken(entries, refused), unfinished)


def replace_chunks(held: Collections, entries: Sequence[EmbeddedDocument]) -> list[Refused]:
    """Write the chunks of these documents and remove those of before; what the server refused in part stays marked."""
    unfinished = _unfinished(held, entries)
    refused = _mark(held, entries, pending=True)
    return refused + _replace_chunks(held, _taken(entries, refused), unfinished)


def _unfinished(held: Collections, entries: Sequence[EmbeddedDocument]) -> set[UUID]:
    """Those of the documents whose last write did not end: it was cut off, or goes on elsewhere."""
    marks = by_ids(held.marks, [key_of(entry.document.id) for entry in entries], ["fingerprint"])
    return {row.uuid for row in marks if not row.properties.get("fingerprint")}


def _replace_chunks(
    held: Collections, entries: Sequence[EmbeddedDocument], unfinished: Collection[UUID]
) -> list[Refused]:
    names = [entry.document.id for entry in entries]
    stored = {row.uuid: row.properties for row in chunk_rows(held, names, ["document_id", "checksum"])}
    kept, fresh = set(), []
    for entry in entries:
        for row in _rows(entry):
            kept.add(row.uuid)
            if row.uuid not in stored or stored[row.uuid]["checksum"] != row.properties["checksum"]:
                fresh.append(row)
    refused = insert(held.chunks, fresh)
    for entry in _taken(entries, refused):
        if key_of(entry.document.id) in unfinished:
            refused += _insert_lost(held, entry)
    complete = _taken(entries, refused)  # the others keep what they had before
    names_of_complete = {clean(entry.document.id) for entry in complete}
    stale = [key for key, row in stored.items() if key not in kept and row["document_id"] in names_of_complete]
    for piece in slices(stale, IDS_IN_A_CONDITION):
        delete(held.chunks, _ids(piece))
    return refused + _mark(held, complete, pending=False)


def _rows(entry: EmbeddedDocument) -> Iterator[Row]:
    for chunk, vector in zip(entry.chunks, entry.vectors, strict=True):
        yield Row(entry.document.id, chunk_key(chunk.id), chunk_properties(chunk, vector), vector)


def _insert_lost(held: Collections, entry: EmbeddedDocument) -> list[Refused]:
    """Write those chunks of a document anew that are there and are not found by what they are filtered by.

    Weaviate stores an object first and indexes it then, so that a server that was killed may hold such objects; and it
    sees nothing to do when the same is written once more. So they are deleted by their ids.
    """
    rows = {row.uuid: row for row in _rows(entry)}
    if not rows:
        return []
    where = equal("document_key", [str(key_of(entry.document.id))])
    where &= equal("source_id", [clean(entry.document.source_id)])
    where &= equal("content_hash", {row.properties["content_hash"] for row in rows.values()})
    if all(row.properties["audiences"] for row in rows.values()):
        where &= equal("audiences", {audience for row in rows.values() for audience in row.properties["audiences"]})
    found = read(held.chunks, ["document_id"], where, partial(is_of, clean(entry.document.id)))
    lost = rows.keys() - {row.uuid for row in found}
    for key in lost:
        held.chunks.data.delete_by_id(key)
    return insert(held.chunks, [rows[key] for key in lost])


def remove_documents(versions: Sequence[Collections], source_id: str, keys: Sequence[UUID], explain: Explain) -> int:
    """Remove documents, and their chunks from every version; returns how many documents there were.

    Raises StoreError where the server refuses a mark.
    """
    documents = versions[0].documents
    mine = [row.uuid for row in _of_source(documents, source_id, keys, ["document_id", "source_id"])]
    marked = [_unmark(held, _of_source(held.marks, source_id, keys, MARK_PROPERTIES), explain) for held in versions]
    for held, marks in zip(versions, marked, strict=True):
        _delete_chunks(held, {*mine, *marks})  # a version may hold what a killed deletion took out of the documents
    _delete(documents, mine)
    for held, marks in zip(versions, marked, strict=True):
        _delete(held.marks, marks)
    return len(mine)


def remove_chunks(held: Collections, keys: Sequence[UUID], explain: Explain) -> None:
    """Remove what this version holds of documents. Raises StoreError where the server refuses a mark."""
    marks = _unmark(held, list(by_ids(held.marks, keys, MARK_PROPERTIES)), explain)
    _delete_chunks(held, keys)
    _delete(held.marks, marks)


def _mark(held: Collections, entries: Sequence[EmbeddedDocument], *, pending: bool) -> list[Refused]:
    names = [(entry, entry.document.id) for entry in entries]
    return insert(
        held.marks, (Row(name, key_of(name), mark_properties(entry, pending=pending)) for entry, name in names)
    )


def _unmark(held: Collections, marks: Sequence[Any], explain: Explain) -> list[UUID]:
    """Empty the fingerprints of marks, so that a removal that is cut off is seen; returns their keys."""
    rows = [Row(row.properties["document_id"], row.uuid, {**row.properties, "fingerprint": ""}) for row in marks]
    if refused := insert(held.marks, rows):
        raise report(refused, explain)
    return [row.uuid for row in marks]


def _taken(entries: Sequence[EmbeddedDocument], refused: Sequence[Refused]) -> list[EmbeddedDocument]:
    bad = {failure.document_id for failure in refused}
    return [entry for entry in entries if entry.document.id not in bad]


def _of_source(collection: Any, source_id: str, keys: Sequence[UUID], properties: Sequence[str]) -> list[Any]:
    wanted = clean(source_id)
    return [row for row in by_ids(collection, keys, properties) if row.properties["source_id"] == wanted]


def _delete_chunks(held: Collections, keys: Collection[UUID]) -> None:
    if keys:
        delete(held.chunks, equal("document_key", map(str, keys)))


def _delete(collection: Any, keys: Sequence[UUID]) -> None:
    if keys:
        delete(collection, _ids(keys))


def _ids(keys: Sequence[UUID]) -> Any:
    from weaviate.classes.query import Filter

    return Filter.by_id().contains_any(list(keys))
