"""Reads, inserts and deletions of Weaviate objects, in batches within the server's limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from uuid import UUID

from lore.errors import StoreError
from lore.stores.values import batched
from lore.stores.weaviate.collections.schema import VECTOR_NAME
from lore.stores.weaviate.server.client_errors import one_line

if TYPE_CHECKING:
    from lore.types import Vector

Collection: TypeAlias = Any
"""A `weaviate.collections.Collection`; its own types are generic over the stored properties."""

Id = TypeVar("Id")
Found = TypeVar("Found")

BATCH_BYTES = 4_000_000
BATCH_OBJECTS = 500
IDS_PER_CONDITION = 500
WINDOW = 10_000
"""The most objects that one query returns: the server's default of QUERY_MAXIMUM_RESULTS."""
CURSOR_PAGE = 1_000
TOO_LARGE = "larger than max"
"""Part of gRPC's error for a message over either side's limit."""
ALL_FAILED = "Here is the set of all errors: "
"""The client's text before the server's reasons if every object of a batch failed."""
NAMED_FAILURES = 5


@dataclass(frozen=True, slots=True)
class NewObject:
    """An object to write; errors name its `document_id`."""

    document_id: str
    uuid: UUID
    properties: Mapping[str, Any]
    vector: Vector | None = None

    @property
    def size(self) -> int:
        """The approximate size of the message in bytes."""
        text = sum(len(value) for value in self.properties.values() if isinstance(value, str))
        return 2 * text + (0 if self.vector is None else self.vector.nbytes) + 500


@dataclass(frozen=True, slots=True)
class RejectedObject:
    """The document of an object that the server rejected, and the reason."""

    document_id: str
    reason: str


def any_of(name: str, values: Iterable[str]) -> Any:
    """The condition that a property holds one of the values."""
    from weaviate.classes.query import Filter

    return Filter.by_property(name).contains_any(list(values))


def id_in(ids: Sequence[UUID] | Sequence[str]) -> Any:
    """The condition that an object has one of the ids."""
    from weaviate.classes.query import Filter

    return Filter.by_id().contains_any(list(ids))


def fetch_matching(
    collection: Collection, properties: Sequence[str], where: Any, matches: Callable[[Mapping[str, Any]], bool]
) -> Iterator[Any]:
    """Every object whose properties satisfy `matches`. `where` is the same condition for the server.

    The server ignores white space at the ends of text, so its answer is filtered again. A query stops at the server's
    limit, and the unlimited cursor takes no condition: a larger result is read by the cursor.
    """
    objects: Iterable[Any] | None = fetch_in_one_query(collection, properties, where)
    if objects is None:
        objects = fetch_all(collection, properties)
    return (one for one in objects if matches(one.properties))


def fetch_all(collection: Collection, properties: Sequence[str]) -> Iterator[Any]:
    """All objects, by the cursor."""
    return iter(collection.iterator(return_properties=list(properties), cache_size=CURSOR_PAGE))


def fetch_in_one_query(collection: Collection, properties: Sequence[str], where: Any) -> Sequence[Any] | None:
    """All objects that match, or None if there may be more than one query returns."""
    from weaviate.exceptions import WeaviateQueryError

    try:
        found = collection.query.fetch_objects(filters=where, limit=WINDOW, return_properties=list(properties))
    except WeaviateQueryError as error:
        if "query maximum results exceeded" in str(error).lower() or TOO_LARGE in str(error):
            return None
        raise
    return found.objects if len(found.objects) < WINDOW else None


def fetch_by_ids(collection: Collection, ids: Sequence[UUID], properties: Sequence[str]) -> Iterator[Any]:
    """Yield the existing objects with these ids."""

    def fetch(batch: Sequence[UUID]) -> Sequence[Any]:
        found: Sequence[Any] = collection.query.fetch_objects(
            filters=id_in(batch), limit=len(batch), return_properties=list(properties)
        ).objects
        return found

    return in_batches(ids, fetch)


def in_batches(ids: Sequence[Id], fetch: Callable[[Sequence[Id]], Sequence[Found]]) -> Iterator[Found]:
    """Yield what `fetch` returns for batches of the ids; a reply that is too large is fetched in smaller batches."""
    from weaviate.exceptions import WeaviateQueryError

    batches = list(batched(ids, IDS_PER_CONDITION))
    while batches:
        batch = batches.pop(0)
        try:
            found = fetch(batch)
        except WeaviateQueryError as error:
            if TOO_LARGE not in str(error) or len(batch) == 1:
                raise
            batches[:0] = batched(batch, (len(batch) + 1) // 2)
            continue
        yield from found


def insert(collection: Collection, objects: Iterable[NewObject]) -> list[RejectedObject]:
    """Write objects, replacing those with the same id; a rejected one is tried once more alone.

    Raises the client's errors if the server can't be reached.
    """
    rejected: list[RejectedObject] = []
    for batch in _insert_batches(objects):
        for number in _insert_batch(collection, batch):
            one = batch[number]
            rejected += [
                RejectedObject(one.document_id, reason) for reason in _insert_batch(collection, [one]).values()
            ]
    return rejected


def _insert_batches(objects: Iterable[NewObject]) -> Iterator[list[NewObject]]:
    batch: list[NewObject] = []
    size = 0
    for one in objects:
        if batch and (size + one.size > BATCH_BYTES or len(batch) >= BATCH_OBJECTS):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.size
    if batch:
        yield batch


def _insert_batch(collection: Collection, batch: Sequence[NewObject]) -> dict[int, str]:
    """Position → reason of each rejected object; the client raises only if every object failed."""
    from weaviate.classes.data import DataObject
    from weaviate.exceptions import WeaviateBatchError, WeaviateInsertManyAllFailedError

    objects = [
        DataObject(
            properties=dict(one.properties),
            uuid=one.uuid,
            vector=None if one.vector is None else {VECTOR_NAME: one.vector.tolist()},
        )
        for one in batch
    ]
    try:
        result = collection.data.insert_many(objects)
    except WeaviateInsertManyAllFailedError as error:
        return dict.fromkeys(range(len(batch)), error.message.rpartition(ALL_FAILED)[2])
    except WeaviateBatchError as error:
        if TOO_LARGE not in error.message:
            raise
        return dict.fromkeys(range(len(batch)), error.message)
    return {number: failed.message for number, failed in result.errors.items()}


def write_error(rejected: Sequence[RejectedObject], explain: Callable[[str, str], StoreError]) -> StoreError:
    """One error that names the documents; `explain` classifies the reasons."""
    reasons = {failure.document_id: failure.reason for failure in rejected}
    named = "; ".join(f"{name!r}: {one_line(reason)[:200]}" for name, reason in list(reasons.items())[:NAMED_FAILURES])
    more = f" and {len(reasons) - NAMED_FAILURES} more" if len(reasons) > NAMED_FAILURES else ""
    return explain(f"write {len(reasons)} document(s) to", f"{named}{more}")


def delete_matching(collection: Collection, where: Any) -> None:
    """Delete every object that matches, in as many calls as the server's limit requires.

    Raises StoreError if the server fails to delete an object.
    """
    while True:
        result = collection.data.delete_many(where=where)
        if result.failed:
            raise StoreError(
                f"Weaviate couldn't delete {result.failed} of {result.matches} objects of {collection.name}.",
                remedy="Check the server's log, then run the same command again.",
                retryable=True,
            )
        if not result.matches:
            return
