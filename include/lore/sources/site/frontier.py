"""The pages that are still to be asked for in a round."""

from __future__ import annotations

from collections import deque

from lore.sources.site.records import PageRecord, PageRecords
from lore.sources.site.urls import Scope

__all__ = ["Frontier"]


class Frontier:
    """A queue that takes each page once, nearest first. What comes in becomes an entry of `pages`; beyond `limit`
    entries nothing new does.
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
        """The key of the page whose turn it is; it stays in the queue."""
        return self._queue[0]

    def take(self) -> str:
        """The key of the page whose turn it is."""
        return self._queue.popleft()

    def add(self, address: str, depth: int) -> None:
        """Put a page into the queue, unless it was there before or was asked for in this round."""
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
        """Put the page with a key into the queue."""
        known = self._pages.entries.get(key)
        self.add(known.address if known else self._scope.origin + key, depth)

    def add_known(self) -> None:
        """Put every page into the queue that is known. An unchanged page is not sent, so that its links are not seen:
        where they lead is known from before.
        """
        for entry in list(self._pages.entries.values()):
            self.add(entry.address, entry.depth)

    def add_aliases(self) -> None:
        """Put those pages into the queue to which pages lead that were asked for before the round was cut off."""
        for entry in list(self._pages.entries.values()):
            if entry.done and entry.alias:
                self.add_key(entry.alias, entry.depth)
