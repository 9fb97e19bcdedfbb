"""HTTP mode: Slack calls a public address. Each request must be signed with the app's secret, and lately."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from threading import Thread

import uvicorn
from fastapi import FastAPI, Request, Response
from slack_bolt import App, BoltResponse
from slack_bolt.adapter.starlette.handler import to_bolt_request, to_starlette_response
from slack_sdk.signature import SignatureVerifier
from starlette.concurrency import run_in_threadpool

from lore.errors import ConfigurationError
from lore.slackbot.slack_api.error_log import describe_error

__all__ = ["HttpTransport", "make_web"]

log = logging.getLogger(__name__)

PATH = "/slack/events"
HEALTH = "/healthz"
MAX_BODY = 1_000_000
"""Bytes. Slack's bodies have a few kilobytes; views come whole."""
READ_SECONDS = 5.0
"""How long a body may take to come: Slack has given up by then."""
STOP_SECONDS = 5


def make_web(app: App, signing_secret: str, *, read_seconds: float = READ_SECONDS) -> FastAPI:
    """The web app: `/slack/events` for events, interactions and commands, `/healthz` for whoever watches it.

    Without a `signing_secret` nothing is taken.
    """
    web = FastAPI(title="Lore for Slack", docs_url=None, redoc_url=None, openapi_url=None)
    verifier = SignatureVerifier(signing_secret) if signing_secret else None

    async def events(request: Request) -> Response:
        if verifier is None or not _may_be_signed(request):
            return Response(status_code=401)
        try:
            async with asyncio.timeout(read_seconds):
                body = await _read(request)
        except TimeoutError:
            return Response(status_code=408)
        if body is None:
            return Response(status_code=413)
        try:
            if not verifier.is_valid_request(body, request.headers):
                return Response(status_code=401)
        except UnicodeDecodeError:
            return Response(status_code=400)
        # Bolt is not asynchronous: it would hold up all other requests while it keeps one.
        answer = await run_in_threadpool(_dispatched, app, request, body)
        return Response(status_code=400) if answer is None else to_starlette_response(answer)

    async def health() -> dict[str, str]:
        return {"status": "ok"}

    web.add_api_route(PATH, events, methods=["POST"], response_model=None)
    web.add_api_route(HEALTH, health, methods=["GET"])
    return web


async def _read(request: Request) -> bytes | None:
    """The body; None where it is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY:
            return None
    return bytes(body)


def _dispatched(app: App, request: Request, body: bytes) -> BoltResponse | None:
    """What Bolt answers; None where it cannot take the body apart, although Slack signed it."""
    try:
        return app.dispatch(to_bolt_request(request, body))
    except Exception as error:
        log.error("Something that Slack signed cannot be read: %s", describe_error(error))
        return None


def _may_be_signed(request: Request) -> bool:
    """Whether the headers of a signature have its form: slack_sdk, which checks it, raises for others."""
    timestamp = request.headers.get("x-slack-request-timestamp", "")
    signature = request.headers.get("x-slack-signature", "")
    return bool(re.fullmatch("[0-9]{1,12}", timestamp) and re.fullmatch("v0=[0-9a-f]{64}", signature))


class HttpTransport:
    """Serves the app with uvicorn, in a thread of its own, until it is closed. Port 0 takes any free one."""

    def __init__(
        self, app: App, signing_secret: str, *, host: str, port: int, read_seconds: float = READ_SECONDS
    ) -> None:
        web = make_web(app, signing_secret, read_seconds=read_seconds)
        # The log of requests would only say that Slack called.
        config = uvicorn.Config(web, host=host, port=port, log_level="warning", access_log=False, server_header=False)
        config.timeout_graceful_shutdown = STOP_SECONDS
        self._server = uvicorn.Server(config)
        self._host, self._port = host, port
        self._sockets: list[socket.socket] = []
        self._thread = Thread(target=self._run, name="lore-slack-http", daemon=True)

    def start(self) -> None:
        """Listen. Raises ConfigurationError where the address cannot be listened on."""
        try:
            listener = socket.create_server((self._host, self._port))
        except OSError as error:
            raise ConfigurationError(
                f"Nothing can listen on {self._host}:{self._port}: {error.strerror or error}.",
                remedy="Choose another --host or --port.",
            ) from None
        self._port = listener.getsockname()[1]
        self._sockets.append(listener)
        self._thread.start()
        log.info("Listening on %s.", self.url)

    @property
    def url(self) -> str:
        """Where Slack's requests are expected, seen from this machine."""
        return f"http://{self._host}:{self._port}{PATH}"

    def close(self) -> None:
        """Take no more requests; those that are being answered are answered."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS + 1)

    def _run(self) -> None:
        self._server.run(sockets=self._sockets)
