"""The workspace behind the small Slack of the bot's tests: people, channels, and messages with their threads."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]

TEAM, APP, BOT_USER, BOT = "T1", "A1", "UBOT", "BBOT"
DOMAIN = "acme"


def person(
    user: str,
    name: str = "",
    *,
    team: str = TEAM,
    guest: bool = False,
    single_channel_guest: bool = False,
    stranger: bool = False,
    bot: bool = False,
    deleted: bool = False,
) -> Json:
    """A user as `users.info` shows one. A guest is restricted; one of another workspace has another `team`."""
    name = name or user.lower()
    return {
        "id": user,
        "team_id": team,
        "name": name,
        "deleted": deleted,
        "real_name": name.title(),
        "tz": "Europe/Amsterdam",
        "profile": {"display_name": name, "real_name": name.title(), "team": team},
        "is_admin": False,
        "is_bot": bot,
        "is_app_user": False,
        "is_restricted": guest or single_channel_guest,
        "is_ultra_restricted": single_channel_guest,
        **({"is_stranger": True} if stranger else {}),
    }


def channel(
    channel_id: str,
    name: str = "",
    *,
    members: Iterable[str] = (),
    private: bool = False,
    shared: bool = False,
    archived: bool = False,
) -> Json:
    """A channel as `conversations.info` shows one, with its members. `shared` is by Slack Connect."""
    return {
        "id": channel_id,
        "name": name or channel_id.lower(),
        "is_channel": True,
        "is_group": False,
        "is_im": False,
        "is_mpim": False,
        "is_private": private,
        "is_archived": archived,
        "is_general": False,
        "is_shared": shared,
        "is_ext_shared": shared,
        "is_org_shared": False,
        "is_pending_ext_shared": False,
        "context_team_id": TEAM,
        "creator": "U0",
        "members": list(members),
    }


def direct(channel_id: str, user: str) -> Json:
    """The direct messages of a person and the bot."""
    return {
        "id": channel_id,
        "is_channel": False,
        "is_group": False,
        "is_im": True,
        "is_mpim": False,
        "is_private": True,
        "is_archived": False,
        "is_org_shared": False,
        "context_team_id": TEAM,
        "user": user,
        "members": [user, BOT_USER],
    }


def group_direct(channel_id: str, *users: str) -> Json:
    """The direct messages of several people and the bot."""
    return {
        **direct(channel_id, users[0]),
        "name": f"mpdm-{'--'.join(user.lower() for user in users)}-1",
        "is_im": False,
        "is_mpim": True,
        "is_group": True,
        "members": [*users, BOT_USER],
    }


def kind_of(found: Mapping[str, Any]) -> str:
    """Which of Slack's four kinds of conversation it is, as events and scopes name it."""
    if found["is_im"]:
        return "im"
    if found["is_mpim"]:
        return "mpim"
    return "group" if found["is_private"] else "channel"


SCOPE_WORD = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}


class Workspace:
    """What is there. Nothing here checks who may do what, and nothing is locked: the server does both."""

    def __init__(self, channels: Iterable[Json], users: Iterable[Json]) -> None:
        self.channels = {one["id"]: one for one in channels}
        self.users = {one["id"]: one for one in users}
        self.users.setdefault(BOT_USER, person(BOT_USER, "lore", bot=True))
        self.messages: dict[str, dict[str, Json]] = {}
        self._began = int(time.time())
        self._clock = itertools.count(1)
        self._names = itertools.count(1)

    def next_ts(self) -> str:
        """The timestamp of the next message: they grow, no two are the same, and all are of the second it began in."""
        return f"{self._began}.{next(self._clock):06d}"

    def next_id(self, prefix: str) -> str:
        """An id that nothing else has."""
        return f"{prefix}{next(self._names):09d}"

    def direct_with(self, user: str) -> Json:
        """The direct messages with a person, begun if they were not."""
        for found in self.channels.values():
            if found["is_im"] and found["user"] == user:
                return found
        made = direct(f"D{user}", user)
        self.channels[made["id"]] = made
        return made

    def add(self, channel_id: str, message: Json) -> Json:
        """Put a message where it belongs; a reply changes its thread's first message."""
        ts = message.setdefault("ts", self.next_ts())
        message.setdefault("type", "message")
        message.setdefault("team", TEAM)
        messages = self.messages.setdefault(channel_id, {})
        messages[ts] = message
        parent = messages.get(message.get("thread_ts", ""))
        if parent and parent is not message:
            parent["thread_ts"] = parent["ts"]
            parent["reply_count"] = parent.get("reply_count", 0) + 1
            parent["latest_reply"] = ts
            message.setdefault("parent_user_id", parent.get("user", ""))
        return message

    def message(self, channel_id: str, ts: str) -> Json | None:
        """One message, in a thread or not."""
        return self.messages.get(channel_id, {}).get(ts)

    def remove(self, channel_id: str, ts: str) -> Json | None:
        """Take a message away; the first of a thread with replies stays as a tombstone."""
        message = self.message(channel_id, ts)
        if message is None:
            return None
        if message.get("reply_count"):
            kept = {name: message[name] for name in ("type", "ts", "thread_ts", "reply_count", "latest_reply")}
            self.messages[channel_id][ts] = {
                **kept,
                "subtype": "tombstone",
                "text": "This message was deleted.",
                "user": "USLACKBOT",
                "hidden": True,
            }
        else:
            del self.messages[channel_id][ts]
        return message

    def thread(self, channel_id: str, thread_ts: str) -> list[Json]:
        """A message and its replies, oldest first."""
        messages = self.messages.get(channel_id, {}).values()
        found = [one for one in messages if thread_ts in (one["ts"], one.get("thread_ts"))]
        return sorted(found, key=lambda one: one["ts"])

    def top_level(self, channel_id: str) -> list[Json]:
        """The messages of a conversation without replies in threads, oldest first."""
        messages = self.messages.get(channel_id, {}).values()
        return sorted((one for one in messages if one.get("thread_ts", one["ts"]) == one["ts"]), key=lambda m: m["ts"])
