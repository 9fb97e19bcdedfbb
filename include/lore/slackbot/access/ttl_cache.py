"""What was looked up a moment ago, kept for a while: each thing is asked for by one thread at a time."""

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
    """Answers of `ask` by key, at most `size` of them; may be used by several threads.

    An answer is given again for `ttl` seconds, counted from before it was asked for. Then it is asked for anew, and
    where that fails the old one still serves until it is `limit` seconds old. After that, the failure is raised.
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
        self._known: OrderedDict[Key, _CachedValue[Value]] = OrderedDict()
        self._pending: dict[Key, Future[Value]] = {}

    def get(self, key: Key) -> Value:
        """The answer. Raises SlackCallError where there is none that is young enough."""
        now = self._clock()
        with self._lock:
            known = self._known.get(key)
            if known is not None and now - known.asked_at < self._ttl:
                return known.value
            asking = self._pending.get(key)
            if asking is None:
                mine = self._pending[key] = Future()
        return asking.result() if asking is not None else self._fetch(key, mine, known, now)

    def drop(self, key: Key) -> None:
        """Forget an answer, also the one that is being asked for: it may be from before what has changed."""
        with self._lock:
            self._known.pop(key, None)
            self._pending.pop(key, None)

    def _fetch(self, key: Key, mine: Future[Value], known: _CachedValue[Value] | None, now: float) -> Value:
        """Ask, for all who wait for it."""
        try:
            value = self._look_up(key)
        except BaseException as error:
            old = known is not None and now - known.asked_at < self._limit and isinstance(error, SlackCallError)
            self._ended(key, mine, None)
            if not old or known is None:
                mine.set_exception(error)
                raise
            value = known.value
        else:
            self._ended(key, mine, _CachedValue(value, now))
        mine.set_result(value)
        return value

    def _ended(self, key: Key, mine: Future[Value], found: _CachedValue[Value] | None) -> None:
        with self._lock:
            if self._pending.get(key) is not mine:
                return  # it was dropped meanwhile, or is being asked for by another thread since
            del self._pending[key]
            if found is None:
                return
            self._known[key] = found
            self._known.move_to_end(key)
            while len(self._known) > self._size:
                self._known.popitem(last=False)
