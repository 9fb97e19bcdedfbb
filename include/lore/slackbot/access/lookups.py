"""What was looked up a moment ago, kept for a while: each thing is asked for by one thread at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from lore.slackbot.types import SlackError

__all__ = ["Lookups"]

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class _Known(Generic[Value]):
    value: Value
    asked_at: float


class Lookups(Generic[Key, Value]):
    """Answers of `ask` by key, at most `size` of them; may be used by several threads.

    An answer is given again for `ttl` seconds, counted from before it was asked for. Then it is asked for anew, and
    where that fails the old one still serves until it is `limit` seconds old. After that, the failure is raised.
    """

    def __init__(
        self, ask: Callable[[Key], Value], *, ttl: float, limit: float, size: int, clock: Callable[[], float]
    ) -> None:
        self._ask = ask
        self._ttl = ttl
        self._limit = limit
        self._size = size
        self._clock = clock
        self._lock = threading.Lock()
        self._known: OrderedDict[Key, _Known[Value]] = OrderedDict()
        self._asking: dict[Key, Future[Value]] = {}

    def get(self, key: Key) -> Value:
        """The answer. Raises SlackError where there is none that is young enough."""
        now = self._clock()
        with self._lock:
            known = self._known.get(key)
            if known is not None and now - known.asked_at < self._ttl:
                return known.value
            asking = self._asking.get(key)
            if asking is None:
                mine = self._asking[key] = Future()
        return asking.result() if asking is not None else self._asked(key, mine, known, now)

    def drop(self, key: Key) -> None:
        """Forget an answer, also the one that is being asked for: it may be from before what has changed."""
        with self._lock:
            self._known.pop(key, None)
            self._asking.pop(key, None)

    def _asked(self, key: Key, mine: Future[Value], known: _Known[Value] | None, now: float) -> Value:
        """Ask, for all who wait for it."""
        try:
            value = self._ask(key)
        except BaseException as error:
            old = known is not None and now - known.asked_at < self._limit and isinstance(error, SlackError)
            self._ended(key, mine, None)
            if not old or known is None:
                mine.set_exception(error)
                raise
            value = known.value
        else:
            self._ended(key, mine, _Known(value, now))
        mine.set_result(value)
        return value

    def _ended(self, key: Key, mine: Future[Value], found: _Known[Value] | None) -> None:
        with self._lock:
            if self._asking.get(key) is not mine:
                return  # it was dropped meanwhile, or is being asked for by another thread since
            del self._asking[key]
            if found is None:
                return
            self._known[key] = found
            self._known.move_to_end(key)
            while len(self._known) > self._size:
                self._known.popitem(last=False)
