"""A client for JSON APIs: conditional calls, hidden secrets, and errors explained by each API's own rules."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias
from urllib.request import getproxies, proxy_bypass

import httpx

from lore.errors import ConfigurationError
from lore.sources.http.addresses import Origin, join_url, origin_of
from lore.sources.http.client import Call, HttpError, ServiceClient
from lore.sources.http.retries import DEFAULT_LIMIT_WAIT, Retry, RetryPolicy, retry_after, retry_for_status

__all__ = ["Explain", "JsonClient", "JsonResponse", "Secrets", "secrets_for"]

MAX_MESSAGE = 200
MIN_SECRET = 8
"""Shortest credential, in characters, that is also hidden without its scheme: a shorter word may be ordinary text."""

Explain: TypeAlias = Callable[[int, Any], "Retry | str"]
"""Reads a refusal's status and JSON (None if invalid); returns a retry, or the server's message."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Headers and query parameters that authorize a call; they reach the server, but no log and no error."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str] = field(default_factory=dict, repr=False)

    def hide(self, text: str) -> str:
        """Return the text without the secrets, which a server may repeat."""
        for secret in (*self.headers.values(), *self.params.values()):
            text = text.replace(secret, "…") if secret else text
            credentials = secret.rpartition(" ")[2]  # after a scheme such as "Bearer"
            text = text.replace(credentials, "…") if len(credentials) >= MIN_SECRET else text
        return text


@dataclass(frozen=True, slots=True)
class JsonResponse:
    """Decoded JSON from `url`, None if `unchanged` (HTTP 304). Names in `headers` are lower case."""

    url: str
    data: Any
    headers: Mapping[str, str]
    unchanged: bool = False

    def link(self, relation: str) -> str:
        """Return the `Link` header's address for a relation such as "next", or ""."""
        links = httpx.Response(200, headers={"link": self.headers.get("link", "")}).links
        reference = links.get(relation, {}).get("url", "")
        return join_url(self.url, reference) if reference else ""


class JsonClient:
    """GET calls to the server of `base_url`, limited to `timeout` seconds and `max_bytes` decompressed bytes each.

    `explain` reads the API's own errors; `remedies` maps a status to advice. Raises ConfigurationError for an invalid
    address or secret.
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
            raise ConfigurationError(f"{base_url!r} is not a web address.", remedy="Correct it: https://…")
        self._secrets = secrets or Secrets()
        for name, value in {**self._secrets.headers, **self._secrets.params}.items():
            if not re.fullmatch(r"[\x20-\x7e]*", value) or value != value.strip():
                raise ConfigurationError(f"The secret {name} contains invalid characters.", remedy="Set it again.")
        self._retries = retries or RetryPolicy()
        self._explain = explain or _message
        self._remedies = remedies or {}
        client = httpx.Client(
            transport=_SecretParamsTransport(origin, self._secrets.params),
            timeout=timeout,
            headers={"User-Agent": "lore", "Accept": "application/json", **(headers or {})},
        )
        self._client = ServiceClient(
            client,
            base_url,
            retries=self._retries,
            timeout=timeout,
            max_bytes=max_bytes,
            authorize=lambda: self._secrets.headers,
            hide=self._secrets.hide,
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
        """Return one JSON document; `url` is a path below the base URL, or an address on the same server.

        Raises HttpError for a refusal, and UnreachableError (retryable) when all retries failed.
        """
        call = Call(self._client.url(url, params), headers=headers or {})
        return self._client.send(call, self._read)

    def _read(self, response: httpx.Response) -> JsonResponse | Retry:
        url, status, body = response.url, response.status_code, self._client.body(response)
        headers = {key.lower(): value for key, value in response.headers.items()}
        if status == httpx.codes.NOT_MODIFIED:
            return JsonResponse(str(url), None, headers, unchanged=True)
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            data = None
            if response.is_success:
                return Retry("the response is not valid JSON")
        if response.is_success:
            return JsonResponse(str(url), data, headers)
        return self._refused(url, status, headers, self._explain(status, data))

    def _refused(self, url: httpx.URL, status: int, headers: Mapping[str, str], explained: Retry | str) -> Retry:
        message = explained.reason if isinstance(explained, Retry) else explained
        message = self._secrets.hide(message)[:MAX_MESSAGE].rstrip(". ")
        reason = f"HTTP {status}{f' ({message})' if message else ''}"
        if isinstance(explained, Retry):
            waits = [retry_after(headers.get("retry-after"), self._retries.now()), explained.seconds]
            default = DEFAULT_LIMIT_WAIT if status == httpx.codes.TOO_MANY_REQUESTS else None
            return Retry(reason, max((seconds for seconds in waits if seconds is not None), default=default))
        if retry := retry_for_status(status, headers, message, self._retries.now()):
            return retry
        raise HttpError(
            f"{self._client.name(url)} answered {reason}.",
            status=status,
            remedy=self._remedies.get(status, "Check the declaration and the address."),
        )


class _SecretParamsTransport(httpx.BaseTransport):
    """Adds secret query parameters after httpx has logged the address."""

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
    """Return the error message in one line, from the fields in which most APIs have it."""
    for name in ("message", "error", "detail", "title"):
        message = data.get(name) if isinstance(data, dict) else None
        if isinstance(message, str):
            return " ".join(message.split())
    return ""


def secrets_for(url: str, configured: str | None) -> Secrets:
    """Return the headers that LORE_API_HEADERS (`configured`), a JSON object by server, has for a URL's server.

    Raises ConfigurationError, which doesn't repeat the value, for invalid JSON.
    """
    try:
        servers = json.loads(configured or "{}")
        headers_by_origin = {origin_of(server): dict(headers) for server, headers in servers.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        headers_by_origin = {None: {}}
    values = [value for headers in headers_by_origin.values() for value in headers.values()]
    if None in headers_by_origin or not all(isinstance(value, str) for value in values):
        raise ConfigurationError(
            "LORE_API_HEADERS is not a JSON object of servers with their headers.",
            remedy='Write it as {"https://HOST": {"Name": "value"}}.',
        )
    return Secrets(headers=headers_by_origin.get(origin_of(url), {}))
