"""Rows of Weaviate collections: read without a limit, written in bounded batches, deleted until none is left."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from lore.errors import StoreError
from lore.stores.schema import slices
from lore.stores.weaviate.errors import plain
from lore.stores.weaviate.schema import VECTOR_NAME

if TYPE_CHECKING:
    from lore.stores.weaviate.collections import Collection
    from lore.types import Vector

Id = TypeVar("Id")
Found = TypeVar("Found")

BATCH_BYTES = 4_000_000
BATCH_OBJECTS = 500
IDS_IN_A_CONDITION = 500
WINDOW = 10_000
"""How many rows one query gives at most: the server's default of QUERY_MAXIMUM_RESULTS."""
PAGE = 1_000
"""How many rows the cursor takes at a time."""
TOO_LARGE = "larger than max"
"""What gRPC says of a message that is over the limit of one side."""
ALL_FAILED = "Here is the set of all errors: "
"""What the client puts before the server's words when the server took no object of a batch."""
NAMED_FAILURES = 5


@dataclass(frozen=True, slots=True)
class Row:
    """An object to be written; `document_id` names it in errors."""

    document_id: str
    uuid: UUID
    properties: Mapping[str, Any]
    vector: Vector | None = None

    @property
    def size(self) -> int:
        """About how many bytes it takes on the wire."""
        text = sum(len(value) for value in self.properties.values() if isinstance(value, str))
        return 2 * text + (0 if self.vector is None else self.vector.nbytes) + 500


@dataclass(frozen=True, slots=True)
class Refused:
    """What the server did not take of a document, and why."""

    document_id: str
    reason: str


def equal(name: str, values: Iterable[str]) -> Any:
    """The condition that a property holds one of the values."""
    from weaviate.classes.query import Filter

    return Filter.by_property(name).contains_any(list(values))


def read(
    collection: Collection, properties: Sequence[str], where: Any, belongs: Callable[[Mapping[str, Any]], bool]
) -> Iterator[Any]:
    """Every object that `belongs` by its properties; `where` says the same as far as the server understands it,
    which ignores white space at the ends.

    A query gives no more than the server's limit, and the cursor that knows no limit takes no condition: what is larger
    than one query is read by the cursor.
    """
    rows: Iterable[Any] | None = at_once(collection, properties, where)
    if rows is None:
        rows = everything(collection, properties)
    return (row for row in rows if belongs(row.properties))


def everything(collection: Collection, properties: Sequence[str]) -> Iterator[Any]:
    """All objects, by the cursor."""
    return iter(collection.iterator(return_properties=list(properties), cache_size=PAGE))


def at_once(collection: Collection, properties: Sequence[str], where: Any) -> Sequence[Any] | None:
    """All objects that fit, or None when there may be more than one query gives."""
    from weaviate.exceptions import WeaviateQueryError

    try:
        found = collection.query.fetch_objects(filters=where, limit=WINDOW, return_properties=list(properties))
    except WeaviateQueryError as error:
        if "query maximum results exceeded" in str(error).lower() or TOO_LARGE in str(error):
            return None
        raise
    return found.objects if len(found.objects) < WINDOW else None


def by_ids(collection: Collection, ids: Sequence[UUID], properties: Sequence[str]) -> Iterator[Any]:
    """Yield the objects of those ids that are there."""
    from weaviate.classes.query import Filter

    def ask(piece: Sequence[UUID]) -> Sequence[Any]:
        where = Filter.by_id().contains_any(list(piece))
        found: Sequence[Any] = collection.query.fetch_objects(
            filters=where, limit=len(piece), return_properties=list(properties)
        ).objects
        return found

    return in_pieces(ids, ask)


def in_pieces(ids: Sequence[Id], ask: Callable[[Sequence[Id]], Sequence[Found]]) -> Iterator[Found]:
    """Yield what is there of the ids; `ask` is called with fewer of them where what it asks for is large."""
    from weaviate.exceptions import WeaviateQueryError

    pieces = list(slices(ids, IDS_IN_A_CONDITION))
    while pieces:
        piece = pieces.pop(0)
        try:
            found = ask(piece)
        except WeaviateQueryError as error:
            if TOO_LARGE not in str(error) or len(piece) == 1:
                raise
            pieces[:0] = slices(piece, (len(piece) + 1) // 2)
            continue
        yield from found


def insert(collection: Collection, rows: Iterable[Row]) -> list[Refused]:
    """Write the rows, each in place of one with its id; what is refused is tried once more by itself.

    Raises what the client raises when the server cannot be spoken to.
    """
    refused: list[Refused] = []
    for batch in _batches(rows):
        for number in _insert_batch(collection, batch):
            row = batch[number]
            refused += [Refused(row.document_id, reason) for reason in _insert_batch(collection, [row]).values()]
    return refused


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size = 0
    for row in rows:
        if batch and (size + row.size > BATCH_BYTES or len(batch) >= BATCH_OBJECTS):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += row.size
    if batch:
        yield batch


def _insert_batch(collection: Collection, rows: Sequence[Row]) -> dict[int, str]:
    """Which rows were refused, by their numbers, and why: the client raises only when every object failed."""
    from weaviate.classes.data import DataObject
    from weaviate.exceptions import WeaviateBatchError, WeaviateInsertManyAllFailedError

    objects = [
        DataObject(
            properties=dict(row.properties),
            uuid=row.uuid,
            vector=None if row.vector is None else {VECTOR_NAME: row.vector.tolist()},
        )
        for row in rows
    ]
    try:
        result = collection.data.insert_many(objects)
    except WeaviateInsertManyAllFailedError as error:
        return dict.fromkeys(range(len(rows)), error.message.rpartition(ALL_FAILED)[2])
    except WeaviateBatchError as error:
        if TOO_LARGE not in error.message:
            raise
        return dict.fromkeys(range(len(rows)), error.message)
    return {number: failed.message for number, failed in result.errors.items()}


def report(refused: Sequence[Refused], explain: Callable[[str, str], StoreError]) -> StoreError:
    """One error that names the documents; `explain` judges the reason."""
    reasons = {failure.document_id: failure.reason for failure in refused}
    named = "; ".join(f"{name!r}: {plain(reason)[:200]}" for name, reason in list(reasons.items())[:NAMED_FAILURES])
    more = f" and {len(reasons) - NAMED_FAILURES} more" if len(reasons) > NAMED_FAILURES else ""
    return explain(f"write {len(reasons)} document(s) to", f"{named}{more}")


def delete(collection: Collection, where: Any) -> None:
    """Delete every object that fits: one call stops at the server's limit, so until none is left.

    Raises StoreError when the server cannot delete one.
    """
    while True:
        result = collection.data.delete_many(where=where)
        if result.failed:
            raise StoreError(
                f"Weaviate could not delete {result.failed} of {result.matches} objects of {collection.name}.",
                remedy="Look at the server's log, then run the same again.",
                retryable=True,
            )
        if not result.matches:
            return
