"""A client for GitHub's API: REST, GraphQL, and archives that another host delivers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import httpx

from lore.errors import ConfigurationError, SourceError
from lore.sources.github.api.hosts import GitHubHosts
from lore.sources.github.api.replies import GitHubReply, ReplyReader, page_number
from lore.sources.http.client import Call, ServiceClient
from lore.sources.http.retries import Retry, RetryPolicy

__all__ = ["GitHubAccess", "GitHubClient"]

MAX_BYTES = 64 * 1024 * 1024
"""The largest response of the API; an archive has its own limit."""
DOWNLOAD_PATIENCE = 10
"""Time limit of an archive, as a multiple of that of a call."""
HEADERS = {
    "User-Agent": "lore",
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
}

Result = TypeVar("Result")


def no_token() -> None:
    """Anonymous access: 60 calls an hour, public repositories only."""


@dataclass(frozen=True, slots=True)
class GitHubAccess:
    """Settings for one GitHub; `token` returns the token that authorizes a call made now, or None.

    `timeout` limits one call, in seconds. `archive_hosts` (HOST or HOST:PORT) may deliver archives besides GitHub's own
    hosts.
    """

    base_url: str = "https://api.github.com"
    token: Callable[[], str | None] = field(default=no_token, repr=False)
    timeout: float = 60.0
    retries: RetryPolicy = field(default_factory=lambda: RetryPolicy(remedy="A token raises the limit."))
    archive_hosts: tuple[str, ...] = ()

    def open(self, remedies: Mapping[int, str] | None = None) -> GitHubClient:
        """Return a client; `remedies` maps a status to advice. Raises ConfigurationError for an invalid address."""
        return GitHubClient(self, remedies or {})


class GitHubClient:
    """Calls to one GitHub, as a context manager. The token reaches the API's own server only.

    Temporary failures (connection, 5xx, rate limit, damaged body) are retried as `GitHubAccess.retries` says. Every
    call raises GitHubError for a refusal, and a retryable SourceError when retries or waiting won't help.
    """

    def __init__(self, access: GitHubAccess, remedies: Mapping[int, str]) -> None:
        self.hosts = GitHubHosts.of(access.base_url, access.archive_hosts)
        self._access = access
        self._remedies = remedies
        self._secret = ""
        self._client = ServiceClient(
            httpx.Client(timeout=access.timeout, headers=HEADERS),
            access.base_url,
            retries=access.retries,
            timeout=access.timeout,
            max_bytes=MAX_BYTES,
            authorize=self._authorization,
            hide=self._hide,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def has_token(self) -> bool:
        """True if calls are authorized, which GraphQL requires."""
        return bool(self._access.token())

    def get(self, url: str, params: Mapping[str, str | int] | None = None, *, etag: str = "") -> GitHubReply:
        """Return one JSON document; `url` is a path below the base URL, or an address on the same server."""
        call = Call(self._client.url(url, params), headers={"If-None-Match": etag} if etag else {})
        return self._reply(call)

    def get_text(self, url: str, accept: str, *, etag: str = "") -> GitHubReply:
        """Return one text in the media type `accept`."""
        headers = {"Accept": accept} | ({"If-None-Match": etag} if etag else {})
        call = Call(self._client.url(url), headers=headers)
        return self._client.send(call, lambda one: self._reader(call).text(one, self._client.body(one)))

    def count(self, url: str, params: Mapping[str, str | int]) -> int | None:
        """Return the length of a list by one call without a body; None where the server doesn't tell.

        With one item on a page, the last page's number is the number of items.
        """
        call = Call(self._client.url(url, {**params, "per_page": 1}), "HEAD")
        return page_number(self._client.send(call, lambda one: self._reader(call).json(one, b"null")).last_url)

    def post(self, url: str, body: Any = None) -> GitHubReply:
        """Send a JSON document and return the reply."""
        return self._reply(Call(self._client.url(url), "POST", body=body))

    def graphql(self, query: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the `data` of a GraphQL query. An error in a reply with status 200 is raised like any other."""
        body = {"query": query, "variables": dict(variables)}
        call = Call(self._client.url(self.hosts.graphql_url), "POST", body=body)
        return self._client.send(call, lambda one: self._reader(call).graphql(one, self._client.body(one)))

    def download(self, url: str, consume: Callable[[Iterator[bytes]], Result]) -> Result:
        """Return what `consume` makes of the bytes at `url`, which may redirect to a host that delivers archives.

        A retryable SourceError from `consume`, such as a truncated archive, restarts the download.
        """
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        call = Call(self._client.url(url), headers=headers, redirect_origins=self.hosts.archives)

        def read(response: httpx.Response) -> Result | Retry:
            if not response.is_success:
                return self._reader(call).refused(response, self._client.body(response))
            try:
                return consume(self._client.raw_pieces(response, patience=DOWNLOAD_PATIENCE))
            except SourceError as error:
                if not error.retryable:
                    raise
                return Retry(error.message.rstrip("."))

        return self._client.send(call, read)

    def _reply(self, call: Call) -> GitHubReply:
        return self._client.send(call, lambda one: self._reader(call).json(one, self._client.body(one)))

    def _authorization(self) -> dict[str, str]:
        token = (self._access.token() or "").strip()
        if not token:
            return {}
        if not re.fullmatch(r"[\x21-\x7e]+", token):
            raise ConfigurationError("The token contains invalid characters.", remedy="Set it again.")
        self._secret = token
        return {"Authorization": f"Bearer {token}"}

    def _hide(self, text: str) -> str:
        return text.replace(self._secret, "…") if self._secret else text

    def _reader(self, call: Call) -> ReplyReader:
        return ReplyReader(self._client.name(call.url), self._hide, self._remedies, self._access.retries.now())
