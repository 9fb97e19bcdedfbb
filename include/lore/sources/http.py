"""Asking one web API for JSON: conditional calls, secrets that stay secret, and errors read by who knows the API."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias
from urllib.request import getproxies, proxy_bypass

import httpx

from lore.errors import ConfigurationError, SourceError
from lore.sources.addresses import Origin, display_url, join, origin_of, parse
from lore.sources.bodies import read_body, retry_for_error
from lore.sources.retries import DEFAULT_LIMIT_WAIT, Retry, RetryPolicy, retry_after, retry_for_status

__all__ = ["Explain", "HttpError", "JsonApi", "JsonResponse", "Secrets", "secrets_for"]

MAX_REDIRECTS = 5
MAX_MESSAGE = 200
SHORTEST_SECRET = 8
"""Characters of a secret that is hidden where it stands without its scheme: a shorter word may be any."""
MAX_NAME = 120
"""Characters of an address in an error."""

Explain: TypeAlias = Callable[[int, Any], "Retry | str"]
"""What an answer that is no success says, from its status and its JSON (None where it has none): to try again later,
or words for a person.
"""


class HttpError(SourceError):
    """The server answered with a status that repeating does not help against."""

    def __init__(self, message: str, *, status: int, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


@dataclass(frozen=True, slots=True)
class Secrets:
    """What authorizes a call: headers and query parameters, which reach the server and neither a log nor an error."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str] = field(default_factory=dict, repr=False)

    def hide(self, text: str) -> str:
        """The text without what is secret, which a server may repeat."""
        for secret in (*self.headers.values(), *self.params.values()):
            text = text.replace(secret, "…") if secret else text
            credentials = secret.rpartition(" ")[2]  # what follows a scheme such as "Bearer"
            text = text.replace(credentials, "…") if len(credentials) >= SHORTEST_SECRET else text
        return text


@dataclass(frozen=True, slots=True)
class JsonResponse:
    """Decoded JSON, None where nothing changed (HTTP 304). `headers` have names in lower case, `url` answered."""

    url: str
    data: Any
    headers: Mapping[str, str]
    unchanged: bool = False

    def link(self, relation: str) -> str:
        """The address that the `Link` header gives for a relation such as "next", or ""."""
        links = httpx.Response(200, headers={"link": self.headers.get("link", "")}).links
        reference = links.get(relation, {}).get("url", "")
        return join(self.url, reference) if reference else ""


