"""A cache whose values expire, and each of which is looked up by one thread at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from lore.slackbot.types import SlackCallError

__all__ = ["TtlCache"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _CachedValue(Generic[Value]):
    value: Value
    asked_at: float


class TtlCache(Generic[Key, Value]):
    """At most `size` results of `look_up` by key; used by several threads.

    A value is valid for `ttl` seconds, counted from before it was looked up. Then it is looked up anew; where that
    fails, the old one serves until it is `limit` seconds old, and after that the failure is raised.
    """

    def __init__(
        self, look_up: Callable[[Key], Value], *, ttl: float, limit: float, size: int, clock: Callable[[], float]
    ) -> None:
        self._look_up = look_up
        self._ttl = ttl
        self._limit = limit
        self._size = size
        self._clock = clock
        self._lock = threading.Lock()
        self._cached: OrderedDict[Key, _CachedValue[Value]] = OrderedDict()
        self._pending: dict[Key, Future[Value]] = {}

    def get(self, key: Key) -> Value:
        """Return the value. Raises SlackCallError if none is young enough."""
        now = self._clock()
        with self._lock:
            cached = self._cached.get(key)
            if cached is not None and now - cached.asked_at < self._ttl:
                return cached.value
            pending = self._pending.get(key)
            if pending is None:
                mine = self._pending[key] = Future()
        return pending.result() if pending is not None else self._fetch(key, mine, cached, now)

    def drop(self, key: Key) -> None:
        """Drop a value, also one being looked up: it may be outdated already."""
        with self._lock:
            self._cached.pop(key, None)
            self._pending.pop(key, None)

    def _fetch(self, key: Key, mine: Future[Value], old: _CachedValue[Value] | None, now: float) -> Value:
        """Look a value up for all threads that wait for it."""
        try:
            value = self._look_up(key)
        except BaseException as error:
            self._end(key, mine, None)
            if old is None or now - old.asked_at >= self._limit or not isinstance(error, SlackCallError):
                mine.set_exception(error)
                raise
            value = old.value
        else:
            self._end(key, mine, _CachedValue(value, now))
        mine.set_result(value)
        return value

    def _end(self, key: Key, mine: Future[Value], found: _CachedValue[Value] | None) -> None:
        with self._lock:
            if self._pending.get(key) is not mine:
                return  # it was dropped meanwhile, and another thread may look it up
            del self._pending[key]
            if found is None:
                return
            self._cached[key] = found
            self._cached.move_to_end(key)
            while len(self._cached) > self._size:
                self._cached.popitem(last=False)
