"""What an answer of GitHub means: data, a page's neighbours, a limit to wait for, or a refusal that stays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

from lore.sources.http import HttpError
from lore.sources.retries import DEFAULT_LIMIT_WAIT, Retry, header_number, retry_for_status

__all__ = ["GitHubError", "GitHubReply", "ReplyReader", "page_number", "parse_json"]

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
"""Kinds of GraphQL error that stay, as the status that REST has for them; all others may pass by themselves."""


class GitHubError(HttpError):
    """GitHub refused a call; `server_time` is what its clock said (seconds since the epoch), for ours may be wrong."""

    def __init__(self, message: str, *, status: int, remedy: str = "", server_time: float | None = None) -> None:
        super().__init__(message, status=status, remedy=remedy)
        self.server_time = server_time


@dataclass(frozen=True, slots=True)
class GitHubReply:
    """What GitHub answered. `data` is decoded JSON, or text where text was asked for.

    `unchanged` says that what the caller's `etag` stands for is still true, and then there are no data. `calls_left`
    is None where the server has no limit. `server_time` is its clock, in seconds since the epoch. `scopes` are those of
    a classic token, None for any other.
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
    """Reads the answers to one call: `name` is its address as errors show it, `secret` what they must not repeat."""

    name: str
    secret: str
    remedies: Mapping[int, str]
    now: float

    def reply(self, response: httpx.Response, content: bytes, *, as_text: bool = False) -> GitHubReply | Retry:
        """The answer of a REST call. Raises GitHubError for a status that stays."""
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return GitHubReply(etag=response.headers.get("etag", ""), unchanged=True)
        if not response.is_success:
            return self.refused(response, content)
        data: Any = content.decode("utf-8", "replace") if as_text else parse_json(content)
        if data is None and content.strip() != b"null":
            return Retry("the answer is not valid JSON")
        links = {rel: _joined(response.url, link.get("url", "")) for rel, link in response.links.items()}
        return GitHubReply(
            data,
            etag=response.headers.get("etag", ""),
            next_url=links.get("next"),
            last_url=links.get("last"),
            calls_left=header_number(response.headers.get("x-ratelimit-remaining")),
            server_time=_server_time(response),
            scopes=response.headers.get("x-oauth-scopes"),
        )

    def graphql(self, response: httpx.Response, content: bytes) -> Mapping[str, Any] | Retry:
        """The `data` of a GraphQL answer, whose errors come with status 200. Raises GitHubError for one that stays."""
        if not response.is_success:
            return self.refused(response, content)
        answer = parse_json(content)
        if not isinstance(answer, dict):
            return Retry("the answer is not valid JSON")
        errors = [error for error in answer.get("errors") or () if isinstance(error, dict)]
        data = answer.get("data")
        if not errors and isinstance(data, dict):
            return data
        first: Mapping[str, Any] = errors[0] if errors else {"message": "no data"}
        kind, said = _kind(first), self._said(first)
        if "RATE_LIMIT" in kind:
            reset = header_number(response.headers.get("x-ratelimit-reset"))
            return Retry(f"{kind} ({said})", max(0.0, reset - self._now(response) + 1) if reset else DEFAULT_LIMIT_WAIT)
        status = GRAPHQL_STATUS.get(kind)
        if status is None:
            return Retry(f"GraphQL answered an error: {said}")
        raise self._error(f"{self.name} answered {kind}: {said}.", status, response)

    def refused(self, response: httpx.Response, content: bytes) -> Retry:
        """Say to try again later, or raise."""
        status, said = response.status_code, self._said(parse_json(content))
        if again := retry_for_status(status, response.headers, said, self._now(response)):
            return again
        raise self._error(f"{self.name} answered HTTP {status}{f': {said}' if said else ''}.", status, response)

    def _error(self, message: str, status: int, response: httpx.Response) -> GitHubError:
        remedy = self.remedies.get(status, "Check the declaration, the base URL and what the token may read.")
        return GitHubError(message, status=status, remedy=remedy, server_time=_server_time(response))

    def _now(self, response: httpx.Response) -> float:
        server_time = _server_time(response)
        return self.now if server_time is None else server_time

    def _said(self, answer: object) -> str:
        """The answer's `message`, made fit for one line, without the token, which it may repeat."""
        message = answer.get("message") if isinstance(answer, dict) else None
        said = " ".join(message.split()) if isinstance(message, str) else ""
        return (said.replace(self.secret, "…") if self.secret else said)[:200].rstrip(".")


def page_number(url: str | None) -> int | None:
    """The page that an address of a list is of, or None where it does not say."""
    page = parse_qs(urlsplit(url or "").query).get("page", [""])[0]
    return int(page) if page.isascii() and page.isdigit() else None


def parse_json(content: bytes) -> Any:
    """The document, or None for what is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _kind(error: Mapping[str, Any]) -> str:
    """The kind of a GraphQL error: GitHub writes it in `type`, and for a wrong query in `extensions`."""
    extensions = error.get("extensions")
    code = extensions.get("code") if isinstance(extensions, dict) else None
    return str(error.get("type") or code or "")


def _joined(url: httpx.URL, reference: str) -> str | None:
    try:
        return str(url.join(reference)) if reference else None
    except (httpx.InvalidURL, ValueError):
        return reference


def _server_time(response: httpx.Response) -> float | None:
    try:
        return parsedate_to_datetime(response.headers["date"]).timestamp()
    except (KeyError, ValueError, OverflowError, TypeError):
        return None
