"""Slack's Web API: calls that are repeated within limits, and lists in pages that are read to their end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeAlias

from lore.errors import ConfigurationError, SourceError
from lore.sources.http import HttpError, JsonApi, Secrets
from lore.sources.payload import Payload, as_mapping, as_mappings, as_text
from lore.sources.retries import Retry, RetryPolicy
from lore.sources.slack.errors import NEXT_RUN, SET_TOKEN, SlackError, endless, error_code, refusal, unexpected_answer
from lore.sources.slack.values import is_ts

__all__ = ["DEFAULT_BASE_URL", "SlackApi", "SlackConnection"]

Params: TypeAlias = Mapping[str, str | int]

DEFAULT_BASE_URL = "https://slack.com/api"
MAX_WAIT = 300.0
"""Seconds. An app that is not in Slack's Marketplace may be told to wait a minute for each page."""
RATE_LIMITED_WAIT = 60.0
"""Slack counts calls by the minute."""
LIST_LIMIT = 200
"""Slack asks for no more users or channels than this in a call."""
MAX_RESTARTS = 3
MAX_EMPTY_PAGES = 20
"""Slack may send pages with nothing in them, but not for ever."""
RATE_LIMIT_ERRORS = frozenset({"ratelimited", "rate_limited"})
TRANSIENT_ERRORS = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
"""Errors that pass by themselves."""


@dataclass(frozen=True, slots=True)
class SlackConnection:
    """Where Slack is and how it is called.

    `timeout` limits one call, in seconds. A call that fails for the moment is repeated `max_retries` times, after the
    wait that Slack asks for; a wait of more than five minutes is a retryable SourceError instead. `sleep` and `now`
    (seconds since the epoch) are there for tests.
    """

    base_url: str
    token: str = field(repr=False)
    timeout: float = 60.0
    max_retries: int = 4
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time

    def retries(self) -> RetryPolicy:
        """How calls are repeated."""
        return RetryPolicy(self.max_retries, MAX_WAIT, "", self.sleep, self.now)


@dataclass(frozen=True, slots=True)
class TokenIdentity:
    """Whose token it is, the workspace's address ("" where it has none), and the token's scopes, if Slack tells."""

    who: str
    url: str
    scopes: tuple[str, ...]


class SlackApi:
    """Reads one workspace with one token, which goes to the server of the base URL and nowhere else.

    `page_size` is how many messages a call asks for. Raises ConfigurationError where there is no token.
    """

    def __init__(self, connection: SlackConnection, *, page_size: int) -> None:
        if not connection.token.strip():
            raise ConfigurationError("Slack needs a token, and none is set.", remedy=SET_TOKEN)
        self._page_size = page_size
        self._retries = connection.retries()
        self._http = JsonApi(
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
        """Ask whose token it is; returns the workspace's address, without the slash at its end. Raises as `call`."""
        return self.identity().url

    def identity(self) -> TokenIdentity:
        """Ask whose token it is. Raises as `call`."""
        data = self.call("auth.test")
        self._app_name = _name(data.get("user")) or self._app_name
        url = as_text(data.get("url"))
        url = url.rstrip("/") if re.fullmatch(r"https?://[A-Za-z0-9.:-]{1,253}/?", url) else ""
        scopes = tuple(sorted(one for one in re.split(r"[,\s]+", self._scopes) if re.fullmatch(r"[a-z_.:]{1,80}", one)))
        return TokenIdentity(f"{self._app_name} in {url or 'a workspace without address'}", url, scopes)

    def call(self, method: str, params: Params | None = None, *, about: str = "") -> Payload:
        """What a method answers; `about` names in errors what was asked for. Raises SlackError, SourceError."""
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
        """All of a list whose items have an id, each once. A cursor that went stale starts the list anew."""
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
        """The pages of a list of messages, those with a timestamp; some may come twice.

        Where Slack's cursor is missing or has gone stale, the list goes on by time from the last message that was
        seen; `edge` names the parameter for it, latest where the newest come first and oldest where the oldest do.
        Raises SourceError rather than end before the list does.
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
    """The timestamp in the direction of reading that lies furthest: the oldest where `edge` is latest."""
    times = [*found, seen] if seen else found
    return (min if edge == "latest" else max)(times, key=float) if times else ""


def _name(value: object) -> str:
    text = as_text(value)
    return text if re.fullmatch(r"[\w.-]{1,80}", text) else ""
