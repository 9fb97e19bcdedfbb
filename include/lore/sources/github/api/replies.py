"""Reading GitHub's replies: data with links to other pages, temporary limits, and permanent refusals."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from lore.sources.http.addresses import join_url
from lore.sources.http.client import HttpError
from lore.sources.http.retries import DEFAULT_LIMIT_WAIT, Retry, header_number, http_date, retry_for_status
from lore.sources.payload import as_mapping, as_mappings, one_line

__all__ = ["GitHubError", "GitHubReply", "ReplyReader", "page_number"]

GRAPHQL_STATUS = {
    "NOT_FOUND": 404,
    "FORBIDDEN": 403,
    "INSUFFICIENT_SCOPES": 403,
    "UNAUTHENTICATED": 401,
    "UNPROCESSABLE": 422,
    "MAX_NODE_LIMIT_EXCEEDED": 422,
    "undefinedField": 422,
    "argumentNotAccepted": 422,
}
"""Permanent GraphQL errors, with REST's status for each; all others may be temporary."""
MAX_MESSAGE = 200


class GitHubError(HttpError):
    """GitHub refused a call; `server_time` is its clock in seconds since the epoch, as ours may be wrong."""

    def __init__(self, message: str, *, status: int, remedy: str = "", server_time: float | None = None) -> None:
        super().__init__(message, status=status, remedy=remedy)
        self.server_time = server_time


@dataclass(frozen=True, slots=True)
class GitHubReply:
    """A reply: `data` is decoded JSON, or text where text was requested; None if `unchanged` since the caller's etag.

    `calls_left` is None where the server has no limit. `server_time` is its clock, in seconds since the epoch. `scopes`
    are those of a classic token, None for any other.
    """

    data: Any = None
    etag: str = ""
    unchanged: bool = False
    next_url: str | None = None
    last_url: str | None = None
    calls_left: int | None = None
    server_time: float | None = None
    scopes: str | None = None


@dataclass(frozen=True, slots=True)
class ReplyReader:
    """Reads the replies to one call; `name` is its address for error messages, `hide` removes the token from them."""

    name: str
    hide: Callable[[str], str]
    remedies: Mapping[int, str]
    now: float

    def json(self, response: httpx.Response, content: bytes) -> GitHubReply | Retry:
        """Read a JSON reply. Raises GitHubError for a permanent refusal."""
        data = _decoded(content)
        if response.is_success and data is None and content.strip() != b"null":
            return Retry("the response is not valid JSON")
        return self._reply(response, content, data)

    def text(self, response: httpx.Response, content: bytes) -> GitHubReply | Retry:
        """Read a text reply. Raises GitHubError for a permanent refusal."""
        return self._reply(response, content, content.decode("utf-8", "replace"))

    def graphql(self, response: httpx.Response, content: bytes) -> Mapping[str, Any] | Retry:
        """Read the `data` of a GraphQL reply, whose errors have status 200. Raises GitHubError for a permanent one."""
        if not response.is_success:
            return self.refused(response, content)
        answer = _decoded(content)
        if not isinstance(answer, dict):
            return Retry("the response is not valid JSON")
        errors, data = as_mappings(answer.get("errors")), answer.get("data")
        if not errors and isinstance(data, dict):
            return data
        first: Mapping[str, Any] = errors[0] if errors else {"message": "no data"}
        kind, message = _kind(first), self._message(first)
        if "RATE_LIMIT" in kind:
            reset = header_number(response.headers.get("x-ratelimit-reset"))
            wait = max(0.0, reset - self._now(response) + 1) if reset else DEFAULT_LIMIT_WAIT
            return Retry(f"{kind} ({message})", wait)
        status = GRAPHQL_STATUS.get(kind)
        if status is None:
            return Retry(f"GraphQL returned an error: {message}")
        raise self._error(f"{self.name} answered {kind}: {message}.", status, response)

    def refused(self, response: httpx.Response, content: bytes) -> Retry:
        """Return the retry for a temporary refusal. Raises GitHubError for a permanent one."""
        status, message = response.status_code, self._message(_decoded(content))
        if retry := retry_for_status(status, response.headers, message, self._now(response)):
            return retry
        raise self._error(f"{self.name} answered HTTP {status}{f': {message}' if message else ''}.", status, response)

    def _reply(self, response: httpx.Response, content: bytes, data: Any) -> GitHubReply | Retry:
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return GitHubReply(etag=response.headers.get("etag", ""), unchanged=True)
        if not response.is_success:
            return self.refused(response, content)
        base = str(response.url)
        links = {rel: join_url(base, link["url"]) for rel, link in response.links.items() if link.get("url")}
        return GitHubReply(
            data,
            etag=response.headers.get("etag", ""),
            next_url=links.get("next"),
            last_url=links.get("last"),
            calls_left=header_number(response.headers.get("x-ratelimit-remaining")),
            server_time=_server_time(response),
            scopes=response.headers.get("x-oauth-scopes"),
        )

    def _error(self, message: str, status: int, response: httpx.Response) -> GitHubError:
        remedy = self.remedies.get(status, "Check the declaration, the base URL and the token's permissions.")
        return GitHubError(message, status=status, remedy=remedy, server_time=_server_time(response))

    def _now(self, response: httpx.Response) -> float:
        server_time = _server_time(response)
        return self.now if server_time is None else server_time

    def _message(self, answer: object) -> str:
        return self.hide(one_line(as_mapping(answer).get("message")))[:MAX_MESSAGE].rstrip(".")


def page_number(url: str | None) -> int | None:
    """Return the page number in a list's address, None if there is none."""
    page = parse_qs(urlsplit(url or "").query).get("page", [""])[0]
    return int(page) if page.isascii() and page.isdigit() else None


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _kind(error: Mapping[str, Any]) -> str:
    """Return the kind of a GraphQL error: in `type`, or for an invalid query in `extensions`."""
    return str(error.get("type") or as_mapping(error.get("extensions")).get("code") or "")


def _server_time(response: httpx.Response) -> float | None:
    date = http_date(response.headers.get("date"))
    return date.timestamp() if date else None
