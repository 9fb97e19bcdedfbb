"""The payloads that Slack sends to an app: of events, interactions and slash commands, and how HTTP ones are signed."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from tests.servers.slack.app_workspace import APP, BOT_USER, DOMAIN, TEAM, Json, kind_of

EVENT_SCOPES = {
    "app_mention": "app_mentions:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "reaction_added": "reactions:read",
    "reaction_removed": "reactions:read",
    "assistant_thread_started": "assistant:write",
    "assistant_thread_context_changed": "assistant:write",
    "member_joined_channel": "channels:read",
    "member_left_channel": "channels:read",
    "user_change": "users:read",
}
"""What an app must be allowed, to be told of each event."""

MESSAGE_EVENTS = {"channel": "message.channels", "group": "message.groups", "im": "message.im", "mpim": "message.mpim"}

VERIFICATION_TOKEN = "verification-token"
_numbers = itertools.count(1)


def event_body(event: Json, *, shared: bool = False, team: str = TEAM) -> Json:
    """The body around an event."""
    number = next(_numbers)
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": TEAM,
        "context_team_id": team,
        "context_enterprise_id": None,
        "api_app_id": APP,
        "event": event,
        "type": "event_callback",
        "event_id": f"Ev{number:09d}",
        "event_time": 1_700_000_000 + number,
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM,
                "user_id": BOT_USER,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": shared,
        "event_context": f"4-{number}",
    }


def message_event(message: Mapping[str, Any], channel: Json) -> Json:
    """A `message` event of a message that was posted."""
    return {**message, "channel": channel["id"], "event_ts": message["ts"], "channel_type": kind_of(channel)}


def changed_event(change: Mapping[str, Any], channel: Json, ts: str) -> Json:
    """The event of a message that was edited, with the one before."""
    return {
        "type": "message",
        "subtype": "message_changed",
        "hidden": True,
        **change,
        "channel": channel["id"],
        "ts": ts,
        "event_ts": ts,
        "channel_type": kind_of(channel),
    }


def deleted_event(message: Mapping[str, Any], channel: Json, ts: str) -> Json:
    """The event of a message that was deleted."""
    return {
        "type": "message",
        "subtype": "message_deleted",
        "hidden": True,
        "deleted_ts": message["ts"],
        "previous_message": dict(message),
        "channel": channel["id"],
        "ts": ts,
        "event_ts": ts,
        "channel_type": kind_of(channel),
    }


def mention_event(message: Mapping[str, Any], channel: Json) -> Json:
    """The `app_mention` event that comes beside a message's own."""
    names = ("client_msg_id", "text", "user", "ts", "blocks", "team", "thread_ts", "parent_user_id", "user_team")
    names = (*names, "source_team", "user_profile", "bot_id", "subtype", "edited", "files")
    kept = {name: message[name] for name in names if name in message}
    return {"type": "app_mention", **kept, "channel": channel["id"], "event_ts": message["ts"]}


def reaction_event(kind: str, user: str, reaction: str, channel: str, message: Mapping[str, Any], ts: str) -> Json:
    """`reaction_added` or `reaction_removed`."""
    return {
        "type": kind,
        "user": user,
        "reaction": reaction,
        "item": {"type": "message", "channel": channel, "ts": message["ts"]},
        "item_user": message.get("user", ""),
        "event_ts": ts,
    }


def membership_event(kind: str, user: str, channel: Json, ts: str) -> Json:
    """`member_joined_channel` or `member_left_channel`."""
    letter = "G" if channel["is_private"] else "C"
    return {
        "type": kind, "user": user, "channel": channel["id"], "channel_type": letter, "team": TEAM, "event_ts": ts
    }  # fmt: skip


