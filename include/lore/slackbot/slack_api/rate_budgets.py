"""How fast the bot calls Slack, over all workers; and what Slack refused, so that it is not tried each time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic

__all__ = ["RateBudgets", "RefusalCache", "TokenBucket"]


class TokenBucket:
    """So many calls a minute, and a few at once; used by several threads. `clock` is in seconds and never goes back."""

    def __init__(self, per_minute: float, burst: float, *, clock: Callable[[], float] = monotonic) -> None:
        self._rate = per_minute / 60
        self._burst = burst
        self._clock = clock
        self._tokens = burst
        self._filled = clock()
        self._lock = Lock()

    def take(self) -> bool:
        """Whether a call that can wait may be made now; it is counted then."""
        with self._lock:
            self._fill()
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def spend(self) -> None:
        """Count a call that cannot wait: those that can then wait longer."""
        with self._lock:
            self._fill()
            self._tokens = max(self._tokens - 1, -self._burst)

    def _fill(self) -> None:
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now


class RateBudgets:
    """The buckets of the calls that are made again and again, below Slack's limits for one workspace: 20 a minute for
    beginning a stream, 100 for adding to one, 50 for changing a message.
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.starts = TokenBucket(18, 10, clock=clock)
        self.appends = TokenBucket(90, 8, clock=clock)
        self.updates = TokenBucket(45, 5, clock=clock)


class RefusalCache:
    """What Slack refused in which channel, for so long as it is likely to refuse it again."""

    SECONDS = 3600.0
    EVERYWHERE = frozenset({"unknown_method", "missing_scope", "not_allowed_token_type", "method_deprecated"})
    """Codes that say the same in each channel."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str], float] = {}
        self._lock = Lock()

    def remember(self, what: str, channel: str, code: str) -> None:
        """Slack refused `what` with this code."""
        with self._lock:
            self._until[what, "" if code in self.EVERYWHERE else channel] = self._clock() + self.SECONDS

    def knows(self, what: str, channel: str) -> bool:
        """Whether `what` is not worth trying in the channel."""
        with self._lock:
            now = self._clock()
            self._until = {key: until for key, until in self._until.items() if until > now}
            return (what, "") in self._until or (what, channel) in self._until
