"""Passages by their ids, each read once for all the searches of a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from lore.stores.schema import to_chunk
from lore.stores.weaviate.grpc import Ranked, contents
from lore.stores.weaviate.rows import in_pieces

if TYPE_CHECKING:
    from lore.stores.weaviate.collections import Collection
    from lore.types import Chunk

__all__ = ["Passage", "Passages"]

RANKINGS = 4
"""How often a search ranks at most, when passages that it found were removed or hidden before they were read."""
SHARED_SECONDS = 1.0
"""Searches that begin within this time share what they read. Others do not, or else, where searches never cease to
overlap, what was read would become ever more and ever older."""
WAIT_SECONDS = 2.0
"""How long a search waits for what others read; what is late then it reads by itself."""


class Passage(NamedTuple):
    """A chunk, and its vector as little-endian float32."""

    chunk: Chunk
    vector_bytes: bytes


class Passages:
    """Reads what searches in one collection find, which may run side by side.

    The wordings of a question find most of their passages in common, and reading a passage costs the server and us more
    than ranking it does. So each is read by the search that has ranked it first, and the others wait for it. `clock` is
    in seconds and never goes back; a search waits at most `wait` seconds for others.
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic, wait: float = WAIT_SECONDS) -> None:
        self._clock = clock
        self._wait = wait
        self._lock = Lock()
        self._group = _Group(clock())

    def find(
        self, chunks: Collection, rank: Callable[[], Ranked], audiences: Iterable[str]
    ) -> tuple[Ranked, dict[str, Passage]]:
        """What `rank` finds, and the passages of these ids, as they are now: some may be for others by then.

        When one was removed or hidden after the ranking, for others that came in its place, all is ranked once more.
        Raises what `rank` and the client raise, and StoreError for a passage that is none.
        """
        alike = {audience.strip() for audience in audiences}  # the server's filter ignores white space at the ends
        changed: set[str] = set()
        with self._grouped() as readings:
            for _ in range(RANKINGS):
                ranked = rank()
                found = self._read(readings, chunks, ranked.ids, changed)
                lost = [name for name in ranked.ids if name not in found or not _is_for(alike, found[name])]
                if not lost:
                    break
                changed.update(lost)
        return ranked, found

    @contextmanager
    def _grouped(self) -> Iterator[dict[str, _Reading]]:
        """What the searches have read that began with this one, kept until the last of them ends."""
        with self._lock:
            now = self._clock()
            if not self._group.searches or now - self._group.began >= SHARED_SECONDS:
                self._group = _Group(now)
            group = self._group
            group.searches += 1
        try:
            yield group.readings
        finally:
            with self._lock:
                group.searches -= 1
                if not group.searches:
                    group.readings.clear()

    def _read(
        self, readings: dict[str, _Reading], chunks: Collection, ids: Sequence[str], changed: Set[str]
    ) -> dict[str, Passage]:
        """The passages of these ids that are there. What another search fails to read, or reads late, is read here.

        So is what has `changed` since the first ranking: what others have read of it may be of before this one.
        """
        own = _Reading()
        with self._lock:
            wanted = {name: readings.setdefault(name, own) for name in ids if name not in changed}
        self._make(own, readings, chunks, [name for name, reading in wanted.items() if reading is own])
        self._await(wanted.values())
        found: dict[str, Passage] = {}
        lacking = [name for name in ids if name in changed]
        for name, reading in wanted.items():
            if not reading.ended:
                lacking.append(name)
            elif name in reading.found:
                found[name] = reading.found[name]
        return found | _contents(chunks, lacking)  # by itself: to wait again could go on for as long as others fail

    def _await(self, readings: Iterable[_Reading]) -> None:
        until = monotonic() + self._wait
        for reading in set(readings):
            reading.done.wait(max(0.0, until - monotonic()))

    def _make(self, own: _Reading, readings: dict[str, _Reading], chunks: Collection, ids: Sequence[str]) -> None:
        """Read what this search is the first to want; what is not found is nobody's afterwards."""
        try:
            own.found = _contents(chunks, ids)
            own.ended = True
        finally:
            with self._lock:
                for name in ids:
                    if name not in own.found:
                        del readings[name]
            own.done.set()


def _is_for(alike: Set[str], passage: Passage) -> bool:
    audiences = passage.chunk.audiences
    return not alike.isdisjoint(audiences) or any(audience.strip() in alike for audience in audiences)


def _contents(chunks: Collection, ids: Sequence[str]) -> dict[str, Passage]:
    rows = in_pieces(ids, partial(contents, chunks))
    return {row.id: Passage(to_chunk(row.payload), row.vector_bytes) for row in rows}


@dataclass(eq=False, slots=True)
class _Reading:
    """Passages that one search reads, for all that want them; when it is `done`, it has `ended` or failed."""

    done: Event = field(default_factory=Event)
    ended: bool = False
    found: dict[str, Passage] = field(default_factory=dict)


@dataclass(slots=True)
class _Group:
    """Searches that began at about the same time, how many of them still run, and what they have read, by its id."""

    began: float
    searches: int = 0
    readings: dict[str, _Reading] = field(default_factory=dict)
