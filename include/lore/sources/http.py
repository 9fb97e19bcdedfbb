"""Reading JSON from a web API with limits: one origin, bounded time, size, repeats and waits."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import httpx

from include.lore.errors import ConfigurationError, SourceError
from include.lore.sources.addresses import bare, join, origin_of, parse
from include.lore.sources.retries import Again, Retries, passing

__all__ = ["HttpClient", "HttpError", "Reply"]

MAX_BYTES = 64 * 1024 * 1024
MAX_REDIRECTS = 5


class HttpError(SourceError):
    """The server answered with a status that repeating does not help against."""

    def __init__(self, message: str, *, status: int, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


@dataclass(frozen=True, slots=True)
class Reply:
    """Decoded JSON, which may be anything that JSON can be. `scopes` are those that the server says the token has."""

    data: Any
    scopes: str = ""


class HttpClient:
    """GET from one API. The token goes into the Authorization header, to the origin of `base_url` and nowhere else.

    `timeout` limits one call from start to last byte, in seconds. A call that fails for the moment (connection, 5xx,
    rate limit, cut or broken body) is repeated `max_retries` times, with growing waits or after the wait that the
    server asks for; when it asks for more than `max_wait` seconds, a retryable SourceError says until when. `remedies`
    says what to do about a status. `sleep` and `now` (seconds since the epoch) are there for tests.
    """

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        max_retries: int = 4,
        max_wait: float = 60.0,
        remedies: Mapping[int, str] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._origin = origin_of(base_url)
        if self._origin is None:
            raise ConfigurationError(
                f"{base_url!r} is no web address.",
                remedy="Set the base URL anew (base_url, LORE_GITHUB_BASE_URL): https://…",
            )
        token = (token or "").strip()
        if not re.fullmatch(r"[\x21-\x7e]*", token):
            raise ConfigurationError("The token holds characters that no token has.", remedy="Set it anew.")
        self._base_url = base_url.rstrip("/")
        self._timeout = timeout
        self._retries = Retries(max_retries, max_wait, "A token raises the limit.", sleep, now)
        self._remedies = remedies or {}
        self._token = token
        all_headers = {"User-Agent": "lore", **(headers or {})}
        if token:
            all_headers["Authorization"] = f"Bearer {token}"
        self._client = httpx.Client(timeout=timeout, headers=all_headers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, url: str, params: Mapping[str, str | int] | None = None) -> Reply:
        """One JSON document; `url` is a path below the base URL or an absolute address of the same origin.

        Raises HttpError for a status that stays, SourceError (retryable) when the repeats are used up.
        """
        target = parse(self._base_url + url if url.startswith("/") else url)
        if params:
            target = target.copy_merge_params(params)
        return self._retries.call(self._name(target), lambda: self._follow(target))

    def _follow(self, url: httpx.URL) -> Reply | Again:
        for _ in range(MAX_REDIRECTS + 1):
            if origin_of(str(url)) != self._origin:
                raise SourceError(
                    self._unsecret(f"{self._base_url} points to another server, {url.scheme}://{url.host}."),
                    remedy="Nothing was sent there. Set the base URL to the server that holds the data.",
                )
            outcome = self._once(url)
            if not isinstance(outcome, httpx.URL):
                return outcome
            url = outcome
        raise SourceError(f"{self._name(url)} redirects in a circle.", remedy="Check the base URL.")

    def _once(self, url: httpx.URL) -> Reply | Again | httpx.URL:
        deadline = time.monotonic() + self._timeout
        body = bytearray()
        try:
            with self._client.stream("GET", url) as response:
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > MAX_BYTES:
                        raise SourceError(f"{self._name(url)} sends more than {MAX_BYTES:,} bytes.")
                    if time.monotonic() > deadline:
                        return Again(f"no complete answer within {self._timeout:g} seconds")
        except httpx.TimeoutException:
            return Again(f"no complete answer within {self._timeout:g} seconds")
        except httpx.TransportError as error:
            return Again(f"{type(error).__name__}: {error}".rstrip(". "))
        except httpx.HTTPError as error:
            return Again(f"the answer cannot be decoded ({type(error).__name__})")
        if response.has_redirect_location:
            return parse(join(str(url), response.headers["location"]))
        if response.is_success:
            return _reply(bytes(body), response.headers.get("x-oauth-scopes", ""))
        return self._refused(url, response, bytes(body))

    def _refused(self, url: httpx.URL, response: httpx.Response, body: bytes) -> Again:
        status = response.status_code
        said = self._unsecret(_message(body))[:200].rstrip(".")
        if again := passing(status, response.headers, said, self._retries.now()):
            return again
        raise HttpError(
            f"{self._name(url)} answered HTTP {status}{f': {said}' if said else ''}.",
            status=status,
            remedy=self._remedies.get(status, "Check the declaration and the base URL."),
        )

    def _name(self, url: httpx.URL) -> str:
        return self._unsecret(bare(url))

    def _unsecret(self, text: str) -> str:
        """What a server says, without the token, which it may repeat."""
        return text.replace(self._token, "…") if self._token else text


def _reply(body: bytes, scopes: str) -> Reply | Again:
    try:
        return Reply(json.loads(body), scopes)
    except (ValueError, RecursionError):
        return Again("the answer is not valid JSON")


def _message(body: bytes) -> str:
    """What the server says in its JSON `message`, made fit for one line."""
    try:
        said = json.loads(body)["message"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return " ".join(said.split()) if isinstance(said, str) else ""
