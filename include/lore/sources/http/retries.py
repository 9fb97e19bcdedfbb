"""Retrying a call: which refusals are temporary, how long to wait, and when to give up."""

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
    "http_date",
    "retry_after",
    "retry_for_status",
]

MAX_BACKOFF = 8.0
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that are temporary."""
DEFAULT_LIMIT_WAIT = 60.0
"""Seconds to wait after a rate limit without an end time, as GitHub's documentation asks."""

Result = TypeVar("Result")


class UnreachableError(SourceError):
    """A call failed in every retry."""


@dataclass(frozen=True, slots=True)
class Retry:
    """A temporary failure; `seconds` is the wait that the server asked for."""

    reason: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Retries a call up to `max_retries` times, after growing waits or the wait that the server asks for.

    A wait of more than `max_wait` seconds becomes a retryable SourceError, whose advice `remedy` completes. Tests
    replace `sleep` and `now` (seconds since the epoch).
    """

    max_retries: int = 4
    max_wait: float = 60.0
    remedy: str = ""
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time

    def call(self, name: str, attempt: Callable[[], Result | Retry]) -> Result:
        """Return the first result of `attempt` that is no Retry. Raises UnreachableError after the last retry.

        `name` is the address for error messages, without query and credentials.
        """
        retries = 0
        while isinstance(outcome := attempt(), Retry):
            if retries == self.max_retries:
                raise UnreachableError(
                    f"{name} failed {retries + 1} times: {outcome.reason}.",
                    remedy="Check that the address is right and the server is up; the next run tries again.",
                    retryable=True,
                )
            self._wait(name, outcome, retries)
            retries += 1
        return outcome

    def _wait(self, name: str, retry: Retry, retries: int) -> None:
        pause = min(MAX_BACKOFF, 0.5 * 2**retries) * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
        if retry.seconds is not None and retry.seconds > self.max_wait:
            until = datetime.fromtimestamp(self.now() + retry.seconds, UTC)
            raise SourceError(
                f"{name} asks to wait until {until:%Y-%m-%d %H:%M:%S} UTC: {retry.reason}.",
                remedy=f"Run again after that; Lore keeps what it has read. {self.remedy}".strip(),
                retryable=True,
            )
        self.sleep(max(pause, retry.seconds or 0.0))  # clocks differ: the wait may be over by ours


def header_number(text: str | None) -> int | None:
    """Return the whole number in a header, or None."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else None


def http_date(text: str | None) -> datetime | None:
    """Return the time in a header such as Date or Last-Modified, UTC, or None."""
    try:
        time = parsedate_to_datetime(text) if text else None
        return time.replace(tzinfo=UTC) if time and time.tzinfo is None else time
    except (ValueError, OverflowError, TypeError):
        return None


def retry_after(text: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header, a number or a date, asks to wait from `now` on."""
    if (seconds := header_number(text)) is not None:
        return float(seconds)
    date = http_date(text)
    return max(0.0, date.timestamp() - now) if date else None


def retry_for_status(status: int, headers: Mapping[str, str], message: str, now: float) -> Retry | None:
    """Return the retry for a refusal by a server with rate limits like GitHub's, None if it is permanent.

    `headers` have names in lower case. `now` is best the server's clock, by which a primary limit names its end.
    """
    wait = retry_after(headers.get("retry-after"), now)
    if headers.get("x-ratelimit-remaining") == "0" and (reset := header_number(headers.get("x-ratelimit-reset"))):
        wait = max(wait or 0.0, reset - now + 1)
    limited = status == 403 and (wait is not None or "rate limit" in message.lower())
    if status not in TRANSIENT and not limited:
        return None
    if wait is None and (limited or status == 429):
        wait = DEFAULT_LIMIT_WAIT
    return Retry(f"HTTP {status}{f' ({message})' if message else ''}", wait)
