"""Slack's Web API: calls with limited retries, and paged lists read to their end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeAlias

from lore.errors import ConfigurationError, SourceError
from lore.sources.http.client import HttpError
from lore.sources.http.json_client import JsonClient, Secrets
from lore.sources.http.retries import Retry, RetryPolicy
from lore.sources.payload import Payload, as_mapping, as_mappings, as_text
from lore.sources.slack.errors import NEXT_RUN, SET_TOKEN, SlackError, endless, error_code, refusal, unexpected_answer
from lore.sources.slack.values import is_ts

__all__ = ["DEFAULT_BASE_URL", "SlackApi", "SlackConnection"]

Params: TypeAlias = Mapping[str, str | int]

DEFAULT_BASE_URL = "https://slack.com/api"
MAX_WAIT = 300.0
"""Seconds; Slack may ask apps outside its Marketplace to wait a minute for each page."""
RATE_LIMITED_WAIT = 60.0
"""Seconds; Slack counts calls by the minute."""
LIST_LIMIT = 200
"""Slack recommends at most this many users or channels in a call."""
MAX_RESTARTS = 3
MAX_EMPTY_PAGES = 20
"""Consecutive pages without messages, which Slack may send, but not endlessly."""
RATE_LIMIT_ERRORS = frozenset({"ratelimited", "rate_limited"})
TRANSIENT_ERRORS = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
"""Temporary errors."""


@dataclass(frozen=True, slots=True)
class SlackConnection:
    """Slack's address, the token, and the limits of calls.

    `timeout` limits one call, in seconds. A temporary failure is retried `max_retries` times, after the wait that Slack
    asks for; more than five minutes is a retryable SourceError. Tests replace `sleep` and `now` (seconds since the
    epoch).
    """

    base_url: str
    token: str = field(repr=False)
    timeout: float = 60.0
    max_retries: int = 4
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time

    def retries(self) -> RetryPolicy:
        """Return the retry policy."""
        return RetryPolicy(self.max_retries, MAX_WAIT, "", self.sleep, self.now)


@dataclass(frozen=True, slots=True)
class TokenIdentity:
    """The token's owner, the workspace's address ("" if none), and the token's scopes, if Slack tells them."""

    who: str
    url: str
    scopes: tuple[str, ...]


