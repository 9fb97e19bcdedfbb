"""HTTP calls to one service: redirects, response sizes and response times are limited."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from lore.errors import SourceError
from lore.sources.http.addresses import Origin, display_url, join_url, origin_of, parse_url
from lore.sources.http.retries import Retry, RetryPolicy

__all__ = ["Call", "HttpError", "ServiceClient", "read_body", "retry_for_error", "until_deadline"]

MAX_REDIRECTS = 5
MAX_NAME = 120
"""Characters of an address in an error message."""

Result = TypeVar("Result")


class HttpError(SourceError):
    """The server refused a call with a status that a retry doesn't change."""

    def __init__(self, message: str, *, status: int, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


@dataclass(frozen=True, slots=True)
class Call:
    """One call. A redirect may also lead to `redirect_origins`, which get `headers` but no secret."""

    url: httpx.URL
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    redirect_origins: frozenset[Origin] = frozenset()


class ServiceClient:
    """Sends calls to the server of `base_url` and follows redirects only to servers that the call allows.

    `authorize` returns the secret headers, which reach no other server. `timeout` limits one call, in seconds, and
    `max_bytes` its decompressed body. `hide` removes secrets from error messages.
    """

    def __init__(
        self,
        client: httpx.Client,
        base_url: str,
        *,
        retries: RetryPolicy,
        timeout: float,
        max_bytes: int,
        authorize: Callable[[], Mapping[str, str]],
        hide: Callable[[str], str],
    ) -> None:
        self._client, self._base_url, self._origin = client, base_url.rstrip("/"), origin_of(base_url)
        self._retries, self._timeout, self._max_bytes = retries, timeout, max_bytes
        self._authorize, self._hide = authorize, hide
        self._started = 0.0

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def url(self, reference: str, params: Mapping[str, Any] | None = None) -> httpx.URL:
        """Return the absolute address of a path below the base URL; an absolute address stays."""
        relative = reference.startswith("/") or not reference
        url = parse_url(self._base_url + reference if relative else reference)
        return url.copy_merge_params(params) if params else url

    def send(self, call: Call, read: Callable[[httpx.Response], Result | Retry]) -> Result:
        """Return what `read` makes of the response while its connection is open.

        Raises UnreachableError when all retries failed, and SourceError for a forbidden or endless redirect.
        """
        return self._retries.call(self.name(call.url), lambda: self._attempt(call, read))

    def body(self, response: httpx.Response) -> bytes:
        """Return the decompressed body. Raises SourceError when it is too large, httpx.HTTPError when it is cut."""
        body = read_body(response, max_bytes=self._max_bytes, deadline=self._started + self._timeout)
        if body is None:
            raise SourceError(
                f"{self.name(response.url)} sends more than {self._max_bytes:,} bytes.",
                remedy="Ask for smaller pages, or narrow the declaration.",
            )
        return body

    def raw_pieces(self, response: httpx.Response, *, patience: int) -> Iterator[bytes]:
        """Yield the compressed body, within `patience` times the time limit of a call."""
        return until_deadline(response.iter_raw(), self._started + self._timeout * patience)

    def name(self, url: httpx.URL) -> str:
        """Return the address for error messages, shortened and without secrets."""
        name = self._hide(display_url(url))
        return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…"

    def _attempt(self, call: Call, read: Callable[[httpx.Response], Result | Retry]) -> Result | Retry:
        try:
            return self._follow(call, read)
        except httpx.HTTPError as error:  # includes a body that contradicts its headers
            return Retry(self._hide(retry_for_error(error, self._timeout).reason))

    def _follow(self, call: Call, read: Callable[[httpx.Response], Result | Retry]) -> Result | Retry:
        url = call.url
        for _ in range(MAX_REDIRECTS + 1):
            origin = origin_of(str(url))
            if origin != self._origin and origin not in call.redirect_origins:
                raise SourceError(
                    self._hide(f"{self._base_url} points to another server, {url.scheme}://{url.host}."),
                    remedy="Nothing was sent there. Set the base URL to the server that holds the data.",
                )
            headers = {**call.headers, **(self._authorize() if origin == self._origin else {})}
            self._started = time.monotonic()
            with self._client.stream(call.method, url, headers=headers, json=call.body) as response:
                if not response.has_redirect_location:
                    return read(response)
                url = parse_url(join_url(str(url), response.headers["location"]))
        raise SourceError(f"{self.name(url)} redirects in a circle.", remedy="Check the base URL.")


def until_deadline(pieces: Iterator[bytes], deadline: float) -> Iterator[bytes]:
    """Yield pieces until `deadline`, a `time.monotonic` value; httpx limits each read, but not their sum.

    Raises httpx.ReadTimeout for a later piece.
    """
    for piece in pieces:
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("The response takes too long.")
        yield piece


def read_body(response: httpx.Response, *, max_bytes: int, deadline: float) -> bytes | None:
    """Return the decompressed body, None if it exceeds `max_bytes`. Raises as `until_deadline` and httpx do."""
    body = bytearray()
    for piece in until_deadline(response.iter_bytes(), deadline):
        body += piece
        if len(body) > max_bytes:
            return None
    return bytes(body)


def retry_for_error(error: httpx.HTTPError, seconds: float) -> Retry:
    """Return the retry for a call without a complete response; `seconds` was its time limit."""
    match error:
        case httpx.TimeoutException():
            return Retry(f"no complete response within {seconds:g} seconds")
        case httpx.TransportError():
            return Retry(f"{type(error).__name__}: {error}".rstrip(".: "))
        case _:
            return Retry(f"the response can't be decoded ({type(error).__name__})")