def thread_started_event(user: str, channel: str, thread_ts: str, looking_at: str) -> Json:
    """Somebody opened the assistant pane; `looking_at` is the channel beside it, if any."""
    context = {"channel_id": looking_at, "team_id": TEAM, "enterprise_id": None} if looking_at else {}
    thread = {"user_id": user, "context": context, "channel_id": channel, "thread_ts": thread_ts}
    return {"type": "assistant_thread_started", "assistant_thread": thread, "event_ts": thread_ts}


def rich_text(text: str) -> list[Json]:
    """The block that Slack makes of what a person types."""
    section = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return [{"type": "rich_text", "block_id": uuid.uuid4().hex[:5], "elements": [section]}]


def _interaction(kind: str, user: Json, trigger: str) -> Json:
    who = {"id": user["id"], "username": user["name"], "name": user["name"], "team_id": user["team_id"]}
    return {
        "type": kind,
        "user": who,
        "api_app_id": APP,
        "token": VERIFICATION_TOKEN,
        "trigger_id": trigger,
        "team": {"id": TEAM, "domain": DOMAIN},
        "enterprise": None,
        "is_enterprise_install": False,
    }


def block_actions(
    user: Json, channel: Json, message: Json, action: Json, trigger: str, response_url: str, *, ephemeral: bool = False
) -> Json:
    """Somebody pressed a button of a message."""
    container = {
        "type": "message",
        "message_ts": message["ts"],
        "channel_id": channel["id"],
        "is_ephemeral": ephemeral,
        **({"thread_ts": message["thread_ts"]} if "thread_ts" in message else {}),
    }
    return {
        **_interaction("block_actions", user, trigger),
        "container": container,
        "channel": {"id": channel["id"], "name": channel.get("name", "directmessage")},
        "message": message,
        "state": {"values": {}},
        "response_url": response_url,
        "actions": [{**action, "action_ts": message["ts"]}],
    }


def view_submission(user: Json, view: Json, values: Mapping[str, Mapping[str, Json]], trigger: str) -> Json:
    """Somebody sent a modal off; `values` are by block id and action id."""
    shown = {name: value for name, value in view.items() if name != "opened_for"}
    body = _interaction("view_submission", user, trigger)
    return {**body, "view": {**shown, "state": {"values": values}}, "response_urls": []}


def slash_command(user: Json, channel: Json, command: str, text: str, trigger: str, response_url: str) -> Json:
    """Somebody typed a slash command."""
    return {
        "token": VERIFICATION_TOKEN,
        "team_id": user["team_id"],
        "team_domain": DOMAIN,
        "channel_id": channel["id"],
        "channel_name": channel.get("name", "directmessage"),
        "user_id": user["id"],
        "user_name": user["name"],
        "command": command,
        "text": text,
        "api_app_id": APP,
        "is_enterprise_install": "false",
        "response_url": response_url,
        "trigger_id": trigger,
    }


def find_action(message: Mapping[str, Any], action_id: str, value: str = "") -> Json:
    """What pressing the element with this `action_id` sends; of feedback buttons, the one with this value."""
    for block in message.get("blocks", ()):
        elements: Sequence[Json] = block.get("elements", ()) if isinstance(block.get("elements"), list) else ()
        accessory = [block["accessory"]] if "accessory" in block else []
        for element in [*elements, *accessory]:
            if element.get("action_id") != action_id:
                continue
            action = {"action_id": action_id, "block_id": block["block_id"], "type": element["type"]}
            if element["type"] == "feedback_buttons":
                sides = [element["positive_button"], element["negative_button"]]
                side = next(one for one in sides if one["value"] == value)
                return {**action, "text": side["text"], "value": side["value"]}
            return {**action, "text": element.get("text"), "value": element.get("value", "")}
    raise LookupError(f"The message has nothing to press that is called {action_id}.")


def sign(secret: str, body: bytes, timestamp: int) -> dict[str, str]:
    """The headers by which an app knows that Slack sent a body."""
    base = b"v0:" + str(timestamp).encode() + b":" + body
    digest = hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": str(timestamp), "X-Slack-Signature": f"v0={digest}"}