class JsonApi:
    """GET from the server of `base_url` and no other: a redirect elsewhere is refused before anything is sent there.

    `timeout` limits one call from start to last byte, in seconds, and `max_bytes` its unpacked body. What fails for
    the moment is repeated as `retries` says. `explain` reads the API's own errors, `remedies` says what to do about a
    status.
    """

    def __init__(
        self,
        base_url: str,
        *,
        secrets: Secrets | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        retries: RetryPolicy | None = None,
        max_bytes: int = 64 * 1024 * 1024,
        explain: Explain | None = None,
        remedies: Mapping[int, str] | None = None,
    ) -> None:
        origin = origin_of(base_url)
        if origin is None:
            raise ConfigurationError(f"{base_url!r} is no web address.", remedy="Correct it: https://…")
        self._base_url, self._origin = base_url.rstrip("/"), origin
        self._secrets = secrets or Secrets()
        for name, value in {**self._secrets.headers, **self._secrets.params}.items():
            if not re.fullmatch(r"[\x20-\x7e]*", value) or value != value.strip():
                raise ConfigurationError(f"The secret {name} holds characters that none has.", remedy="Set it anew.")
        self._timeout, self._max_bytes = timeout, max_bytes
        self._retries = retries or RetryPolicy()
        self._explain = explain or _message
        self._remedies = remedies or {}
        self._client = httpx.Client(
            transport=_SecretParamsTransport(origin, self._secrets.params),
            timeout=timeout,
            headers={"User-Agent": "lore", "Accept": "application/json", **(headers or {}), **self._secrets.headers},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(
        self,
        url: str,
        params: Mapping[str, str | int | Sequence[int]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonResponse:
        """One JSON document; `url` is a path below the base URL or an absolute address of the same server.

        Raises HttpError for a status that stays, UnreachableError (retryable) when the repeats are used up.
        """
        target = parse(self._base_url + url if url.startswith("/") or not url else url)
        if params:
            target = target.copy_merge_params(params)
        return self._retries.call(self._name(target), lambda: self._follow(target, headers or {}))

    def _follow(self, url: httpx.URL, headers: Mapping[str, str]) -> JsonResponse | Retry:
        for _ in range(MAX_REDIRECTS + 1):
            if origin_of(str(url)) != self._origin:
                raise SourceError(
                    self._secrets.hide(f"{self._base_url} points to another server, {url.scheme}://{url.host}."),
                    remedy="Nothing was sent there. Declare the address of the server that holds the data.",
                )
            outcome = self._once(url, headers)
            if not isinstance(outcome, httpx.URL):
                return outcome
            url = outcome
        raise SourceError(f"{self._name(url)} redirects in a circle.", remedy="Check the address.")

    def _once(self, url: httpx.URL, headers: Mapping[str, str]) -> JsonResponse | Retry | httpx.URL:
        deadline = time.monotonic() + self._timeout
        try:
            with self._client.stream("GET", url, headers=headers) as response:
                body = read_body(response, most=self._max_bytes, deadline=deadline)
        except httpx.HTTPError as error:  # also a body that is not what its headers say
            return Retry(self._secrets.hide(retry_for_error(error, self._timeout).reason))
        if body is None:
            raise SourceError(
                f"{self._name(url)} sends more than {self._max_bytes:,} bytes.",
                remedy="Ask for smaller pages, or narrow the declaration.",
            )
        if response.has_redirect_location:
            return parse(join(str(url), response.headers["location"]))
        return self._judge(url, response, body)

    def _judge(self, url: httpx.URL, response: httpx.Response, body: bytes) -> JsonResponse | Retry:
        status, found = response.status_code, {key.lower(): value for key, value in response.headers.items()}
        if status == 304:
            return JsonResponse(str(url), None, found, unchanged=True)
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            data = None
            if response.is_success:
                return Retry("the answer is not valid JSON")
        if response.is_success:
            return JsonResponse(str(url), data, found)
        return self._refused(url, status, found, self._explain(status, data))

    def _refused(self, url: httpx.URL, status: int, headers: Mapping[str, str], said: Retry | str) -> Retry:
        words = self._secrets.hide(said.reason if isinstance(said, Retry) else said)[:MAX_MESSAGE].rstrip(". ")
        reason = f"HTTP {status}{f' ({words})' if words else ''}"
        if isinstance(said, Retry):
            asked = [retry_after(headers.get("retry-after"), self._retries.now()), said.seconds]
            default = DEFAULT_LIMIT_WAIT if status == 429 else None
            return Retry(reason, max((seconds for seconds in asked if seconds is not None), default=default))
        if again := retry_for_status(status, headers, words, self._retries.now()):
            return again
        raise HttpError(
            f"{self._name(url)} answered {reason}.",
            status=status,
            remedy=self._remedies.get(status, "Check the declaration and the address."),
        )

    def _name(self, url: httpx.URL) -> str:
        """The address as errors show it, cut where it is long."""
        name = self._secrets.hide(display_url(url))
        return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…"


class _SecretParamsTransport(httpx.BaseTransport):
    """Adds the secret parameters on the way out, after httpx took the address for its log."""

    def __init__(self, origin: Origin, params: Mapping[str, str]) -> None:
        scheme, host, _ = origin
        self._params = dict(params)
        self._inner = httpx.HTTPTransport(proxy=None if proxy_bypass(host) else getproxies().get(scheme))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url.copy_merge_params(self._params) if self._params else request.url
        sent = httpx.Request(
            request.method, url, headers=request.headers, stream=request.stream, extensions=request.extensions
        )
        return self._inner.handle_request(sent)

    def close(self) -> None:
        self._inner.close()


def _message(status: int, data: Any) -> str:
    """What most APIs say in a field of this name, made fit for one line."""
    for name in ("message", "error", "detail", "title"):
        said = data.get(name) if isinstance(data, dict) else None
        if isinstance(said, str):
            return " ".join(said.split())
    return ""


def secrets_for(url: str, configured: str | None) -> Secrets:
    """The headers that LORE_API_HEADERS (`configured`) has for the server of a URL: a JSON object of servers.

    It may hold secrets, so that the ConfigurationError for a wrong one does not repeat it.
    """
    try:
        servers = json.loads(configured or "{}")
        known = {origin_of(server): dict(headers) for server, headers in servers.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        known = {None: {}}
    if None in known or not all(isinstance(value, str) for headers in known.values() for value in headers.values()):
        raise ConfigurationError(
            "LORE_API_HEADERS is not a JSON object of servers with their headers.",
            remedy='Write it as {"https://HOST": {"Name": "value"}}.',
        )
    return Secrets(headers=known.get(origin_of(url), {}))
