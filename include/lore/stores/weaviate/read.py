"""What the collections of one version are asked: counts, fingerprints, chunks and vectors of documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lore.stores.schema import clean, slices
from lore.stores.weaviate.rows import IDS_IN_A_CONDITION, WINDOW, at_once, by_ids, equal, everything, read
from lore.stores.weaviate.schema import VECTOR_NAME, key_of
from lore.types import Counts

if TYPE_CHECKING:
    from lore.stores.weaviate.collections import Collection, Collections
    from lore.types import Vector

DOCUMENTS_IN_A_QUESTION = 128
"""Of so many documents the chunks are asked for at once: hardly ever more than one query gives."""


def count(held: Collections, source_id: str | None) -> Counts:
    """What a version holds, for one source or for all."""
    from weaviate.classes.aggregate import Metrics

    where = None if source_id is None else equal("source_id", [clean(source_id)])
    recorded = Metrics("chunk_count").integer(sum_=True)
    marks = held.marks.aggregate.over_all(filters=where, total_count=True, return_metrics=recorded)
    total = marks.properties["chunk_count"].sum_ if marks.total_count else 0
    return Counts(marks.total_count or 0, _total(held.chunks, where), int(total or 0))


def fingerprints(collection: Collection, source_id: str | None, ids: Sequence[str] | None) -> dict[str, str]:
    """Document id → fingerprint of the documents or of the marks: for one source or for all, or of these `ids`."""
    properties = ["document_id", "source_id", "fingerprint"]
    if ids is None:
        rows = source_rows(collection, source_id, properties)
    else:
        wanted = None if source_id is None else clean(source_id)
        of_these = by_ids(collection, [key_of(name) for name in dict.fromkeys(ids)], properties)
        rows = (row for row in of_these if wanted in (None, row.properties["source_id"]))
    return {row.properties["document_id"]: row.properties.get("fingerprint") or "" for row in rows}


def source_rows(collection: Collection, source_id: str | None, properties: Sequence[str]) -> Iterator[Any]:
    """The documents or marks of a source or of all; `properties` has source_id."""
    if source_id is None:
        return everything(collection, properties)
    wanted = clean(source_id)
    where = equal("source_id", [wanted])

    def belongs(row: Mapping[str, Any]) -> bool:
        return bool(row["source_id"] == wanted)

    if _total(collection, where) < WINDOW:
        return read(collection, properties, where, belongs)
    return (row for row in everything(collection, properties) if belongs(row.properties))  # a query would be in vain


def _total(collection: Collection, where: Any) -> int:
    return collection.aggregate.over_all(filters=where, total_count=True).total_count or 0


def chunk_rows(held: Collections, document_ids: Sequence[str], properties: Sequence[str]) -> Iterator[Any]:
    """The chunks of documents; `properties` has document_id. Where there are many, fewer documents are asked for."""
    pieces = list(slices(list(dict.fromkeys(map(clean, document_ids))), DOCUMENTS_IN_A_QUESTION))
    while pieces:
        piece = pieces.pop(0)
        where = equal("document_key", (str(key_of(name)) for name in piece))
        if len(piece) == 1:
            yield from read(held.chunks, properties, where, partial(is_of, piece[0]))
        elif (rows := at_once(held.chunks, properties, where)) is not None:
            yield from rows
        else:
            pieces[:0] = slices(piece, (len(piece) + 1) // 2)


def is_of(document_id: str, row: Mapping[str, Any]) -> bool:
    """Whether a row is of the document."""
    return bool(row["document_id"] == document_id)


def vectors_for(held: Collections, hashes: Sequence[str]) -> dict[str, Vector]:
    """The vectors of content hashes. One may be that of many chunks, so ask until every one that is known was seen.

    A chunk that has no vector, which Lore did not write, is passed over.
    """
    import numpy as np

    found: dict[str, Vector] = {}
    for piece in slices(list(dict.fromkeys(hashes)), IDS_IN_A_CONDITION):
        missing, more = list(piece), True
        while missing and more:
            rows = held.chunks.query.fetch_objects(
                filters=equal("content_hash", missing),
                limit=IDS_IN_A_CONDITION,
                include_vector=[VECTOR_NAME],
                return_properties=["content_hash"],
            ).objects
            for row in rows:
                if VECTOR_NAME in row.vector:
                    found[row.properties["content_hash"]] = np.array(row.vector[VECTOR_NAME], dtype=np.float32)
            before, missing = missing, [name for name in missing if name not in found]
            more = len(rows) == IDS_IN_A_CONDITION and len(missing) < len(before)
    return found
