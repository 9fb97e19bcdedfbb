"""A circuit breaker: what failed several times in a row is left alone for a while, and costs no one its deadline.

After Michael Nygard, "Release It!" (2007): closed, open, half-open.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

__all__ = ["CircuitBreaker"]


class CircuitBreaker:
    """Opens after `failures` failures in a row, for `pause` seconds; then one call is let through to try.

    `clock` gives seconds. Safe to use from several threads: of those that come after the pause one tries, and the
    others are refused until it is known how that went.
    """

    def __init__(self, *, failures: int = 3, pause: float = 30.0, clock: Callable[[], float] = monotonic) -> None:
        self._limit = failures
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at = 0.0

    def wait(self) -> float:
        """0 where a call may be made, which then must be reported; else the seconds until one may be tried."""
        with self._lock:
            if self._failures < self._limit:
                return 0.0
            left = self._opened_at + self._pause - self._clock()
            if left > 0:
                return left
            self._opened_at = self._clock()  # this call tries; if it is never reported, another may after the pause
            return 0.0

    def succeeded(self) -> None:
        with self._lock:
            self._failures = 0

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= self._limit:
                self._opened_at = self._clock()
