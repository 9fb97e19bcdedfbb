"""The state of a workspace in memory: channels, people, messages, calls so far, and refusals planned by a test."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lore.slackbot.types import Block, BotIdentity, SlackCallError, SlackMessage

BOT = BotIdentity(team="T1", user="UBOT", bot="BBOT", name="lore", url="https://acme.slack.com/")
APP = "ALORE"
EVENT_TYPE = "lore_answer"


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it came: the method of `BotApi`, and its arguments by name."""

    name: str
    arguments: Mapping[str, Any]


@dataclass
class PlannedRefusal:
    """Calls of `name` fail with `code`, `times` times once `after` of them have passed (None: for good).

    `channel` narrows it to calls in that channel.
    """

    name: str
    code: str
    times: int | None = 1
    after: int = 0
    channel: str = ""
    retryable: bool = False

    def meets(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Return True if a call is refused, which uses it up by one."""
        if name != self.name or (self.channel and arguments.get("channel") != self.channel) or self.times == 0:
            return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass
class FakeWorkspace:
    """One workspace, `who` being the bot. People are full members unless `add_user` says otherwise.

    Each message is a second after the one before, from `start` on (seconds since the epoch).
    """

    who: BotIdentity = BOT
    start: int = field(default_factory=lambda: int(time.time()))
    before: Callable[[str, Mapping[str, Any]], None] | None = None
    calls: list[Call] = field(default_factory=list)
    refusals: list[PlannedRefusal] = field(default_factory=list)
    channels: dict[str, dict[str, Any]] = field(default_factory=dict)
    members: dict[str, set[str]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    ephemerals: list[dict[str, Any]] = field(default_factory=list)
    responses: list[tuple[str, SlackMessage]] = field(default_factory=list)
    statuses: list[tuple[str, str, str]] = field(default_factory=list)
    prompts: list[tuple[str, str, tuple[str, ...], str]] = field(default_factory=list)
    views: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    streaming: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._posted = 0

    # --------------------------------------------------------------------------------------------- what a test arranges

    def add_user(self, user: str, **facts: Any) -> None:
        """Make a person known, with facts such as `is_restricted`, `team_id` or `is_stranger`."""
        self.users[user] = {"id": user, "team_id": self.who.team, "name": user.lower(), "real_name": user, **facts}

    def add_channel(self, channel: str, *, members: Iterable[str] = (), **facts: Any) -> None:
        """Make a channel with the bot and these people in it; `is_private`, `is_im`, `is_archived` … are facts."""
        direct = channel.startswith("D")
        known = {"id": channel, "name": channel.lower(), "is_private": False, "is_im": direct, "is_member": True}
        self.channels[channel] = {**known, "is_mpim": False, "is_archived": False, "is_ext_shared": False, **facts}
        self.members[channel] = set(members)
        self.messages.setdefault(channel, {})
        for user in self.members[channel] - self.users.keys():
            self.add_user(user)

    def say(
        self, channel: str, user: str, text: str, *, thread_ts: str = "", ts: str = "", **more: Any
    ) -> dict[str, Any]:
        """A person's (or, with `bot_id` or `subtype`, a bot's) message as Slack keeps it; returns it."""
        with self._lock:
            message = {"type": "message", "user": user, "text": text, "team": self.who.team, "ts": ts or self._ts()}
            message |= {"thread_ts": thread_ts} if thread_ts else {}
            self.messages.setdefault(channel, {})[message["ts"]] = message | more
            return dict(self.messages[channel][message["ts"]])

    def refuse(
        self,
        name: str,
        code: str,
        *,
        times: int | None = 1,
        after: int = 0,
        channel: str = "",
        retryable: bool = False,
    ) -> None:
        """Let calls of a verb fail with SlackError of this code."""
        self.refusals.append(PlannedRefusal(name, code, times, after, channel, retryable))

    def event(self, channel: str, message: Mapping[str, Any], *, kind: str = "", **more: Any) -> dict[str, Any]:
        """The body in which Slack tells of a message; `kind` "app_mention" for the other event of it."""
        facts = self.channels.get(channel, {})
        room = "im" if facts.get("is_im") else "mpim" if facts.get("is_mpim") else ""
        room = room or ("group" if facts.get("is_private") else "channel")
        said = {**message, "type": kind or "message", "channel": channel, "event_ts": message["ts"]}
        said |= {"channel_type": room} if kind != "app_mention" else {}
        allowed = {"team_id": self.who.team, "user_id": self.who.user, "is_bot": True, "enterprise_id": None}
        body = {"type": "event_callback", "team_id": self.who.team, "api_app_id": APP, "event": said}
        return {**body, "event_id": f"Ev{message['ts']}", "authorizations": [allowed], **more}

    # --------------------------------------------------------------------------------------------- what a test looks at

    def counts(self) -> Counter[str]:
        """How often each verb was called."""
        with self._lock:
            return Counter(call.name for call in self.calls)

    def own(self, channel: str) -> list[dict[str, Any]]:
        """The bot's messages that stand in a channel now, oldest first."""
        with self._lock:
            kept = self.messages.get(channel, {}).values()
            return [dict(one) for one in sorted(kept, key=seconds) if one.get("user") == self.who.user]

    # ------------------------------------------------------------------------------------------------------ its insides

    def _called(self, name: str, **arguments: Any) -> None:
        if self.before is not None:
            self.before(name, arguments)
        with self._lock:
            self.calls.append(Call(name, arguments))
            for refusal in self.refusals:
                if refusal.meets(name, arguments):
                    raise self._refusal(name, refusal.code, retryable=refusal.retryable)

    def _refusal(self, name: str, code: str, *, retryable: bool = False) -> SlackCallError:
        return SlackCallError(f"Slack refused {name}: {code}.", code=code, remedy="Look it up.", retryable=retryable)

    def _known(self, channel: str) -> dict[str, Any]:
        facts = self.channels.get(channel)
        if facts is None or (facts["is_private"] and not facts["is_member"]):
            raise self._refusal("channel", "channel_not_found")
        return facts

    def _readable(self, channel: str) -> None:
        if not self._known(channel)["is_member"]:
            raise self._refusal("channel", "not_in_channel")

    def _writable(self, channel: str) -> None:
        self._readable(channel)
        if self.channels[channel]["is_archived"]:
            raise self._refusal("post", "is_archived")

    def _keep(
        self,
        channel: str,
        blocks: Sequence[Block],
        text: str,
        thread_ts: str,
        metadata: Mapping[str, str] | None,
    ) -> str:
        own = {"bot_id": self.who.bot, "app_id": APP, "blocks": list(blocks), **kept_metadata(metadata)}
        return str(self.say(channel, self.who.user, text, thread_ts=thread_ts, **own)["ts"])

    def _mine(self, channel: str, ts: str) -> dict[str, Any]:
        self._writable(channel)
        kept = self.messages[channel].get(ts)
        if kept is None:
            raise self._refusal("update", "message_not_found")
        if kept.get("user") != self.who.user:
            raise self._refusal("update", "cant_update_message")
        return kept

    def _growing(self, channel: str, ts: str) -> dict[str, Any]:
        kept = self._mine(channel, ts)
        if (channel, ts) not in self.streaming:
            raise self._refusal("append_stream", "message_not_in_streaming_state")
        return kept

    def _counted(self, channel: str, message: Mapping[str, Any]) -> Mapping[str, Any]:
        ts = message["ts"]
        answers = [one for one in self.messages[channel].values() if one.get("thread_ts") == ts and one["ts"] != ts]
        return {**message, **({"thread_ts": ts, "reply_count": len(answers)} if answers else {})}

    def _ts(self) -> str:
        self._posted += 1
        return f"{self.start + self._posted}.000100"


def kept_metadata(metadata: Mapping[str, str] | None) -> dict[str, Any]:
    """Return the metadata of a message as Slack keeps it."""
    if metadata is None:
        return {}
    return {"metadata": {"event_type": EVENT_TYPE, "event_payload": dict(metadata)}}


def seconds(message: Mapping[str, Any]) -> float:
    return float(message["ts"])
