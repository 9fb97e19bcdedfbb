"""A workspace in memory that does what the bot asks of Slack: channels, people, messages, streams, and refusals.

    slack = FakeSlack()
    slack.add_channel("C1", members=("U1",))
    question = slack.say("C1", "U1", "<@UBOT> How do I rotate a key?")
    slack.refuse("update", "ratelimited", times=2)

All may be called by several threads. `calls` has every call in order; `before` is called with each call's name and
arguments before it is carried out, outside the lock, so that a test can hold a call back with an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lore.slackbot.types import Block, BotIdentity, SlackMessage

from tests.slackbot.fake_workspace import BOT, FakeWorkspace, kept_metadata, seconds

__all__ = ["BOT", "FakeSlack"]


class FakeSlack(FakeWorkspace):
    """The calls of `BotApi` over a workspace in memory, with the refusals of Slack."""

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

    def respond(self, url: str, message: SlackMessage) -> None:
        self._called("respond", url=url, message=message)
        with self._lock:
            self.responses.append((url, message))

    def update(
        self,
        channel: str,
        ts: str,
        message: SlackMessage,
        *,
        metadata: Mapping[str, str] | None = None,
        is_part: bool = False,
    ) -> None:
        self._called("update", channel=channel, ts=ts, message=message, metadata=metadata)
        with self._lock:
            kept = self._mine(channel, ts)
            kept |= {"blocks": list(message.blocks), "text": message.text, "edited": {"ts": ts, "user": self.who.user}}
            kept |= kept_metadata(metadata)

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
            kept |= kept_metadata(metadata)
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
            thread = sorted((one for one in kept if one.get("thread_ts", one["ts"]) == thread_ts), key=seconds)
            if not thread:
                raise self._refusal("replies", "thread_not_found")
            after = float(oldest or 0)
            later: list[Mapping[str, Any]] = [one for one in thread if seconds(one) > after or one["ts"] == thread_ts]
            shown = later if len(later) <= limit else [*later[:1], *later[len(later) - limit + 1 :]]
            return [dict(one) for one in shown]

    def history(self, channel: str, *, latest: str = "", limit: int = 20) -> list[Mapping[str, Any]]:
        self._called("history", channel=channel, latest=latest, limit=limit)
        with self._lock:
            self._readable(channel)
            until = float(latest or "inf")
            kept = [one for one in self.messages[channel].values() if one.get("thread_ts", one["ts"]) == one["ts"]]
            shown = sorted((one for one in kept if seconds(one) <= until), key=seconds)[-limit:]
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
