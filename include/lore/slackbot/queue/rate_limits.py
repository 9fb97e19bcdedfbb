"""How many questions one person, and one channel, may ask in a while."""

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

Whose: TypeAlias = Literal["person", "channel"]


@dataclass(frozen=True, slots=True)
class RateLimitHit:
    """A question that is one too many after `limit` of them; the next may come in `seconds`. `say` is True for the
    first of a flood.
    """

    whose: Whose
    limit: int
    seconds: int
    say: bool


@dataclass
class _Count:
    """When the questions of the last while were asked, and until when nobody needs to be told again."""

    asked: deque[float]
    told_until: float = 0.0


class RateLimiter:
    """Counts questions in a sliding window; used by several threads. A limit of 0 is none.

    Each process counts what it takes. `clock` is in seconds and never goes back.
    """

    def __init__(
        self, person: int, channel: int, *, window: float = WINDOW_SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._limits: dict[Whose, int] = {"person": person, "channel": channel}
        self._window = window
        self._clock = clock
        self._counts: dict[tuple[Whose, str], _Count] = {}
        self._lock = Lock()
        self._tidied = clock()

    def admit(self, question: SlackQuestion) -> RateLimitHit | None:
        """Count a question, or say why it is one too many: then it is not counted."""
        with self._lock:
            now = self._clock()
            self._tidy(now)
            counts = [(whose, self._count(whose, key, now)) for whose, key in self._keys(question)]
            for whose, count in counts:
                if len(count.asked) >= self._limits[whose]:
                    return self._refusal(whose, count, question, now)
            for _, count in counts:
                count.asked.append(now)
            return None

    def _keys(self, question: SlackQuestion) -> list[tuple[Whose, str]]:
        keys: list[tuple[Whose, str]] = [("person", question.asker)]
        if question.room != "direct" and question.via != "command":  # these bother nobody else
            keys.append(("channel", f"{question.team}:{question.channel}"))
        return [(whose, key) for whose, key in keys if self._limits[whose] > 0]

    def _refusal(self, whose: Whose, count: _Count, question: SlackQuestion, now: float) -> RateLimitHit:
        free_at = count.asked[0] + self._window
        told = count
        if whose == "channel":  # each person is told once, since others do not see it
            told = self._counts.setdefault(
                (whose, f"{question.team}:{question.channel}:{question.user}"), _Count(deque())
            )
        say = now >= told.told_until
        if say:
            told.told_until = free_at
        return RateLimitHit(whose, self._limits[whose], max(1, ceil(free_at - now)), say)

    def _count(self, whose: Whose, key: str, now: float) -> _Count:
        count = self._counts.setdefault((whose, key), _Count(deque()))
        while count.asked and count.asked[0] <= now - self._window:
            count.asked.popleft()
        return count

    def _tidy(self, now: float) -> None:
        """Forget, once in a while, who asked nothing lately."""
        if now < self._tidied + self._window:
            return
        self._tidied = now
        old = now - self._window
        self._counts = {
            key: count
            for key, count in self._counts.items()
            if count.told_until > now or (count.asked and count.asked[-1] > old)
        }
