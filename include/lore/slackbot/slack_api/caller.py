"""Calls of Slack's Web API: with a timeout, and with retries that do nothing twice."""

from __future__ import annotations

import math
import random
import re
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Event, Lock, Timer
from typing import TYPE_CHECKING, Any

from lore.slackbot.slack_api.errors import (
    PASSING,
    RATE_LIMITED,
    TOKEN_CODES,
    error_code,
    rate_limited,
    refusal,
    unreachable,
)
from lore.slackbot.slack_api.responses import respond
from lore.slackbot.types import SlackCallError

if TYPE_CHECKING:
    import httpx

__all__ = ["MAX_WAIT", "SlackCaller"]

MAX_WAIT = 300.0
"""Seconds for which a call waits in all, as often as Slack asks for it by 429. More is an error."""
FIRST_WAIT = 0.5
LONGEST_STEP = 8.0
UNDONE_STATUS = 503
"""The one server error that says that nothing was done."""
SHORTEST_TIMEOUT = 1.0

Params = Mapping[str, Any]


class SlackCaller:
    """Calls methods with one token; used by several threads.

    A call that fails for the moment is repeated `max_retries` times, after half a second, doubled each time. After a
    429 it is repeated when that says, unless `max_retries` is 0. `on_dead` is called once when the token is no longer
    valid. `sleep` and `chance` (from 0 to 1) are for tests.
    """

    def __init__(
        self,
        token: str,
        base_url: str,
        timeout: float,
        *,
        max_retries: int,
        on_dead: Callable[[SlackCallError], None] = lambda _: None,
        sleep: Callable[[float], object] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.scopes: frozenset[str] | None = None
        """The token's scopes, once a response told them."""
        self._token = token
        self._base_url = base_url
        self._timeout = timeout
        self._ends = math.inf
        self._ended = Event()
        self._max_retries = max_retries
        self._on_dead = on_dead
        self._sleep = sleep or self._ended.wait
        self._chance = chance
        self._dead = False
        self._lock = Lock()

    def leave(self, seconds: float) -> None:
        """End all calls within so many seconds; after that, each fails at once."""
        self._ends = time.monotonic() + seconds
        timer = Timer(seconds, self._ended.set)
        timer.daemon = True
        timer.start()

    def call(
        self,
        method: str,
        *,
        json: Params | None = None,
        params: Params | None = None,
        about: str = "",
        twice: bool = True,
        done: frozenset[str] = frozenset(),
        max_wait: float = MAX_WAIT,
    ) -> Mapping[str, Any]:
        """Call a method and return its response. Raises SlackCallError, which names what the call is `about`.

        A call that may have been carried out is repeated only if it may happen `twice`, else it raises
        UncertainCallError. `done` are refusals of a repeated call that mean it was carried out before. The waits for
        429 take at most `max_wait` seconds in all.
        """
        asked = f"{method} in {about}" if about else method
        patience = max_wait if self._max_retries else 0.0
        uncertain, failures, limits = False, 0, 0
        while True:
            outcome = self._try(method, json, params)
            if outcome.ok or (uncertain and outcome.code in done):
                return outcome.answer
            if not outcome.limited and not outcome.passing:
                raise self._refused(asked, outcome)
            uncertain = uncertain or outcome.uncertain
            wait = self._wait(limits if outcome.limited else failures, outcome)
            if outcome.limited:
                limits, patience = limits + 1, patience - wait
                if patience < 0 or self._ended.is_set():
                    raise rate_limited(asked, wait)
            else:
                is_last = failures == self._max_retries or wait > max_wait or self._ended.is_set()
                if is_last or (uncertain and not twice):
                    raise unreachable(asked, outcome.reason, uncertain=uncertain)
                failures += 1
            self._sleep(wait)

    def respond(self, url: str, content: Params) -> None:
        """Reply to a slash command through its response URL. Raises SlackCallError."""
        respond(url, content, base_url=self._base_url, timeout=self._timeout)

    @cached_property
    def _client(self) -> httpx.Client:
        import httpx

        headers = {"Authorization": f"Bearer {self._token}"}
        return httpx.Client(base_url=self._base_url, headers=headers, follow_redirects=False)

    def _try(self, method: str, json: Params | None, params: Params | None) -> _Outcome:
        import httpx

        if self._ended.is_set():
            return _Outcome(failure="the bot is stopping", undone=True)
        timeout = max(SHORTEST_TIMEOUT, min(self._timeout, self._ends - time.monotonic()))
        try:
            with self._lock:
                client = self._client
            response = client.post(method, json=json, data=params, timeout=timeout)
            data = response.json()
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            never_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.InvalidURL)
            return _Outcome(failure=_reason(error), undone=never_sent)
        except (ValueError, RecursionError):
            data = None
            if response.is_success:
                return _Outcome(failure="the response isn't Slack's")
        scopes = response.headers.get("x-oauth-scopes")
        if scopes is not None:
            self.scopes = frozenset(re.findall(r"[a-z_.:]{1,80}", scopes))
        given = response.headers.get("retry-after", "")
        wait = float(given) if re.fullmatch("[0-9]{1,9}", given) else None
        return _Outcome(data if isinstance(data, dict) else {}, response.status_code, wait)

    def _refused(self, asked: str, outcome: _Outcome) -> SlackCallError:
        error = refusal(asked, outcome.answer)
        if error.code in TOKEN_CODES:
            with self._lock:
                first, self._dead = not self._dead, True
            if first:
                self._on_dead(error)
        return error

    def _wait(self, attempt: int, outcome: _Outcome) -> float:
        if outcome.limited and outcome.retry_after:
            return outcome.retry_after + 0.25 * self._chance()
        return min(LONGEST_STEP, FIRST_WAIT * 2.0**attempt) * (0.75 + 0.5 * self._chance())


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The outcome of one try. `status` is 0 without a response; `undone` is True if the request was never sent."""

    answer: Mapping[str, Any] = field(default_factory=dict)
    status: int = 0
    retry_after: float | None = None
    failure: str = ""
    undone: bool = False

    @property
    def ok(self) -> bool:
        return self.answer.get("ok") is True and self.status == 200

    @property
    def code(self) -> str:
        return error_code(self.answer.get("error"))

    @property
    def limited(self) -> bool:
        return self.status == 429 or self.code in RATE_LIMITED

    @property
    def passing(self) -> bool:
        """True if Slack or the network failed for the moment."""
        return self.status == 0 or self.status >= 500 or self.code in PASSING or not self.code

    @property
    def uncertain(self) -> bool:
        """True if the call may have been carried out although it failed."""
        undone = self.undone or self.status == UNDONE_STATUS or self.code == "service_unavailable"
        return self.passing and not self.limited and not undone

    @property
    def reason(self) -> str:
        if self.failure:
            return self.failure
        return f"it responded {self.code}" if self.code else f"it responded with status {self.status}"


def _reason(error: BaseException) -> str:
    """Return the reason of a failure in our words: a library's may quote what was sent."""
    import httpx

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return "the connection was refused"
        if isinstance(cause, socket.gaierror):
            return "its name couldn't be resolved"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, httpx.TimeoutException):
        return "it didn't respond in time"
    return f"the connection failed ({type(error).__name__})"
