"""What people do in the small Slack, and how the app is told of it: they write, react, press, submit and join."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from typing import Any

from tests.servers.slack.app_events import (
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
from tests.servers.slack.app_http import HttpHub
from tests.servers.slack.app_methods import Methods
from tests.servers.slack.app_socket import Envelope, SocketHub
from tests.servers.slack.app_workspace import BOT, BOT_USER, TEAM, Json, Workspace, kind_of


class People:
    """The half of `SlackApp` that people are; the other half, which answers the app, has what is named here."""

    workspace: Workspace
    scopes: set[str]
    events: set[str]
    methods: Methods
    sockets: SocketHub
    http: HttpHub | None
    lock: threading.RLock
    origin: str
    changed: threading.Condition
    response_urls: dict[str, Json]

    def say(
        self, user: str, channel_id: str, text: str, *, thread_ts: str = "", send: bool = True, **more: Any
    ) -> Json:
        """A person writes a message; returns it. The app is told as Slack tells it, unless `send` is False."""
        with self.lock:
            message = self._write(user, channel_id, text, thread_ts, more)
            if send:
                for body in self.bodies_of(channel_id, message):
                    self.deliver(body)
            self.changed.notify_all()
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
            self.happened("changed", channel_id, {"message": message, "previous_message": before})

    def remove(self, channel_id: str, ts: str) -> None:
        """A person deletes a message."""
        with self.lock:
            message = self.workspace.remove(channel_id, ts)
            assert message is not None
            self.happened("deleted", channel_id, message)

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

    def deliver(self, body: Json, kind: str = "events_api") -> Envelope:
        """Send a body to the app. The same body again is what Slack's own repeats look like to it."""
        envelope = Envelope(str(uuid.uuid4()), kind, body, accepts_response=kind != "events_api")
        return self.http.send(envelope) if self.http else self.sockets.send(envelope)

    # ------------------------------------------------------------------------------------------------------ inner parts

    def _told(self, event: str) -> bool:
        return event in self.events and EVENT_SCOPES[event] in self.scopes

    def _body(self, event: Json, found: Json) -> Json:
        return event_body(event, shared=bool(found.get("is_ext_shared")))

    def happened(self, what: str, channel_id: str, message: Json) -> None:
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
        self.response_urls[path] = {"user": user, "channel": channel_id, "path": path}
        return f"{self.origin}{path}"
