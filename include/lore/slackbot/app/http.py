"""HTTP mode: Slack calls a public address. Each request needs a recent signature by the app's secret."""

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
"""Bytes. Slack's bodies have a few kilobytes, with views more."""
READ_SECONDS = 5.0
"""Time for a body to arrive: Slack has given up by then."""
STOP_SECONDS = 5


def make_web(app: App, signing_secret: str, *, read_seconds: float = READ_SECONDS) -> FastAPI:
    """Return the web app: `/slack/events` for events, interactions and commands, `/healthz` for monitoring.

    Without a `signing_secret`, it accepts nothing.
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
        # Bolt is synchronous: it would delay all other requests.
        answer = await run_in_threadpool(_dispatched, app, request, body)
        return Response(status_code=400) if answer is None else to_starlette_response(answer)

    async def health() -> dict[str, str]:
        return {"status": "ok"}

    web.add_api_route(PATH, events, methods=["POST"], response_model=None)
    web.add_api_route(HEALTH, health, methods=["GET"])
    return web


async def _read(request: Request) -> bytes | None:
    """Return the body; None if it is too large."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY:
            return None
    return bytes(body)


def _dispatched(app: App, request: Request, body: bytes) -> BoltResponse | None:
    """Return Bolt's response; None for a signed body that it can't read."""
    try:
        return app.dispatch(to_bolt_request(request, body))
    except Exception as error:
        log.error("Couldn't read a signed request: %s", describe_error(error))
        return None


def _may_be_signed(request: Request) -> bool:
    """Return True if the headers have the form of a signature: slack_sdk raises for others."""
    timestamp = request.headers.get("x-slack-request-timestamp", "")
    signature = request.headers.get("x-slack-signature", "")
    return bool(re.fullmatch("[0-9]{1,12}", timestamp) and re.fullmatch("v0=[0-9a-f]{64}", signature))


class HttpTransport:
    """Serves the app with uvicorn, in a thread of its own, until it is closed. Port 0 takes a free one."""

    def __init__(
        self, app: App, signing_secret: str, *, host: str, port: int, read_seconds: float = READ_SECONDS
    ) -> None:
        web = make_web(app, signing_secret, read_seconds=read_seconds)
        config = uvicorn.Config(web, host=host, port=port, log_level="warning", access_log=False, server_header=False)
        config.timeout_graceful_shutdown = STOP_SECONDS
        self._server = uvicorn.Server(config)
        self._host, self._port = host, port
        self._sockets: list[socket.socket] = []
        self._thread = Thread(target=self._run, name="lore-slack-http", daemon=True)

    def start(self) -> None:
        """Listen. Raises ConfigurationError if the address isn't available."""
        try:
            listener = socket.create_server((self._host, self._port))
        except OSError as error:
            raise ConfigurationError(
                f"Can't listen on {self._host}:{self._port}: {error.strerror or error}.",
                remedy="Choose another --host or --port.",
            ) from None
        self._port = listener.getsockname()[1]
        self._sockets.append(listener)
        self._thread.start()
        log.info("Listening on %s.", self.url)

    @property
    def url(self) -> str:
        """The address for Slack's requests, as seen from this machine."""
        return f"http://{self._host}:{self._port}{PATH}"

    def close(self) -> None:
        """Take no more requests, and finish current ones."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS + 1)

    def _run(self) -> None:
        self._server.run(sockets=self._sockets)
