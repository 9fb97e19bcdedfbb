"""Trying an outside call again: what passes by itself, how long to wait, and when to give up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from lore.errors import SourceError

__all__ = [
    "DEFAULT_LIMIT_WAIT",
    "TRANSIENT",
    "Retry",
    "RetryPolicy",
    "UnreachableError",
    "header_number",
    "retry_after",
    "retry_for_status",
]

MAX_BACKOFF = 8.0
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The statuses of HTTP that pass by themselves."""
DEFAULT_LIMIT_WAIT = 60.0
"""Seconds to wait where a server limits calls and does not say until when, as GitHub's documentation asks."""

Result = TypeVar("Result")


class UnreachableError(SourceError):
    """A call failed as often as it may be repeated."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A call that failed for the moment; `seconds` is the wait that the server asked for."""

    reason: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a call is repeated.

    A call that fails for the moment is repeated `max_retries` times, with growing waits or after the wait that the
    server asks for; when it asks for more than `max_wait` seconds, a retryable SourceError says until when. `remedy`
    completes its advice. `sleep` and `now` (seconds since the epoch) are there for tests.
    """

    max_retries: int = 4
    max_wait: float = 60.0
    remedy: str = ""
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time

    def call(self, name: str, once: Callable[[], Result | Retry]) -> Result:
        """What `once` gives when it no longer says Again. Raises UnreachableError when the repeats are used up.

        `name` is the address as errors show it: without query and credentials.
        """
        attempt = 0
        while isinstance(outcome := once(), Retry):
            if attempt == self.max_retries:
                raise UnreachableError(
                    f"{name} failed {attempt + 1} times: {outcome.reason}.",
                    remedy="Check that the address is right and the server is up; the next run tries again.",
                    retryable=True,
                )
            self._wait(name, outcome, attempt)
            attempt += 1
        return outcome

    def _wait(self, name: str, outcome: Retry, attempt: int) -> None:
        pause = min(MAX_BACKOFF, 0.5 * 2**attempt) * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
        if outcome.seconds is not None and outcome.seconds > self.max_wait:
            until = datetime.fromtimestamp(self.now() + outcome.seconds, UTC)
            raise SourceError(
                f"{name} asks to wait until {until:%Y-%m-%d %H:%M:%S} UTC: {outcome.reason}.",
                remedy=f"Run again after that; what was read so far is kept. {self.remedy}".strip(),
                retryable=True,
            )
        self.sleep(max(pause, outcome.seconds or 0.0))  # clocks differ: a time to wait for may be over here


def header_number(text: str | None) -> int | None:
    """The whole number that a header holds, or None."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else None


def retry_after(text: str | None, now: float) -> float | None:
    """The seconds that a Retry-After header asks to wait from `now` on, which it gives as a number or as a date."""
    if (seconds := header_number(text)) is not None:
        return float(seconds)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now) if text else None
    except (ValueError, OverflowError, TypeError):
        return None


def retry_for_status(status: int, headers: Mapping[str, str], said: str, now: float) -> Retry | None:
    """When to try again after a refusal by a server that limits calls as GitHub does; None for one that stays.

    `headers` are looked up in lower case, `said` is what the answer says. A primary limit names when it ends by the
    server's clock, so that `now` is best the server's.
    """
    wait = retry_after(headers.get("retry-after"), now)
    if headers.get("x-ratelimit-remaining") == "0" and (reset := header_number(headers.get("x-ratelimit-reset"))):
        wait = max(wait or 0.0, reset - now + 1)
    limited = status == 403 and (wait is not None or "rate limit" in said.lower())
    if status not in TRANSIENT and not limited:
        return None
    if wait is None and (limited or status == 429):
        wait = DEFAULT_LIMIT_WAIT
    return Retry(f"HTTP {status}{f' ({said})' if said else ''}", wait)
