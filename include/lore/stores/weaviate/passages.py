"""Passages by their ids, each read once for all the searches of a question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING, NamedTuple

from include.lore.stores.schema import to_chunk
from include.lore.stores.weaviate.grpc import Ranked, contents
from include.lore.stores.weaviate.rows import in_pieces

if TYPE_CHECKING:
    from include.lore.stores.weaviate.collections import Collection
    from include.lore.types import Chunk

__all__ = ["Passage", "Passages"]

RANKINGS = 2
"""How often a search ranks at most, when passages that it found were removed before they were read."""


class Passage(NamedTuple):
    """A chunk, and its vector as little-endian float32."""

    chunk: Chunk
    vector_bytes: bytes


class Passages:
    """Reads what searches in one collection find, which may run side by side.

    The wordings of a question find most of their passages in common, and reading a passage costs the server and us more
    than ranking it does. So each is read by the search that has ranked it first, and the others wait for it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._searches = 0
        self._readings: dict[str, _Reading] = {}

    def find(self, chunks: Collection, rank: Callable[[], Ranked]) -> tuple[Ranked, dict[str, Passage]]:
        """What `rank` finds, and the passages of these ids; one that was written anew meanwhile is as it is now.

        When one was removed after the ranking, for others that came in its place, all is ranked once more; one that is
        removed even then is left out. Raises what `rank` and the client raise.
        """
        with self._overlapping():
            for _ in range(RANKINGS):
                ranked = rank()
                found = self._read(chunks, ranked.ids)
                if len(found) == len(ranked.ids):
                    break
        return ranked, found

    @contextmanager
    def _overlapping(self) -> Iterator[None]:
        """Passages are kept for as long as searches overlap."""
        with self._lock:
            self._searches += 1
        try:
            yield
        finally:
            with self._lock:
                self._searches -= 1
                if not self._searches:
                    self._readings.clear()

    def _read(self, chunks: Collection, ids: Sequence[str]) -> dict[str, Passage]:
        """The passages of these ids that are there. What another search fails to read is read here."""
        found: dict[str, Passage] = {}
        wanted = ids
        while wanted:
            own = _Reading()
            with self._lock:
                readings = {name: self._readings.setdefault(name, own) for name in wanted}
            self._make(own, chunks, [name for name, reading in readings.items() if reading is own])
            for reading in set(readings.values()):
                reading.done.wait()
                found |= reading.found
            wanted = [name for name, reading in readings.items() if reading.failed]
        return {name: found[name] for name in ids if name in found}

    def _make(self, reading: _Reading, chunks: Collection, ids: Sequence[str]) -> None:
        """Read what this search is the first to want; what is not found is nobody's afterwards."""
        try:
            for content in in_pieces(ids, partial(contents, chunks)):
                reading.found[content.id] = Passage(to_chunk(content.payload), content.vector_bytes)
        except BaseException:
            reading.failed = True
            raise
        finally:
            with self._lock:
                for name in ids:
                    if reading.failed or name not in reading.found:
                        del self._readings[name]
            reading.done.set()


class _Reading:
    """Passages that one search reads, for all that want them."""

    def __init__(self) -> None:
        self.done = Event()
        self.failed = False
        self.found: dict[str, Passage] = {}
