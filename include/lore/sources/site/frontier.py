"""The pages still to be requested in a round."""

from __future__ import annotations

from collections import deque

from lore.sources.site.records import PageRecord, PageRecords
from lore.sources.site.urls import Scope

__all__ = ["Frontier"]


class Frontier:
    """A queue that takes each page once, nearest first.

    Each page becomes a record in `pages`, which grows up to `limit` records.
    """

    def __init__(self, pages: PageRecords, scope: Scope, limit: int) -> None:
        self._pages = pages
        self._scope = scope
        self._limit = limit
        self._queue: deque[str] = deque()
        self._seen: set[str] = set()

    def __len__(self) -> int:
        return len(self._queue)

    def first(self) -> str:
        """Return the key of the next page, which stays in the queue."""
        return self._queue[0]

    def take(self) -> str:
        """Remove and return the key of the next page."""
        return self._queue.popleft()

    def add(self, address: str, depth: int) -> None:
        """Queue a page, unless this round has already queued or requested it."""
        key = self._scope.key(address)
        if key in self._seen:
            return
        entry = self._pages.entries.get(key)
        if entry is None:
            if len(self._pages.entries) >= self._limit:
                return
            entry = self._pages.entries[key] = PageRecord(address, depth=depth)
        self._seen.add(key)
        if not entry.done:
            self._queue.append(key)

    def add_key(self, key: str, depth: int) -> None:
        """Queue the page with a key."""
        known = self._pages.entries.get(key)
        self.add(known.address if known else self._scope.origin + key, depth)

    def add_known(self) -> None:
        """Queue every known page: the server doesn't send unchanged pages, so their links are known only from
        before.
        """
        for entry in list(self._pages.entries.values()):
            self.add(entry.address, entry.depth)

    def add_aliases(self) -> None:
        """Queue the targets of aliases that an interrupted round had requested."""
        for entry in list(self._pages.entries.values()):
            if entry.done and entry.alias:
                self.add_key(entry.alias, entry.depth)
