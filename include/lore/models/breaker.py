"""A circuit breaker: after several failures in a row it blocks calls for a while, so that they fail at once.

After Michael Nygard, "Release It!" (2007): closed, open, half-open.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic

__all__ = ["CircuitBreaker"]


class CircuitBreaker:
    """Opens after `failures` failures in a row, for `pause` seconds; then lets one call through as a test.

    Thread-safe: of the calls after the pause one is the test, and the others stay blocked until its result is known.
    `clock` gives seconds.
    """

    def __init__(self, *, failures: int = 3, pause: float = 30.0, clock: Callable[[], float] = monotonic) -> None:
        self._limit = failures
        self._pause = pause
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._opened_at = 0.0

    def blocked_for(self) -> float:
        """Seconds until the next call is allowed; 0 allows one now, whose result must then be recorded."""
        with self._lock:
            if self._failures < self._limit:
                return 0.0
            left = self._opened_at + self._pause - self._clock()
            if left > 0:
                return left
            self._opened_at = self._clock()  # without a result, the next test follows after another pause
            return 0.0

    def record_success(self) -> None:
        with self._lock:
            self._failures = 0

    def record_failure(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= self._limit:
                self._opened_at = self._clock()