class SlackApi:
    """Reads one workspace with one token, which reaches the server of the base URL only.

    `page_size` is the number of messages in a call. Raises ConfigurationError without a token.
    """

    def __init__(self, connection: SlackConnection, *, page_size: int) -> None:
        if not connection.token.strip():
            raise ConfigurationError("Slack needs a token, but none is set.", remedy=SET_TOKEN)
        self._page_size = page_size
        self._retries = connection.retries()
        self._http = JsonClient(
            connection.base_url,
            secrets=Secrets({"Authorization": f"Bearer {connection.token.strip()}"}),
            timeout=connection.timeout,
            retries=self._retries,
            remedies={401: SET_TOKEN, 404: "Check `base_url`: Slack's API is https://slack.com/api."},
        )
        self._app_name = "the app"
        self._scopes = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self._http.__exit__(*details)

    def identify(self) -> str:
        """Return the workspace's address, without the trailing slash. Raises as `call` does."""
        return self.identity().url

    def identity(self) -> TokenIdentity:
        """Return the token's identity. Raises as `call` does."""
        data = self.call("auth.test")
        self._app_name = _name(data.get("user")) or self._app_name
        url = as_text(data.get("url"))
        url = url.rstrip("/") if re.fullmatch(r"https?://[A-Za-z0-9.:-]{1,253}/?", url) else ""
        scopes = tuple(sorted(one for one in re.split(r"[,\s]+", self._scopes) if re.fullmatch(r"[a-z_.:]{1,80}", one)))
        return TokenIdentity(f"{self._app_name} in {url or 'a workspace without address'}", url, scopes)

    def call(self, method: str, params: Params | None = None, *, about: str = "") -> Payload:
        """Return a method's result; `about` names its subject in errors. Raises SlackError, SourceError."""
        asked = f"{method} for {about}" if about else method

        def once() -> Payload | Retry:
            reply = self._http.get(f"/{method}", params)
            data, self._scopes = reply.data, reply.headers.get("x-oauth-scopes", "")
            if not isinstance(data, dict) or not isinstance(data.get("ok"), bool):
                raise unexpected_answer(method)
            if data["ok"]:
                return data
            code = error_code(data.get("error"))
            if code in RATE_LIMIT_ERRORS | TRANSIENT_ERRORS:
                return Retry(f"Slack says {code}", RATE_LIMITED_WAIT if code in RATE_LIMIT_ERRORS else None)
            raise refusal(asked, data, about=about, app=self._app_name)

        try:
            return self._retries.call(f"Slack's {asked}", once)
        except HttpError:
            raise
        except SourceError as error:
            if not error.retryable:
                raise
            raise SourceError(error.message, remedy=NEXT_RUN, retryable=True) from None

    def members(self, method: str, key: str, **params: str) -> list[Payload]:
        """Return the items of a list that have an id, each once. An expired cursor restarts the list."""
        for _ in range(MAX_RESTARTS):
            try:
                return self._listed(method, key, params)
            except SlackError as error:
                if error.code != "invalid_cursor":
                    raise
        return self._listed(method, key, params)

    def _listed(self, method: str, key: str, params: Mapping[str, str]) -> list[Payload]:
        found: dict[str, Payload] = {}
        visited: set[str] = set()
        cursor = ""
        while cursor not in visited:
            visited.add(cursor)
            page = self.call(method, {"limit": LIST_LIMIT, **params, **({"cursor": cursor} if cursor else {})})
            found |= {item["id"]: item for item in _items(page, key, method) if as_text(item.get("id"))}
            cursor = _next_cursor(page)
            if not cursor:
                return list(found.values())
        raise endless(method)

    def messages(self, method: str, edge: str, *, about: str, **params: str) -> Iterator[list[Payload]]:
        """Yield the pages of a list of messages with timestamps; some may come twice.

        Where Slack's cursor is missing or expired, the list continues by time from the last message seen. `edge` is the
        parameter for that: "latest" for newest first, "oldest" for oldest first. Raises SourceError for a list that
        ends too early.
        """
        start = seen = params.get(edge, "")
        cursor, restarts, empty_pages = "", 0, 0
        while True:
            asked: dict[str, str | int] = {"limit": self._page_size, **params}
            asked |= ({edge: start} if start else {}) | ({"cursor": cursor} if cursor else {})
            try:
                page = self.call(method, asked, about=about)
            except SlackError as error:
                if error.code != "invalid_cursor" or not cursor or restarts == MAX_RESTARTS:
                    raise
                cursor, start, restarts = "", seen, restarts + 1
                continue
            found = [message for message in _items(page, "messages", method) if is_ts(message.get("ts"))]
            yield found
            further = _furthest_timestamp(edge, [message["ts"] for message in found], seen)
            empty_pages = empty_pages + 1 if further == seen else 0
            seen, cursor = further, _next_cursor(page)
            if not cursor and (page.get("has_more") is not True or page.get("is_limited")):
                return
            if empty_pages > (MAX_EMPTY_PAGES if cursor else 0):
                raise endless(method, about)
            start = start if cursor else seen


def _items(page: Payload, key: str, method: str) -> list[Payload]:
    if not isinstance(page.get(key), list):
        raise unexpected_answer(method)
    return as_mappings(page[key])


def _next_cursor(page: Payload) -> str:
    return as_text(as_mapping(page.get("response_metadata")).get("next_cursor"))


def _furthest_timestamp(edge: str, found: list[str], seen: str) -> str:
    """Return the timestamp furthest in reading direction: the oldest if `edge` is "latest"."""
    times = [*found, seen] if seen else found
    return (min if edge == "latest" else max)(times, key=float) if times else ""


def _name(value: object) -> str:
    text = as_text(value)
    return text if re.fullmatch(r"[\w.-]{1,80}", text) else ""
