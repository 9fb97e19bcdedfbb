"""Socket Mode: events come over a websocket that the bot opens, so it needs no public address."""

from __future__ import annotations

import json
import logging
import socket
from contextlib import suppress
from functools import partial
from threading import Event
from typing import Any, cast

from slack_bolt import App
from slack_bolt.adapter.socket_mode.internals import run_bolt_app
from slack_sdk import WebClient
from slack_sdk.errors import SlackClientNotConnectedError
from slack_sdk.socket_mode.builtin import SocketModeClient
from slack_sdk.socket_mode.builtin.connection import Connection
from slack_sdk.socket_mode.client import BaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse

from lore.slackbot.slack_api.caller import SlackCaller
from lore.slackbot.slack_api.errors import log_level
from lore.slackbot.slack_api.rate_budgets import TokenBucket
from lore.slackbot.types import SlackCallError
from lore.sources.payload import as_text

__all__ = ["SocketTransport"]

log = logging.getLogger(__name__)

PING_SECONDS = 5.0
"""Interval of the connection checks."""
THREADS = 16
BUFFER_BYTES = 64 * 1024
RENEWALS_A_MINUTE, RENEWALS_AT_ONCE = 6, 5
"""Slack ends a connection every few hours. Where new ones end at once, the next is delayed."""
LOOK_SECONDS = 0.5


class SocketTransport:
    """Stays connected until it is closed. Slack redelivers unacknowledged events on any connection.

    `caller` has the app-level token. A lost connection is replaced within `ping` seconds, unless `renewals` is empty.
    """

    def __init__(
        self, app: App, caller: SlackCaller, *, ping: float = PING_SECONDS, renewals: TokenBucket | None = None
    ) -> None:
        self._app = app
        self._client = _Client(caller, ping, renewals or TokenBucket(RENEWALS_A_MINUTE, RENEWALS_AT_ONCE))
        self._client.message_listeners.append(_greeted)
        self._client.socket_mode_request_listeners.append(self._handle)

    def start(self) -> None:
        """Connect. Raises SlackCallError if Slack refuses an address."""
        self._client.connect()

    def close(self) -> None:
        """Receive nothing more, and finish what is being handled."""
        self._client.close()

    def _handle(self, client: BaseSocketModeClient, request: SocketModeRequest) -> None:
        response = run_bolt_app(self._app, request)
        if response.status != 200:
            return  # not acknowledged, so Slack redelivers it
        payload: Any = response.body or None
        if payload is not None:
            is_json = response.headers.get("content-type", [""])[0].startswith("application/json")
            payload = json.loads(payload) if is_json else {"text": payload}
        try:
            client.send_socket_mode_response(SocketModeResponse(request.envelope_id, payload))
        except SlackClientNotConnectedError:
            log.info("The connection ended before an acknowledgement; Slack redelivers the event.")


class _Client(SocketModeClient):
    """slack_sdk's client with our calls, and without its log, which holds whole messages."""

    def __init__(self, caller: SlackCaller, ping: float, renewals: TokenBucket) -> None:
        self._caller = caller
        self._renewals = renewals
        self._ended = Event()
        self._failing = False
        super().__init__(
            app_token="",
            logger=logging.Logger("lore.slackbot.socket", level=logging.CRITICAL + 1),
            web_client=WebClient(),  # for its TLS settings; never called
            ping_interval=ping,
            receive_buffer_size=BUFFER_BYTES,
            concurrency=THREADS,
        )

    def issue_new_wss_url(self) -> str:
        """Return an address to connect to. Raises SlackCallError."""
        return as_text(self._caller.call("apps.connections.open").get("url"))

    def connect(self) -> None:
        """Open a connection, then close the previous one."""
        super().connect()
        session = self.current_session
        if session is None or session.sock is None:
            self._complain()
        else:
            self._failing = False
            session.sock = cast(Any, _EofSocket(session.sock))
            cast(Any, session).close = partial(_hang_up, session)

    def _complain(self) -> None:
        """Log once that the address doesn't respond: a proxy may allow Slack's API and no websockets."""
        if not self._failing:
            log.warning("Couldn't connect to Slack's websocket; retrying.")
        self._failing = True

    def _run_current_session(self) -> None:
        """Receive until the connection ends, and replace it at once, before the monitor would."""
        was_connected = self.is_connected()
        super()._run_current_session()  # type: ignore[no-untyped-call]
        if was_connected and self.auto_reconnect_enabled and not self.is_connected():
            self.connect_to_new_endpoint()

    def connect_to_new_endpoint(self, force: bool = False) -> None:
        """Replace a connection that ended, or is about to."""
        if self.is_connected() and not force:
            return  # another thread was faster
        while not self._renewals.take():
            if self._ended.wait(LOOK_SECONDS):
                return
        log.info("Renewing the connection to Slack.")
        try:
            super().connect_to_new_endpoint(force)
        except SlackCallError as error:  # the next check retries
            log.log(log_level(error, logging.WARNING), "Couldn't connect to Slack: %s", error)

    def close(self) -> None:
        """End the connection and all threads."""
        self.closed = True
        self.auto_reconnect_enabled = False
        self._ended.set()
        self.message_queue.put(None)  # ends the thread that waits for messages
        super().close()


def _hang_up(session: Connection) -> None:
    """Close a connection at once: the receiving thread holds a lock that closing needs."""
    sock = session.sock
    if sock is not None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
    session.disconnect()


class _EofSocket:
    """A socket that raises at the end of the stream, where slack_sdk would read forever."""

    def __init__(self, inner: socket.socket) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def recv(self, size: int) -> bytes:
        """Receive bytes. Raises OSError at the end."""
        received = self._inner.recv(size)
        if not received:
            raise ConnectionResetError("Slack ended the connection.")
        return received


def _greeted(_: BaseSocketModeClient, message: dict[str, Any], __: str | None = None) -> None:
    if message.get("type") == "hello":
        log.info("Connected to Slack.")
