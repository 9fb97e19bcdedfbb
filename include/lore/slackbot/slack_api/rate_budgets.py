"""Slack's limits over all workers: how often the bot may call, and what Slack refused lately."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic

__all__ = ["RateBudgets", "RefusalCache", "TokenBucket"]


class TokenBucket:
    """So many calls a minute, and a `burst` at once; used by several threads.

    `clock` is in seconds and never goes back.
    """

    def __init__(self, per_minute: float, burst: float, *, clock: Callable[[], float] = monotonic) -> None:
        self._rate = per_minute / 60
        self._burst = burst
        self._clock = clock
        self._tokens = burst
        self._filled = clock()
        self._lock = Lock()

    def take(self) -> bool:
        """Return True if a call that can wait may be made now, and count it."""
        with self._lock:
            self._fill()
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def spend(self) -> None:
        """Count a call that can't wait: those that can wait longer for it."""
        with self._lock:
            self._fill()
            self._tokens = max(self._tokens - 1, -self._burst)

    def _fill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now


class RateBudgets:
    """The buckets of frequent calls, below Slack's limits for a workspace: a minute, 20 streams begun, 100 appended to,
    and 50 messages updated.
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.starts = TokenBucket(18, 10, clock=clock)
        self.appends = TokenBucket(90, 8, clock=clock)
        self.updates = TokenBucket(45, 5, clock=clock)


class RefusalCache:
    """Features that Slack refused in a channel, for as long as it is likely to refuse them again."""

    SECONDS = 3600.0
    EVERYWHERE = frozenset({"unknown_method", "missing_scope", "not_allowed_token_type", "method_deprecated"})
    """Error codes that are the same in each channel."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str], float] = {}
        self._lock = Lock()

    def remember(self, feature: str, channel: str, code: str) -> None:
        """Remember that Slack refused a feature with this error code."""
        with self._lock:
            self._until[feature, "" if code in self.EVERYWHERE else channel] = self._clock() + self.SECONDS

    def knows(self, feature: str, channel: str) -> bool:
        """Return True if a feature isn't worth trying in the channel."""
        with self._lock:
            now = self._clock()
            self._until = {key: until for key, until in self._until.items() if until > now}
            return (feature, "") in self._until or (feature, channel) in self._until
