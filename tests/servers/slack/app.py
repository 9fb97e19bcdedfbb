"""A small Slack for the bot: the Web API with its rules, Socket Mode and HTTP mode, and people who write and press.

    with SlackApp([channel("C1", members=["U1", "UBOT"])], [person("U1")]) as slack:
        ...  # start the bot: LORE_SLACK_BASE_URL=slack.base_url, slack.bot_token, slack.app_token
        asked = slack.say("U1", "C1", "<@UBOT> How do I deploy?")
        slack.wait(lambda: slack.answers("C1", asked["ts"]))

Built from Slack's public documentation, with the standard library alone. In HTTP mode give `http_target`, the URL of
the bot's /slack/events.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.servers.github import Fault
from tests.servers.local import LocalServer, QuietHandler, take_fault
from tests.servers.slack.app_events import EVENT_SCOPES
from tests.servers.slack.app_http import HttpHub
from tests.servers.slack.app_methods import Methods
from tests.servers.slack.app_people import People
from tests.servers.slack.app_reading import Refused
from tests.servers.slack.app_socket import Envelope, SocketHub, accept_key
from tests.servers.slack.app_workspace import (
    APP,
    BOT,
    BOT_USER,
    TEAM,
    Json,
    Workspace,
    channel,
    direct,
    group_direct,
    person,
)
from tests.servers.slack.web_api import ratelimited, refuses

__all__ = [
    "APP",
    "BOT",
    "BOT_USER",
    "SCOPES",
    "TEAM",
    "Envelope",
    "Fault",
    "SlackApp",
    "channel",
    "direct",
    "group_direct",
    "person",
    "ratelimited",
    "refuses",
]

SCOPES = frozenset(
    """app_mentions:read assistant:write channels:history channels:read chat:write commands groups:history groups:read
    im:history im:read mpim:history mpim:read reactions:read users:read""".split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Call:
    """A call of the Web API that came in; `at` is in seconds of `time.monotonic`."""

    method: str
    args: Mapping[str, Any]
    at: float
    error: str = ""


class _Handler(QuietHandler):
    api: SlackApp

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        path = urlsplit(self.path).path
        if path.startswith("/response/"):
            self.reply(200, {"Content-Type": "text/plain"}, self.api._respond(path, body), None)
        else:
            self._call(path, body)

    def do_GET(self) -> None:
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self._upgrade()
        else:
            self._call(urlsplit(self.path).path, b"")

    def _call(self, path: str, body: bytes) -> None:
        method = path.rpartition("/")[2]
        fault = take_fault(self.api.faults, self.path)
        if fault and fault.status is not None and fault.body is not None:
            with self.api.lock:
                self.api._note(Call(method, {}, time.monotonic(), f"fault {fault.status}"))
            answer: Json = {}
        else:
            answer = self.api._answer(method, self._args(body), self.headers.get("Authorization", ""))
        headers = {"Content-Type": "application/json; charset=utf-8"}
        headers["x-oauth-scopes"] = ",".join(sorted(self.api.scopes))
        self.reply(200, headers, json.dumps(answer).encode(), fault)

    def _args(self, body: bytes) -> Json:
        args: Json = dict(parse_qsl(urlsplit(self.path).query))
        if "json" in self.headers.get("Content-Type", ""):
            return args | json.loads(body or b"{}")
        return args | dict(parse_qsl(body.decode()))

    def _upgrade(self) -> None:
        ticket = dict(parse_qsl(urlsplit(self.path).query)).get("ticket", "")
        if not self.api._use_ticket(ticket):
            self.reply(408, {}, b"", None)
            return
        key = accept_key(self.headers["Sec-WebSocket-Key"])
        head = ("HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade")
        self.connection.sendall("\r\n".join((*head, f"Sec-WebSocket-Accept: {key}", "", "")).encode())
        self.close_connection = True
        self.api.sockets.serve(self.connection, self.rfile, APP)


class SlackApp(People, LocalServer):
    """One workspace with one app in it, on 127.0.0.1 while the `with` block runs.

    `scopes` are the bot token's, `events` those that the app is subscribed to. An event that is not acked within
    `ack_seconds` is sent again; Slack waits three. `faults` are met by calls of the Web API.
    """

    handler = _Handler
    root = "/api/"

    def __init__(
        self,
        channels: Iterable[Json] = (),
        users: Iterable[Json] = (),
        *,
        scopes: Iterable[str] = SCOPES,
        events: Iterable[str] = tuple(EVENT_SCOPES),
        faults: Sequence[Fault] = (),
        ack_seconds: float = 3.0,
        http_target: str = "",
        bot_token: str = "xoxb-test-bot",
        app_token: str = "xapp-test-app",
        signing_secret: str = "test-signing-secret",
    ) -> None:
        self.workspace = Workspace(channels, users)
        self.scopes = set(scopes)
        self.events = set(events)
        self.faults = list(faults)
        self.bot_token, self.app_token, self.signing_secret = bot_token, app_token, signing_secret
        self.revoked: set[str] = set()
        """Tokens that were valid once."""
        self.calls: list[Call] = []
        self.responses: list[Json] = []
        """What was sent to response URLs, with `user`, `channel`, `path`."""
        self.sockets = SocketHub(ack_seconds)
        self.http: HttpHub | None = None
        self._http_target, self._ack_seconds = http_target, ack_seconds
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.methods = Methods(self.workspace, self.scopes, self.happened)
        self._tickets: set[str] = set()
        self.response_urls: dict[str, Json] = {}

    def __enter__(self) -> Self:
        super().__enter__()
        self.sockets.start()
        if self._http_target:
            self.deliver_over_http(self._http_target)
        return self

    def __exit__(self, *details: object) -> None:
        if self.http:
            self.http.stop()
        self.sockets.stop()
        super().__exit__(*details)

    def deliver_over_http(self, url: str) -> None:
        """From now on envelopes go to this URL, and not to sockets."""
        self.http = HttpHub(url, self.signing_secret, self._ack_seconds)

    # -------------------------------------------------------------------------------------------------- deliveries

    def settle(self, seconds: float = 10.0) -> bool:
        """Wait until the app acked all, or Slack gave up; False where that does not happen in time."""
        return self.http.settle(seconds) if self.http else self.sockets.settle(seconds)

    def wait(self, condition: Callable[[], Any], seconds: float = 10.0) -> Any:
        """Wait until something is so, and return it; looked at after each call of the app. Raises TimeoutError."""
        with self.changed:
            if not (found := self.changed.wait_for(condition, seconds)):
                raise TimeoutError(f"It did not happen within {seconds:g} s. The last calls: {self.calls[-10:]}")
            return found

    # ------------------------------------------------------------------------------------------------ what can be seen

    def thread(self, channel_id: str, thread_ts: str) -> list[Json]:
        """A message and its replies, as they are now."""
        with self.lock:
            return [dict(one) for one in self.workspace.thread(channel_id, thread_ts)]

    def answers(self, channel_id: str, thread_ts: str) -> list[Json]:
        """What the bot wrote in a thread and is done with: nothing that still streams."""
        with self.lock:
            found = [one for one in self.thread(channel_id, thread_ts) if one.get("bot_id") == BOT]
            found = [one for one in found if one.get("subtype") != "assistant_app_thread"]
            return [one for one in found if one.get("streaming_state") != "in_progress"]

    def posted(self, channel_id: str) -> list[Json]:
        """Everything that the bot wrote in a conversation and that is still there, oldest first."""
        with self.lock:
            return [
                dict(one) for one in self.workspace.messages.get(channel_id, {}).values() if one.get("bot_id") == BOT
            ]

    def called(self, method: str) -> list[Call]:
        """The calls of one method so far."""
        with self.lock:
            return [call for call in self.calls if call.method == method]

    # ---------------------------------------------------------------------------------------------- what goes wrong

    def revoke(self, token: str = "") -> None:
        """A token ends; without one, both do, and every socket with them."""
        with self.lock:
            self.revoked |= {token} if token else {self.bot_token, self.app_token}
        if not token or token == self.app_token:
            self.sockets.disconnect("link_disabled")

    def end_stream(self, channel_id: str, ts: str) -> None:
        """Slack ends a stream by itself, as it does some minutes after it began."""
        with self.lock:
            self.workspace.messages[channel_id][ts]["streaming_state"] = "errored"

    # ------------------------------------------------------------------------------------------------------ inner parts

    def _respond(self, path: str, body: bytes) -> bytes:
        with self.lock:
            self.responses.append({**json.loads(body), **self.response_urls.get(path, {"path": path})})
            self.changed.notify_all()
        return b"ok"

    def _note(self, call: Call) -> None:
        self.calls.append(call)
        self.changed.notify_all()

    def _answer(self, method: str, args: Json, authorization: str) -> Json:
        token = authorization.removeprefix("Bearer ") or str(args.pop("token", ""))
        args.pop("token", None)
        args = {name: self._parsed(name, value) for name, value in args.items()}
        with self.lock:
            try:
                answer, error = self._allowed(method, args, token), ""
            except Refused as refused:
                answer, error = {"ok": False, "error": refused.code, **refused.more}, refused.code
            self._note(Call(method, args, time.monotonic(), error))
            return json.loads(json.dumps(answer))  # of this moment

    def _allowed(self, method: str, args: Json, token: str) -> Json:
        if not token:
            raise Refused("not_authed")
        if token in self.revoked:
            raise Refused("token_revoked")
        wanted = self.app_token if method == "apps.connections.open" else self.bot_token
        if token != wanted:
            raise Refused("not_allowed_token_type" if token in (self.app_token, self.bot_token) else "invalid_auth")
        if method == "apps.connections.open":
            ticket = str(uuid.uuid4())
            self._tickets.add(ticket)
            return {"ok": True, "url": f"ws://{self.host}/link/?ticket={ticket}&app_id={APP}"}
        return self.methods.answer(method, args)

    def _use_ticket(self, ticket: str) -> bool:
        with self.lock:
            known = ticket in self._tickets
            self._tickets.discard(ticket)
            return known

    @staticmethod
    def _parsed(name: str, value: Any) -> Any:
        """Forms carry objects and lists as JSON."""
        if isinstance(value, str) and name in ("blocks", "metadata", "view", "prompts", "attachments"):
            return json.loads(value)
        return value
