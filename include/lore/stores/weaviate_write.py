"""How documents are written to Weaviate and taken out, step by step, and which rows are theirs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from include.lore.stores.schema import clean, slices
from include.lore.stores.weaviate_rows import IDS_IN_A_CONDITION, Refused, Row, delete, equal, insert, read
from include.lore.stores.weaviate_schema import chunk_key, chunk_properties, key_of
from include.lore.types import Entry

if TYPE_CHECKING:
    from include.lore.stores.weaviate_collections import Collections


def source_rows(held: Collections, source_id: str, properties: Sequence[str]) -> Iterator[Any]:
    """The document rows of a source; `properties` has source_id."""
    wanted = clean(source_id)
    rows = read(held.documents, properties, equal("source_id", [wanted]), lambda row: row["source_id"] == wanted)
    return (row for row in rows if row.properties["source_id"] == wanted)


def chunk_rows(held: Collections, document_ids: Sequence[str], properties: Sequence[str]) -> Iterator[Any]:
    """The chunk rows of documents; `properties` has document_id."""
    wanted = {clean(name) for name in document_ids}
    where = equal("document_key", (str(key_of(name)) for name in wanted))
    return read(held.chunks, properties, where, lambda row: row["document_id"] in wanted)


def replace_documents(
    held: Collections, entries: Sequence[Entry], rows: Mapping[str, Mapping[str, Any]]
) -> list[Refused]:
    """Write these documents; those that the server refused in part stay without a fingerprint."""
    names = [entry.document.id for entry in entries]
    stored = {row.uuid: row.properties for row in chunk_rows(held, names, ["document_id", "checksum"])}
    refused = insert(held.documents, (Row(name, key_of(name), {**rows[name], "fingerprint": ""}) for name in names))
    kept, fresh = set(), []
    for entry in entries:
        for chunk, vector in zip(entry.chunks, entry.vectors, strict=True):
            key, properties = chunk_key(chunk.id), chunk_properties(chunk, vector)
            kept.add(key)
            if key not in stored or stored[key]["checksum"] != properties["checksum"]:
                fresh.append(Row(entry.document.id, key, properties, vector))
    refused += insert(held.chunks, fresh)
    bad = {clean(failure.document_id) for failure in refused}  # these keep what they had before
    stale = [key for key, row in stored.items() if key not in kept and row["document_id"] not in bad]
    for piece in slices(stale, IDS_IN_A_CONDITION):
        delete(held.chunks, _ids(piece))
    complete = (Row(name, key_of(name), rows[name]) for name in names if clean(name) not in bad)
    return refused + insert(held.documents, complete)


def remove_documents(held: Collections, rows: Sequence[Any]) -> list[Refused]:
    """Remove documents, given as rows with all that is stored, or return which the server refused to mark.

    They are marked first, so that one whose removal was cut off has no fingerprint.
    """
    marked = [Row(row.properties["document_id"], row.uuid, row.properties | {"fingerprint": ""}) for row in rows]
    if refused := insert(held.documents, marked):
        return refused
    keys = [row.uuid for row in rows]
    delete(held.chunks, equal("document_key", map(str, keys)))
    delete(held.documents, _ids(keys))
    return []


def _ids(keys: Sequence[Any]) -> Any:
    from weaviate.classes.query import Filter

    return Filter.by_id().contains_any(list(keys))
