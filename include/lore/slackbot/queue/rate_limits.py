"""Rate limits: how many questions a person may ask, and a channel, in ten minutes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from threading import Lock
from time import monotonic
from typing import Literal, TypeAlias

from lore.slackbot.types import SlackQuestion

__all__ = ["WINDOW_SECONDS", "RateLimitHit", "RateLimiter"]

WINDOW_SECONDS = 600.0

Scope: TypeAlias = Literal["person", "channel"]


@dataclass(frozen=True, slots=True)
class RateLimitHit:
    """One question too many after `limit` of them; the next is allowed in `seconds`.

    `is_first` is True for the first of a flood: nobody needs to be told again.
    """

    scope: Scope
    limit: int
    seconds: int
    is_first: bool


@dataclass
class _Count:
    """The times of recent questions, and the time until which the asker was told."""

    asked: deque[float]
    told_until: float = 0.0


class RateLimiter:
    """Counts the questions of this process in a sliding window; used by several threads. A limit of 0 is none.

    `clock` is in seconds and never goes back.
    """

    def __init__(
        self, person: int, channel: int, *, window: float = WINDOW_SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._limits: dict[Scope, int] = {"person": person, "channel": channel}
        self._window = window
        self._clock = clock
        self._counts: dict[tuple[Scope, str], _Count] = {}
        self._lock = Lock()
        self._tidied = clock()

    def admit(self, question: SlackQuestion) -> RateLimitHit | None:
        """Count a question and return None, or return the limit it hits without counting it."""
        with self._lock:
            now = self._clock()
            self._tidy(now)
            counts = [(scope, self._count(scope, key, now)) for scope, key in self._keys(question)]
            for scope, count in counts:
                if len(count.asked) >= self._limits[scope]:
                    return self._hit(scope, count, question, now)
            for _, count in counts:
                count.asked.append(now)
            return None

    def _keys(self, question: SlackQuestion) -> list[tuple[Scope, str]]:
        keys: list[tuple[Scope, str]] = [("person", question.asker)]
        if question.room != "direct" and question.via != "command":  # nobody else sees those
            keys.append(("channel", f"{question.team}:{question.channel}"))
        return [(scope, key) for scope, key in keys if self._limits[scope] > 0]

    def _hit(self, scope: Scope, count: _Count, question: SlackQuestion, now: float) -> RateLimitHit:
        free_at = count.asked[0] + self._window
        told = count
        if scope == "channel":  # each person is told once, since others don't see it
            key = f"{question.team}:{question.channel}:{question.user}"
            told = self._counts.setdefault((scope, key), _Count(deque()))
        is_first = now >= told.told_until
        if is_first:
            told.told_until = free_at
        return RateLimitHit(scope, self._limits[scope], max(1, ceil(free_at - now)), is_first)

    def _count(self, scope: Scope, key: str, now: float) -> _Count:
        count = self._counts.setdefault((scope, key), _Count(deque()))
        while count.asked and count.asked[0] <= now - self._window:
            count.asked.popleft()
        return count

    def _tidy(self, now: float) -> None:
        """Drop, once in a window, the counts of those who asked nothing lately."""
        if now < self._tidied + self._window:
            return
        self._tidied = now
        old = now - self._window
        self._counts = {
            key: count
            for key, count in self._counts.items()
            if count.told_until > now or (count.asked and count.asked[-1] > old)
        }
