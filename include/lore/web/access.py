"""Guards of the application: hosts, origins, sizes, rates, and the headers of every response."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from secrets import token_urlsafe
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fastapi import Request
from starlette.responses import JSONResponse, Response

from lore.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["HEADERS", "BodyLimit", "Guard", "RateLimit", "allowed_sites", "check_address", "reader_of"]

MAX_BODY = 64 * 1024
"""Bytes: a question with a long conversation has less."""
MAX_CHAT_BODY = 1024 * 1024
"""Bytes of a request below /v1: chat clients send their whole conversation, with prompts of their own."""
READ_SECONDS = 10.0
WINDOW_MINUTES = 10
READER = "lore_reader"
READER_SECONDS = 365 * 86_400
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
FRAMED_HEADERS = HEADERS | {
    "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace(
        "frame-ancestors 'none'", "frame-ancestors 'self'"
    )
}
"""For an application whose pages are shown in frames of its own origin."""
_ORIGIN = re.compile(r"https?://[\w.-]+(:\d{1,5})?/?", re.ASCII | re.IGNORECASE)
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Return True for a name or address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(host: str, *, public: bool, identified: bool) -> None:
    """Raise ConfigurationError for an address that others reach, unless all may ask or callers are `identified`."""
    if not public and not identified and not is_loopback(host):
        raise ConfigurationError(
            f"Others can reach {host}, and nobody would be asked who they are.",
            remedy="Declare a login in access.yaml, add --keys to answer only who sends a key of `lore keys create`, "
            "or add --public if everybody who reaches this address may read all public sources.",
        )


def allowed_sites(value: str) -> tuple[str, ...]:
    """Return the origins in a list separated by commas, as browsers name them.

    Raises ConfigurationError for anything else: an address of a page, or a sign for any site.
    """
    given = tuple(filter(None, map(str.strip, value.split(","))))
    for site in given:
        if not _ORIGIN.fullmatch(site):
            raise ConfigurationError(
                f"{site!r} in LORE_WEB_SITES is no origin of a site.",
                remedy="Give scheme, host and, if it isn't the usual one, port: https://www.example.com",
            )
    return tuple(site.lower().rstrip("/") for site in given)


def refusal(status: int, message: str, remedy: str = "", headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Return an error in the form of all errors."""
    error = {"message": message, "remedy": remedy, "retry": status in (429, 503)}
    return JSONResponse({"error": error}, status, headers=dict(headers or {}))


def _host_of(value: str) -> str:
    return (urlsplit(f"//{value}").hostname or "") if value else ""


class Guard:
    """Refuses other hosts' names (DNS rebinding) and requests that other sites' pages send; adds the headers.

    `hosts` are the names by which the application is called; empty accepts any. `sites` are the origins of other sites
    whose pages may send requests. `framed` lets pages of the application's own origin show it in a frame.
    """

    def __init__(
        self, app: ASGIApp, hosts: tuple[str, ...], sites: tuple[str, ...] = (), *, framed: bool = False
    ) -> None:
        self._app = app
        self._headers = FRAMED_HEADERS if framed else HEADERS
        self._hosts = hosts
        self._sites = sites

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        if found := self._refused(request):
            await found(scope, receive, _with_headers(send, self._headers))
            return
        await self._app(scope, receive, _with_headers(send, self._headers))

    def _refused(self, request: Request) -> Response | None:
        try:
            host = _host_of(request.headers.get("host", ""))
            origin = request.headers.get("origin")
            sender = None if origin is None else urlsplit(origin).netloc
        except ValueError:
            return refusal(400, "The request's headers are invalid.")
        if self._hosts and host not in self._hosts:
            return refusal(421, "This address is not served under that name.", "Use the address that lore serve shows.")
        if request.method in ("GET", "HEAD"):
            return None
        foreign = request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
        foreign = foreign or sender not in (None, request.headers.get("host"))  # "null" has no host
        if foreign and origin not in self._sites:
            return refusal(403, "Another site sent this request.", "Send it from this server's own page.")
        if request.method == "DELETE":  # has no body
            return None
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return refusal(415, "The body isn't JSON.", "Send Content-Type: application/json.")
        return None


def _with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message["headers"]}
            added = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
            message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in own)]
        await send(message)

    return sending


async def _read(receive: Receive, most: int) -> bytes | None:
    """Return the body, or what arrived of it before its sender left; None if it is too large."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            return None
    return body


class BodyLimit:
    """Refuses a body that is too large, also one that doesn't announce its size, or that takes too long."""

    def __init__(self, app: ASGIApp, seconds: float = READ_SECONDS) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD"):
            await self._app(scope, receive, send)
            return
        most = MAX_CHAT_BODY if scope["path"].removeprefix(scope.get("root_path", "")).startswith("/v1/") else MAX_BODY
        try:
            async with asyncio.timeout(self._seconds):
                body = await _read(receive, most)
        except TimeoutError:
            await refusal(408, "The body didn't arrive in time.")(scope, receive, send)
            return
        if body is None:
            large = refusal(413, f"The body is larger than {most:,} bytes.", "Ask a shorter question.")
            await large(scope, receive, send)
            return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, replay, send)


class RateLimit:
    """Counts the questions of each sender in a moving window of ten minutes."""

    def __init__(self) -> None:
        from limits.storage import MemoryStorage
        from limits.strategies import MovingWindowRateLimiter

        self._window = MovingWindowRateLimiter(MemoryStorage())

    def seconds_to_wait(self, sender: str, rate: int) -> int:
        """Count a question of a sender, who may ask `rate` (0: any number) in ten minutes.

        Returns 0, or the seconds until the next is allowed.
        """
        from time import time

        from limits import RateLimitItemPerMinute

        if not rate:
            return 0
        limit = RateLimitItemPerMinute(rate, WINDOW_MINUTES)
        if self._window.hit(limit, sender):
            return 0
        return max(1, round(self._window.get_window_stats(limit, sender).reset_time - time()))


def reader_of(request: Request, response: Response) -> str:
    """Return the pseudonymous id of the browser that asks; a new one gets a cookie."""
    known = request.cookies.get(READER, "")
    reader = known if 16 <= len(known) <= 64 and known.isascii() else token_urlsafe(24)
    if reader != known:
        response.set_cookie(
            READER,
            reader,
            max_age=READER_SECONDS,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
            path=request.scope.get("root_path") or "/",
        )
    return f"web:{reader}"
