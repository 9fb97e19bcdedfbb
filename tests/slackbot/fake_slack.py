"""A workspace in memory that does what the bot asks of Slack: channels, people, messages, streams, and refusals.

    slack = FakeSlack()
    slack.add_channel("C1", members=("U1",))
    question = slack.say("C1", "U1", "<@UBOT> How do I rotate a key?")
    slack.refuse("update", "ratelimited", times=2)

All may be called by several threads. `calls` has every call in order; `before` is called with each call's name and
arguments before it is carried out, outside the lock, so that a test can hold a call back with an event.
"""

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
    """One call as it came: the verb of `words.Slack`, and its arguments by name."""

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
        """Whether a call is refused, which uses it up by one."""
        if name != self.name or (self.channel and arguments.get("channel") != self.channel) or self.times == 0:
            return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass
class FakeSlack:
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
            return [dict(one) for one in sorted(kept, key=_seconds) if one.get("user") == self.who.user]

    # ------------------------------------------------------------------------------------------------------ words.Slack

    def identity(self) -> BotIdentity:
        self._called("identity")
        return self.who

    def post(
        self, channel: str, message: SlackMessage, *, thread_ts: str = "", metadata: Mapping[str, str] | None = None
    ) -> str:
        self._called("post", channel=channel, message=message, thread_ts=thread_ts, metadata=metadata)
        with self._lock:
            self._writable(channel)
            return self._keep(channel, message.blocks, message.text, thread_ts, metadata)

    def post_ephemeral(self, channel: str, user: str, message: SlackMessage, *, thread_ts: str = "") -> None:
        self._called("post_ephemeral", channel=channel, user=user, message=message, thread_ts=thread_ts)
        with self._lock:
            self._writable(channel)
            seen = {"channel": channel, "user": user, "text": message.text, "blocks": list(message.blocks)}
            self.ephemerals.append({**seen, "thread_ts": thread_ts})

    def update(
        self, channel: str, ts: str, message: SlackMessage, *, metadata: Mapping[str, str] | None = None
    ) -> None:
        self._called("update", channel=channel, ts=ts, message=message, metadata=metadata)
        with self._lock:
            kept = self._mine(channel, ts)
            kept |= {"blocks": list(message.blocks), "text": message.text, "edited": {"ts": ts, "user": self.who.user}}
            kept |= _event(metadata)

    def delete(self, channel: str, ts: str) -> None:
        self._called("delete", channel=channel, ts=ts)
        with self._lock:
            self._mine(channel, ts)
            del self.messages[channel][ts]

    def start_stream(self, channel: str, thread_ts: str, *, team: str, user: str, markdown: str) -> str:
        self._called("start_stream", channel=channel, thread_ts=thread_ts, team=team, user=user, markdown=markdown)
        with self._lock:
            self._writable(channel)
            ts = self._keep(channel, (), markdown, thread_ts, None)
            self.streaming.add((channel, ts))
            return ts

    def append_stream(self, channel: str, ts: str, markdown: str) -> None:
        self._called("append_stream", channel=channel, ts=ts, markdown=markdown)
        with self._lock:
            self._growing(channel, ts)["text"] += markdown

    def stop_stream(
        self,
        channel: str,
        ts: str,
        *,
        markdown: str = "",
        blocks: Sequence[Block] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        self._called("stop_stream", channel=channel, ts=ts, markdown=markdown, blocks=blocks, metadata=metadata)
        with self._lock:
            kept = self._growing(channel, ts)
            kept["text"] += markdown
            kept["blocks"] = [{"type": "markdown", "text": kept["text"]}, *blocks]
            kept |= _event(metadata)
            self.streaming.discard((channel, ts))

    def set_status(self, channel: str, thread_ts: str, status: str) -> None:
        self._called("set_status", channel=channel, thread_ts=thread_ts, status=status)
        with self._lock:
            self.statuses.append((channel, thread_ts, status))

    def set_prompts(self, channel: str, thread_ts: str, prompts: Sequence[str], *, title: str = "") -> None:
        self._called("set_prompts", channel=channel, thread_ts=thread_ts, prompts=prompts, title=title)
        with self._lock:
            self.prompts.append((channel, thread_ts, tuple(prompts), title))

    def replies(self, channel: str, thread_ts: str, *, oldest: str = "", limit: int = 200) -> list[Mapping[str, Any]]:
        self._called("replies", channel=channel, thread_ts=thread_ts, oldest=oldest, limit=limit)
        with self._lock:
            self._readable(channel)
            kept = self.messages[channel].values()
            thread = sorted((one for one in kept if one.get("thread_ts", one["ts"]) == thread_ts), key=_seconds)
            if not thread:
                raise self._refusal("replies", "thread_not_found")
            after = float(oldest or 0)
            later: list[Mapping[str, Any]] = [one for one in thread if _seconds(one) > after or one["ts"] == thread_ts]
            shown = later if len(later) <= limit else [*later[:1], *later[len(later) - limit + 1 :]]
            return [dict(one) for one in shown]

    def history(self, channel: str, *, latest: str = "", limit: int = 20) -> list[Mapping[str, Any]]:
        self._called("history", channel=channel, latest=latest, limit=limit)
        with self._lock:
            self._readable(channel)
            until = float(latest or "inf")
            kept = [one for one in self.messages[channel].values() if one.get("thread_ts", one["ts"]) == one["ts"]]
            shown = sorted((one for one in kept if _seconds(one) <= until), key=_seconds)[-limit:]
            return [self._counted(channel, one) for one in shown]

    def message(self, channel: str, ts: str) -> Mapping[str, Any] | None:
        self._called("message", channel=channel, ts=ts)
        with self._lock:
            self._readable(channel)
            found = self.messages[channel].get(ts)
            return dict(found) if found else None

    def channel(self, channel: str) -> Mapping[str, Any]:
        self._called("channel", channel=channel)
        with self._lock:
            return dict(self._known(channel))

    def user(self, user: str) -> Mapping[str, Any]:
        self._called("user", user=user)
        with self._lock:
            if user not in self.users:
                raise self._refusal("user", "user_not_found")
            return dict(self.users[user])

    def private_channels_of(self, user: str) -> frozenset[str]:
        self._called("private_channels_of", user=user)
        with self._lock:
            return frozenset(
                name
                for name, facts in self.channels.items()
                if facts["is_private"] and facts["is_member"] and not facts["is_mpim"] and user in self.members[name]
            )

    def is_member(self, channel: str, user: str) -> bool:
        self._called("is_member", channel=channel, user=user)
        with self._lock:
            self._known(channel)
            return user in self.members[channel]

    def open_view(self, trigger: str, view: Mapping[str, Any]) -> None:
        self._called("open_view", trigger=trigger, view=view)
        with self._lock:
            self.views.append((trigger, view))

    def permalink(self, channel: str, ts: str) -> str:
        self._called("permalink", channel=channel, ts=ts)
        with self._lock:
            self._known(channel)
            return f"{self.who.url}archives/{channel}/p{ts.replace('.', '')}"

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
        own = {"bot_id": self.who.bot, "app_id": APP, "blocks": list(blocks), **_event(metadata)}
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


def _event(metadata: Mapping[str, str] | None) -> dict[str, Any]:
    """How Slack keeps the metadata of a message."""
    if metadata is None:
        return {}
    return {"metadata": {"event_type": EVENT_TYPE, "event_payload": dict(metadata)}}


def _seconds(message: Mapping[str, Any]) -> float:
    return float(message["ts"])
