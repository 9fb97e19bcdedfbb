"""Passages by id, each read once for all the searches of a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from lore.stores.values import to_chunk
from lore.stores.weaviate.objects.batches import in_batches

if TYPE_CHECKING:
    from lore.stores.weaviate.search.queries import ChunkQuery, Queries, Ranking
    from lore.types import Chunk

__all__ = ["WeaviatePassage", "WeaviatePassages"]

RANKINGS = 4
"""The most rankings of one search, if passages are removed or hidden between ranking and reading."""
SHARED_SECONDS = 1.0
"""Searches that start within this time share what they read.

If later ones did too, then under constant load the cache would grow and age without bound.
"""
WAIT_SECONDS = 2.0
"""The longest wait for passages that another search is reading; then a search reads them itself."""


class WeaviatePassage(NamedTuple):
    """A chunk, and its vector as little-endian float32."""

    chunk: Chunk
    vector_bytes: bytes


_Read: TypeAlias = "Future[dict[str, WeaviatePassage]]"
"""Passages that one search reads for all."""


class WeaviatePassages:
    """Reads the hits of searches in one collection, which may run concurrently.

    The wordings of a question share most of their hits, and reading a passage costs the server and us more than ranking
    it does. So the search that ranks a passage first reads it, and the others wait at most `wait` seconds for it.
    `clock` is monotonic, in seconds.
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic, wait: float = WAIT_SECONDS) -> None:
        self._clock = clock
        self._wait = wait
        self._lock = Lock()
        self._group = _Group(clock())

    def find(
        self, queries: Queries, query: ChunkQuery, audiences: Iterable[str]
    ) -> tuple[Ranking, dict[str, WeaviatePassage]]:
        """The ranking and its passages by id, in their current state: some may have been hidden meanwhile.

        Ranks again if a passage was removed or hidden after the ranking, for those that take its place. Raises the
        client's errors, and StoreError for an invalid passage.
        """
        stripped = {audience.strip() for audience in audiences}  # the server's filter ignores white space at the ends
        changed: set[str] = set()
        with self._grouped() as reads:
            for _ in range(RANKINGS):
                ranking = queries.rank(query)
                found = self._read(reads, queries, ranking.ids, changed)
                lost = [name for name in ranking.ids if name not in found or not _is_visible(stripped, found[name])]
                if not lost:
                    break
                changed.update(lost)
        return ranking, found

    @contextmanager
    def _grouped(self) -> Iterator[dict[str, _Read]]:
        """The reads of the searches that started together, kept until the last of them ends."""
        with self._lock:
            now = self._clock()
            if not self._group.searches or now - self._group.started_at >= SHARED_SECONDS:
                self._group = _Group(now)
            group = self._group
            group.searches += 1
        try:
            yield group.reads
        finally:
            with self._lock:
                group.searches -= 1
                if not group.searches:
                    group.reads.clear()

    def _read(
        self, reads: dict[str, _Read], queries: Queries, ids: Sequence[str], changed: Set[str]
    ) -> dict[str, WeaviatePassage]:
        """The existing passages with these ids. Reads those itself that another search fails to read in time.

        So it does with those that `changed` since the first ranking: another search may have read their former state.
        """
        own: _Read = Future()
        with self._lock:
            wanted = {name: reads.setdefault(name, own) for name in ids if name not in changed}
        self._fill(own, reads, queries, [name for name, read in wanted.items() if read is own])
        done, _ = wait(set(wanted.values()), self._wait)
        found: dict[str, WeaviatePassage] = {}
        missing = [name for name in ids if name in changed]
        for name, read in wanted.items():
            if read not in done or read.exception():
                missing.append(name)
            elif passage := read.result().get(name):
                found[name] = passage
        return found | _passages(queries, missing)  # alone: waiting again could last as long as the others fail

    def _fill(self, own: _Read, reads: dict[str, _Read], queries: Queries, ids: Sequence[str]) -> None:
        """Read the passages that no other search reads; forget those that were not found."""
        found: dict[str, WeaviatePassage] = {}
        failure: BaseException | None = None
        try:
            found = _passages(queries, ids)
        except BaseException as error:
            failure = error
            raise
        finally:
            with self._lock:
                for name in ids:
                    if name not in found:
                        del reads[name]
            own.set_exception(failure) if failure else own.set_result(found)


def _is_visible(stripped: Set[str], passage: WeaviatePassage) -> bool:
    audiences = passage.chunk.audiences
    return not stripped.isdisjoint(audiences) or any(audience.strip() in stripped for audience in audiences)


def _passages(queries: Queries, ids: Sequence[str]) -> dict[str, WeaviatePassage]:
    contents = in_batches(ids, queries.read)
    return {content.id: WeaviatePassage(to_chunk(content.payload), content.vector_bytes) for content in contents}


@dataclass(slots=True)
class _Group:
    """Searches that started at about the same time: the number still running, and their reads by passage id."""

    started_at: float
    searches: int = 0
    reads: dict[str, _Read] = field(default_factory=dict)
