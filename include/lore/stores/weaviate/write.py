"""How documents and their chunks are written to Weaviate and taken out, step by step.

Each step is marked before it begins and after it ended, so that what was cut off is seen and done again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from include.lore.errors import StoreError
from include.lore.stores.schema import clean, slices
from include.lore.stores.weaviate.read import chunk_rows
from include.lore.stores.weaviate.rows import IDS_IN_A_CONDITION, Refused, Row, by_ids, delete, equal, insert, report
from include.lore.stores.weaviate.schema import (
    MARK_PROPERTIES,
    chunk_key,
    chunk_properties,
    key_of,
    mark_properties,
)
from include.lore.types import Entry

if TYPE_CHECKING:
    from uuid import UUID

    from include.lore.stores.weaviate.collections import Collections

Explain: TypeAlias = Callable[[str, str], StoreError]


def replace_documents(
    held: Collections, entries: Sequence[Entry], rows: Mapping[str, Mapping[str, Any]]
) -> list[Refused]:
    """Write these documents, given as properties too, with their chunks; see `replace_chunks`."""
    for key in _take_out_unfinished(held, entries):
        held.documents.data.delete_by_id(key)
    refused = _mark(held, entries, pending=True)
    names = [entry.document.id for entry in _taken(entries, refused)]
    refused += insert(held.documents, (Row(name, key_of(name), rows[name]) for name in names))
    return refused + _replace_chunks(held, _taken(entries, refused))


def replace_chunks(held: Collections, entries: Sequence[Entry]) -> list[Refused]:
    """Write the chunks of these documents and remove those of before; what the server refused in part stays marked."""
    _take_out_unfinished(held, entries)
    refused = _mark(held, entries, pending=True)
    return refused + _replace_chunks(held, _taken(entries, refused))


def _take_out_unfinished(held: Collections, entries: Sequence[Entry]) -> list[UUID]:
    """Take out the chunks and marks of those of the documents whose last write did not end; returns these documents.

    A server that was killed may hold an object that it does not find by its properties, because it stores first and
    indexes then; and when the same is written once more, it sees nothing to do. So each is deleted by its id.
    """
    by_key = {key_of(entry.document.id): entry for entry in entries}
    marks = by_ids(held.marks, list(by_key), ["fingerprint"])
    unfinished = [row.uuid for row in marks if not row.properties.get("fingerprint")]
    for key in unfinished:
        entry = by_key[key]
        found = {row.uuid for row in chunk_rows(held, [entry.document.id], ["document_id"])}
        for chunk in found.union(chunk_key(chunk.id) for chunk in entry.chunks):
            held.chunks.data.delete_by_id(chunk)
        held.marks.data.delete_by_id(key)  # last: until then the document is known to be unfinished
    return unfinished


def _replace_chunks(held: Collections, entries: Sequence[Entry]) -> list[Refused]:
    names = [entry.document.id for entry in entries]
    stored = {row.uuid: row.properties for row in chunk_rows(held, names, ["document_id", "checksum"])}
    kept, fresh = set(), []
    for entry in entries:
        for chunk, vector in zip(entry.chunks, entry.vectors, strict=True):
            key, properties = chunk_key(chunk.id), chunk_properties(chunk, vector)
            kept.add(key)
            if key not in stored or stored[key]["checksum"] != properties["checksum"]:
                fresh.append(Row(entry.document.id, key, properties, vector))
    refused = insert(held.chunks, fresh)
    complete = _taken(entries, refused)  # the others keep what they had before
    names_of_complete = {clean(entry.document.id) for entry in complete}
    stale = [key for key, row in stored.items() if key not in kept and row["document_id"] in names_of_complete]
    for piece in slices(stale, IDS_IN_A_CONDITION):
        delete(held.chunks, _ids(piece))
    return refused + _mark(held, complete, pending=False)


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


def _mark(held: Collections, entries: Sequence[Entry], *, pending: bool) -> list[Refused]:
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


def _taken(entries: Sequence[Entry], refused: Sequence[Refused]) -> list[Entry]:
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
