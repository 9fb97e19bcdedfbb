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
from tests.servers.slack import ratelimited, refuses
from tests.servers.slack_app_events import (
    EVENT_SCOPES,
    MESSAGE_EVENTS,
    block_actions,
    changed_event,
    deleted_event,
    event_body,
    find_action,
    membership_event,
    mention_event,
    message_event,
    reaction_event,
    rich_text,
    slash_command,
    thread_started_event,
    view_submission,
)
from tests.servers.slack_app_http import HttpHub
from tests.servers.slack_app_methods import Methods, Refused
from tests.servers.slack_app_socket import Envelope, SocketHub, accept_key
from tests.servers.slack_app_workspace import (
    APP,
    BOT,
    BOT_USER,
    TEAM,
    Json,
    Workspace,
    channel,
    direct,
    group_direct,
    kind_of,
    person,
)

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


class SlackApp(LocalServer):
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
        self._changed = threading.Condition(self.lock)
        self.methods = Methods(self.workspace, self.scopes, self._happened)
        self._tickets: set[str] = set()
        self._response_urls: dict[str, Json] = {}

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

    # ------------------------------------------------------------------------------------------------- what people do

    def say(
        self, user: str, channel_id: str, text: str, *, thread_ts: str = "", send: bool = True, **more: Any
    ) -> Json:
        """A person writes a message; returns it. The app is told as Slack tells it, unless `send` is False."""
        with self.lock:
            message = self._write(user, channel_id, text, thread_ts, more)
            if send:
                for body in self.bodies_of(channel_id, message):
                    self.deliver(body)
            self._changed.notify_all()
        return message

    def _write(self, user: str, channel_id: str, text: str, thread_ts: str, more: Mapping[str, Any]) -> Json:
        team = self.workspace.users[user]["team_id"]
        message: Json = {
            "type": "message",
            "user": user,
            "text": text,
            "client_msg_id": str(uuid.uuid4()),
            "team": team,
        }
        message["blocks"] = rich_text(text)
        if team != TEAM:
            message |= {"user_team": team, "source_team": team}
        if thread_ts:
            message["thread_ts"] = thread_ts
        return self.workspace.add(channel_id, message | more)

    def bodies_of(self, channel_id: str, message: Json) -> list[Json]:
        """The bodies that Slack sends for a message: its own event, and a mention's where it mentions the bot."""
        found = self.workspace.channels[channel_id]
        if BOT_USER not in found["members"]:
            return []
        bodies = []
        if f"<@{BOT_USER}>" in message.get("text", "") and not found["is_im"] and self._told("app_mention"):
            bodies.append(self._body(mention_event(message, found), found))
        if self._told(MESSAGE_EVENTS[kind_of(found)]):
            bodies.append(self._body(message_event(message, found), found))
        return bodies

    def edit(self, channel_id: str, ts: str, text: str) -> None:
        """A person changes what they wrote."""
        with self.lock:
            message = self.workspace.messages[channel_id][ts]
            before = dict(message)
            message |= {"text": text, "edited": {"user": message["user"], "ts": self.workspace.next_ts()}}
            self._happened("changed", channel_id, {"message": message, "previous_message": before})

    def remove(self, channel_id: str, ts: str) -> None:
        """A person deletes a message."""
        with self.lock:
            message = self.workspace.remove(channel_id, ts)
            assert message is not None
            self._happened("deleted", channel_id, message)

    def react(self, user: str, channel_id: str, ts: str, reaction: str, *, removed: bool = False) -> Envelope | None:
        """A person adds a reaction to a message, or takes it back."""
        kind = "reaction_removed" if removed else "reaction_added"
        with self.lock:
            message = self.workspace.messages[channel_id][ts]
            if not self._told(kind):
                return None
            event = reaction_event(kind, user, reaction, channel_id, message, self.workspace.next_ts())
            return self.deliver(self._body(event, self.workspace.channels[channel_id]))

    def join(self, user: str, channel_id: str) -> None:
        """A person joins a channel."""
        self._moved("member_joined_channel", user, channel_id)

    def leave(self, user: str, channel_id: str) -> None:
        """A person leaves a channel."""
        self._moved("member_left_channel", user, channel_id)

    def _moved(self, kind: str, user: str, channel_id: str) -> None:
        with self.lock:
            found = self.workspace.channels[channel_id]
            kept = [one for one in found["members"] if one != user]
            found["members"] = [*kept, user] if kind == "member_joined_channel" else kept
            if self._told(kind) and BOT_USER in found["members"]:
                self.deliver(self._body(membership_event(kind, user, found, self.workspace.next_ts()), found))

    def open_assistant(self, user: str, *, looking_at: str = "") -> tuple[str, str]:
        """A person opens the assistant pane; returns the channel and the ts of its new thread."""
        with self.lock:
            found = self.workspace.direct_with(user)
            root = {"user": BOT_USER, "bot_id": BOT, "text": "New Assistant Thread", "subtype": "assistant_app_thread"}
            root = self.workspace.add(found["id"], root)
            root["thread_ts"] = root["ts"]
            if self._told("assistant_thread_started"):
                event = thread_started_event(user, found["id"], root["ts"], looking_at)
                self.deliver(self._body(event, found))
        return found["id"], root["ts"]

    def press(self, user: str, channel_id: str, ts: str, action_id: str, value: str = "") -> Envelope:
        """A person presses a button of a message; of feedback buttons, the one with this value."""
        with self.lock:
            message = self.workspace.messages[channel_id][ts]
            place = self.workspace.channels[channel_id]
            action = find_action(message, action_id, value)
            trigger, url = self._trigger(user), self._response_url(user, channel_id)
            return self.deliver(
                block_actions(self.workspace.users[user], place, message, action, trigger, url), "interactive"
            )

    def submit(self, view: Json, values: Mapping[str, Mapping[str, Json]], user: str = "") -> Envelope:
        """A person sends a modal off that was opened for them; `values` are by block id and action id."""
        with self.lock:
            user = user or view["opened_for"]
            body = view_submission(self.workspace.users[user], view, values, self._trigger(user))
            return self.deliver(body, "interactive")

    def command(self, user: str, channel_id: str, text: str, *, command: str = "/lore") -> Envelope:
        """A person types a slash command."""
        with self.lock:
            place = self.workspace.channels[channel_id]
            trigger, url = self._trigger(user), self._response_url(user, channel_id)
            body = slash_command(self.workspace.users[user], place, command, text, trigger, url)
            return self.deliver(body, "slash_commands")

    # -------------------------------------------------------------------------------------------------- deliveries

    def deliver(self, body: Json, kind: str = "events_api") -> Envelope:
        """Send a body to the app. The same body again is what Slack's own repeats look like to it."""
        envelope = Envelope(str(uuid.uuid4()), kind, body, accepts_response=kind != "events_api")
        return self.http.send(envelope) if self.http else self.sockets.send(envelope)

    def settle(self, seconds: float = 10.0) -> bool:
        """Wait until the app acked all, or Slack gave up; False where that does not happen in time."""
        return self.http.settle(seconds) if self.http else self.sockets.settle(seconds)

    def wait(self, condition: Callable[[], Any], seconds: float = 10.0) -> Any:
        """Wait until something is so, and return it; looked at after each call of the app. Raises TimeoutError."""
        with self._changed:
            if not (found := self._changed.wait_for(condition, seconds)):
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

    def _told(self, event: str) -> bool:
        return event in self.events and EVENT_SCOPES[event] in self.scopes

    def _body(self, event: Json, found: Json) -> Json:
        return event_body(event, shared=bool(found.get("is_ext_shared")))

    def _happened(self, what: str, channel_id: str, message: Json) -> None:
        """Slack tells an app of its own messages too."""
        found = self.workspace.channels[channel_id]
        if BOT_USER not in found["members"] or not self._told(MESSAGE_EVENTS[kind_of(found)]):
            return
        if what == "added" and "streaming_state" not in message:
            self.deliver(self._body(message_event(dict(message), found), found))
        elif what == "changed":
            self.deliver(self._body(changed_event(message, found, self.workspace.next_ts()), found))
        elif what == "deleted":
            self.deliver(self._body(deleted_event(message, found, self.workspace.next_ts()), found))

    def _trigger(self, user: str) -> str:
        trigger = self.workspace.next_id("trigger.")
        self.methods.triggers[trigger] = user
        return trigger

    def _response_url(self, user: str, channel_id: str) -> str:
        path = f"/response/{self.workspace.next_id('R')}"
        self._response_urls[path] = {"user": user, "channel": channel_id, "path": path}
        return f"{self.origin}{path}"

    def _respond(self, path: str, body: bytes) -> bytes:
        with self.lock:
            self.responses.append({**json.loads(body), **self._response_urls.get(path, {"path": path})})
            self._changed.notify_all()
        return b"ok"

    def _note(self, call: Call) -> None:
        self.calls.append(call)
        self._changed.notify_all()

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
