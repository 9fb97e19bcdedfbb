"""Polite HTTP for websites: robots.txt, pauses for each server, retries, and limits on time and size."""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx

from lore.declarations import SiteDeclaration
from lore.errors import SourceError
from lore.sources.http.inflate import TooLargeError, inflate, limited
from lore.sources.http.retries import TRANSIENT, Retry, RetryPolicy, UnreachableError, retry_after
from lore.sources.site.guard import GuardedBackend, resolve
from lore.sources.site.robots import MAX_BYTES as MAX_ROBOTS_BYTES
from lore.sources.site.robots import USER_AGENT, Robots

__all__ = ["Fetcher", "WebResponse"]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5
MAX_DRAINED = 64 * 1024
"""Bytes to read of an unwanted body, only to keep the connection for the next call."""
DEFAULT_PAUSE = 30.0
HEADERS = {
    "User-Agent": USER_AGENT,
    "Accept": "text/html, application/xhtml+xml, text/markdown, application/pdf;q=0.9, text/plain;q=0.8, */*;q=0.1",
    "Accept-Encoding": "gzip",
}


@dataclass(frozen=True, slots=True)
class WebResponse:
    """A server's response. `body` is filled for status 200 and a wanted type; names in `headers` are lower case.

    `problem` explains a failure that concerns this page alone.
    """

    address: str
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    problem: str = ""

    @property
    def location(self) -> str | None:
        """The target of a redirect as the server writes it, None for other responses."""
        return self.headers.get("location") if self.status in REDIRECTS else None

    @property
    def content_type(self) -> str:
        """The media type in lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Fetcher:
    """GET calls to websites, one at a time. `timeout` limits a call from start to last byte, in seconds.

    Tests replace `sleep`, `now` (seconds since the epoch), `clock` (monotonic seconds) and `resolve`.
    """

    def __init__(
        self,
        declaration: SiteDeclaration,
        *,
        timeout: float = 60.0,
        max_retries: int = 4,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        resolve: Callable[[str, int], list[str]] = resolve,
    ) -> None:
        self._declaration = declaration
        self._timeout = timeout
        self._sleep, self.now, self._clock = sleep, now, clock
        self._retries = RetryPolicy(max_retries, sleep=sleep, now=now)
        self._backend = GuardedBackend(declaration.allow_hosts, resolve=resolve)
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),  # with the certificates that SSL_CERT_FILE adds
            network_backend=self._backend,
            max_connections=4,
            keepalive_expiry=60.0,
        )
        self._robots: dict[str, Robots] = {}
        self._last_call: dict[str, float] = {}
        self._bytes = 0
        self._started = clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def robots(self, address: str) -> Robots:
        """Return the robots.txt of the address's server, requested once.

        Raises SourceError when it is unreachable: then the server counts as closed to crawlers (RFC 9309, 2.3.1.4).
        """
        parts = urlsplit(address)
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin not in self._robots:
            answer = self.follow(f"{origin}/robots.txt", limit=MAX_ROBOTS_BYTES + 1, cut=True)
            self._robots[origin] = Robots(answer.body if answer.status == 200 else b"")
        return self._robots[origin]

    def allows(self, address: str) -> bool:
        """Return True if robots.txt allows the address."""
        return self.robots(address).allows(address)

    def follow(self, address: str, *, limit: int, cut: bool = False) -> WebResponse:
        """Request a file that is no page, and follow redirects; otherwise like `get`."""
        for _ in range(MAX_REDIRECTS + 1):
            answer = self.get(address, limit=limit, cut=cut)
            if answer.location is None:
                return answer
            try:
                address = urljoin(address, answer.location)
                scheme = urlsplit(address).scheme
            except ValueError:
                scheme = ""
            if scheme not in ("http", "https") or not address.isascii():
                return WebResponse(address, 404)
        return WebResponse(address, 404, problem="It redirects in a circle.")

    def get(
        self,
        address: str,
        headers: Mapping[str, str] | None = None,
        *,
        limit: int,
        cut: bool = False,
        wanted: Callable[[WebResponse], bool] = lambda _: True,
    ) -> WebResponse:
        """Request one address without following redirects. A body over `limit` bytes is a problem, or is cut there.

        The body is read only if `wanted` accepts the response without it. Raises UnreachableError when all retries
        failed, and a retryable SourceError when the server or the declaration ends the run.
        """
        last = WebResponse(address, 0)

        def attempt() -> WebResponse | Retry:
            nonlocal last
            self._pace(address)
            try:
                outcome = self._request(address, headers or {}, limit, cut, wanted)
            finally:
                self._last_call[urlsplit(address).netloc] = self._clock()
            if not isinstance(outcome, WebResponse) or outcome.status not in TRANSIENT:
                return outcome
            last = outcome
            wait = retry_after(outcome.headers.get("retry-after"), self.now())
            if wait is None and outcome.status == 429:
                wait = DEFAULT_PAUSE
            return Retry(f"HTTP {outcome.status}", wait)

        try:
            return self._retries.call(_display_address(address), attempt)
        except UnreachableError as error:
            if last.status == 429:  # it is the run that is too much, not the page
                raise SourceError(error.message, remedy="Raise `delay_seconds`.", retryable=True) from None
            raise

    def _delay(self, address: str) -> float:
        parts = urlsplit(address)
        robots = self._robots.get(f"{parts.scheme}://{parts.netloc}")
        return max(self._declaration.delay_seconds, robots.delay if robots else 0.0)

    def _pace(self, address: str) -> None:
        """Wait for the server's delay. Raises SourceError when a limit of the run is reached."""
        now, host = self._clock(), urlsplit(address).netloc
        wait = max(0.0, self._last_call[host] + self._delay(address) - now) if host in self._last_call else 0.0
        spent = now - self._started
        for name, used, allowed in (
            ("max_seconds", spent + wait, self._declaration.max_seconds),
            ("max_total_bytes", self._bytes, self._declaration.max_total_bytes),
        ):
            if used > allowed:
                raise SourceError(
                    f"{self._declaration.url} isn't read completely: `{name}` of {allowed:g} is reached.",
                    remedy="The next sync continues from there; raise the limit to read more at once.",
                    retryable=True,
                )
        if wait > 0:
            self._sleep(wait)

    def _request(
        self,
        address: str,
        headers: Mapping[str, str],
        limit: int,
        cut: bool,
        wanted: Callable[[WebResponse], bool],
    ) -> WebResponse | Retry:
        self._backend.deadline = time.monotonic() + self._timeout
        extensions = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), self._timeout)}
        asked: list[tuple[bytes | str, bytes | str]] = [*HEADERS.items(), *headers.items()]
        try:
            with self._pool.stream("GET", address, headers=asked, extensions=extensions) as response:
                answer = WebResponse(address, response.status, _headers(response.headers))
                if response.status != 200:
                    _drain(response)
                    return answer
                return self._read(response, answer, limit, cut) if wanted(answer) else answer
        except httpcore.TimeoutException:
            return Retry(f"no complete response within {self._timeout:g} seconds")
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            return Retry(f"{type(error).__name__}: {error}".rstrip(". "))

    def _read(self, response: httpcore.Response, answer: WebResponse, limit: int, cut: bool) -> WebResponse | Retry:
        encoding = answer.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            return replace(answer, problem=f"It has the unsupported encoding {encoding[:40]!r}.")
        body = bytearray()
        try:
            expand = limited if encoding in ("", "identity") else inflate
            for piece in expand(self._counted(response.iter_stream()), limit):
                body += piece
        except TooLargeError:
            if not cut:
                return replace(answer, problem=f"It is larger than {limit:,} bytes.")
        except zlib.error as error:
            return Retry(f"the body can't be decompressed ({error})")
        return replace(answer, body=bytes(body))

    def _counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        for piece in pieces:
            self._bytes += len(piece)
            yield piece


def _drain(response: httpcore.Response) -> None:
    size = 0
    for piece in response.iter_stream():
        size += len(piece)
        if size > MAX_DRAINED:
            return


def _headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the headers with names in lower case; repeated ones are joined as the standard says."""
    headers: dict[str, str] = {}
    for name, value in raw:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _display_address(address: str) -> str:
    return re.sub(r"[?#].*", "", address)
