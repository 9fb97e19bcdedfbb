"""Calls to GitHub's API: conditional, GraphQL, and for archives that another host serves; each with its limits."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import httpx

from lore.errors import ConfigurationError, SourceError
from lore.sources.addresses import display_url
from lore.sources.bodies import read_body, retry_for_error, until_deadline
from lore.sources.github.api.hosts import GitHubHosts
from lore.sources.github.api.replies import GitHubReply, ReplyReader, page_number
from lore.sources.retries import Retry, RetryPolicy

__all__ = ["GitHubAccess", "GitHubClient"]

MAX_BYTES = 64 * 1024 * 1024
"""The largest answer of the API; an archive has a limit of its own."""
MAX_REDIRECTS = 5
DOWNLOAD_PATIENCE = 10
"""An archive may take so many times as long as a call."""
HEADERS = {
    "User-Agent": "lore",
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
}

Result = TypeVar("Result")
Take = Callable[[httpx.Response], Result | Retry]
"""Reads an answer while its connection is open."""


def no_token() -> None:
    """Anonymous access: 60 calls an hour, public repositories only."""


@dataclass(frozen=True, slots=True)
class GitHubAccess:
    """How to reach one GitHub: `token` gives what authorizes a call made now, or None.

    `timeout` limits one call, in seconds. `archive_hosts` are hosts (HOST or HOST:PORT) that may serve archives besides
    GitHub's own.
    """

    base_url: str = "https://api.github.com"
    token: Callable[[], str | None] = field(default=no_token, repr=False)
    timeout: float = 60.0
    retries: RetryPolicy = field(default_factory=lambda: RetryPolicy(remedy="A token raises the limit."))
    archive_hosts: tuple[str, ...] = ()

    def open(self, remedies: Mapping[int, str] | None = None) -> GitHubClient:
        """A client; `remedies` says what to do about a status. Raises ConfigurationError for a wrong address."""
        return GitHubClient(self, remedies or {})


@dataclass(frozen=True, slots=True)
class _Call:
    """What is sent. `archive` allows redirects to the hosts that serve archives."""

    method: str
    url: httpx.URL
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    archive: bool = False


class GitHubClient:
    """Calls to one GitHub, to be used as a context manager.

    The token goes to the origin of the base address and nowhere else. A call that fails for the moment (connection,
    5xx, rate limit, cut or broken body) is repeated as `GitHubAccess.retries` says. Every call raises GitHubError for
    a status that stays, and a retryable SourceError when the repeats are used up or the limit lasts too long.
    """

    def __init__(self, access: GitHubAccess, remedies: Mapping[int, str]) -> None:
        self.hosts = GitHubHosts.of(access.base_url, access.archive_hosts)
        self._access = access
        self._remedies = remedies
        self._secret = ""
        self._client = httpx.Client(timeout=access.timeout, headers=HEADERS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, url: str, params: Mapping[str, str | int] | None = None, *, etag: str = "") -> GitHubReply:
        """One JSON document; `url` is a path below the base address or an absolute address of the same origin."""
        call = _Call("GET", self._target(url, params), {"If-None-Match": etag} if etag else {})
        return self._send(call, lambda answer: self._reader(call).reply(answer, self._content(answer)))

    def get_text(self, url: str, accept: str, *, etag: str = "") -> GitHubReply:
        """One text in the media type `accept`."""
        headers = {"Accept": accept} | ({"If-None-Match": etag} if etag else {})
        call = _Call("GET", self._target(url), headers)
        return self._send(call, lambda answer: self._reader(call).reply(answer, self._content(answer), as_text=True))

    def count(self, url: str, params: Mapping[str, str | int]) -> int | None:
        """How many items a list has, by one call without a body; None where the server does not tell.

        With one item on a page, the number of the last page is the number of items.
        """
        call = _Call("HEAD", self._target(url, {**params, "per_page": 1}))
        reply = self._send(call, lambda answer: self._reader(call).reply(answer, b"null"))
        return page_number(reply.last_url)

    @property
    def has_token(self) -> bool:
        """Whether calls are authorized, which GraphQL asks for."""
        return bool(self._access.token())

    def post(self, url: str, body: Any = None) -> GitHubReply:
        """The answer to a JSON document that is sent."""
        call = _Call("POST", self._target(url), body=body)
        return self._send(call, lambda answer: self._reader(call).reply(answer, self._content(answer)))

    def graphql(self, query: str, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        """The `data` of a GraphQL query. An error in an answer of status 200 is one as any other."""
        call = _Call("POST", httpx.URL(self.hosts.graphql_url), body={"query": query, "variables": dict(variables)})
        return self._send(call, lambda answer: self._reader(call).graphql(answer, self._content(answer)))

    def download(self, url: str, consume: Callable[[Iterator[bytes]], Result]) -> Result:
        """What `consume` makes of the bytes at `url`, which may redirect to a host that serves archives.

        A retryable SourceError of `consume` (what came was cut) makes the download start again.
        """
        call = _Call("GET", self._target(url), {"Accept": "*/*", "Accept-Encoding": "identity"}, archive=True)

        def take(answer: httpx.Response) -> Result | Retry:
            if not answer.is_success:
                return self._reader(call).refused(answer, self._content(answer))
            try:
                return consume(self._pieces(answer))
            except SourceError as error:
                if not error.retryable:
                    raise
                return Retry(error.message.rstrip("."))

        return self._send(call, take)

    def _send(self, call: _Call, take: Take[Result]) -> Result:
        return self._access.retries.call(self._name(call.url), lambda: self._once(call, take))

    def _once(self, call: _Call, take: Take[Result]) -> Result | Retry:
        try:
            return self._follow(call, take)
        except httpx.HTTPError as error:
            return retry_for_error(error, self._access.timeout)

    def _follow(self, call: _Call, take: Take[Result]) -> Result | Retry:
        url = call.url
        for _ in range(MAX_REDIRECTS + 1):
            own = self.hosts.is_api(url)
            if not own and not (call.archive and self.hosts.serves_archives(url)):
                raise SourceError(
                    f"{self._access.base_url} points to another server, {url.scheme}://{url.host}.",
                    remedy="Nothing was sent there. Set the base URL to the server that holds the data.",
                )
            headers = {**call.headers, **self._authorization()} if own else call.headers
            with self._client.stream(call.method, url, headers=headers, json=call.body) as answer:
                if not answer.has_redirect_location:
                    return take(answer)
                url = _parsed(lambda: answer.url.join(answer.headers["location"]))
        raise SourceError(f"{self._name(url)} redirects in a circle.", remedy="Check the base URL.")

    def _authorization(self) -> dict[str, str]:
        token = (self._access.token() or "").strip()
        if not token:
            return {}
        if not re.fullmatch(r"[\x21-\x7e]+", token):
            raise ConfigurationError("The token holds characters that no token has.", remedy="Set it anew.")
        self._secret = token
        return {"Authorization": f"Bearer {token}"}

    def _content(self, answer: httpx.Response) -> bytes:
        content = read_body(answer, most=MAX_BYTES, deadline=time.monotonic() + self._access.timeout)
        if content is None:
            raise SourceError(f"{self._name(answer.url)} sends more than {MAX_BYTES:,} bytes.")
        return content

    def _pieces(self, answer: httpx.Response) -> Iterator[bytes]:
        return until_deadline(answer.iter_raw(), time.monotonic() + self._access.timeout * DOWNLOAD_PATIENCE)

    def _reader(self, call: _Call) -> ReplyReader:
        return ReplyReader(self._name(call.url), self._secret, self._remedies, self._access.retries.now())

    def _target(self, url: str, params: Mapping[str, str | int] | None = None) -> httpx.URL:
        target = _parsed(lambda: httpx.URL(self._access.base_url.rstrip("/") + url if url.startswith("/") else url))
        return target.copy_merge_params(params) if params else target

    def _name(self, url: httpx.URL) -> str:
        name = display_url(url)
        return name.replace(self._secret, "…") if self._secret else name


def _parsed(make: Callable[[], httpx.URL]) -> httpx.URL:
    try:
        return make()
    except (httpx.InvalidURL, ValueError):
        raise SourceError("The server points to an address that is none.", remedy="Check the base URL.") from None
