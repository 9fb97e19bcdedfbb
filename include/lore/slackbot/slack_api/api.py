"""The bot's calls of Slack's Web API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lore.slackbot.slack_api.caller import MAX_WAIT, SlackCaller
from lore.slackbot.slack_api.errors import UncertainCallError, unreachable
from lore.slackbot.types import Block, BotIdentity, SlackCallError, SlackMessage
from lore.sources.payload import as_mapping, as_mappings, as_text
from lore.sources.slack.values import is_ts

__all__ = ["EVENT_TYPE", "BotApi"]

EVENT_TYPE = "lore_answer"
"""The type of the metadata of the bot's own messages."""

THREAD_PAGE = 200
MAX_THREAD_PAGES = 10
LIST_PAGE = 200
MEMBERS_PAGE = 1_000
MAX_PAGES = 100
MAX_PROMPTS = 4
TRIGGER_SECONDS = 1.0
"""A trigger is valid for three seconds, so longer waits before a retry are useless."""
GLANCE_SECONDS = 3.0
"""The longest wait for content that changes again soon: a status, a part of an answer."""
GONE = frozenset({"message_not_found", "thread_not_found"})


class BotApi:
    """The Web API with the bot's token; used by several threads.

    Every call has a timeout and bounded retries, and raises SlackCallError. Links aren't unfurled. `metadata` is
    the payload of a Lore event, which only the bot sees.
    """

    def __init__(self, caller: SlackCaller) -> None:
        self._call = caller.call
        self._respond = caller.respond
        self._identity: BotIdentity | None = None

    def identity(self) -> BotIdentity:
        """Return the bot's identity, which is asked for once."""
        if self._identity is None:
            self._identity = self._who()
        return self._identity

    def _who(self) -> BotIdentity:
        data = self._call("auth.test")
        team, user, bot, name, url = (as_text(data.get(k)) for k in ("team_id", "user_id", "bot_id", "user", "url"))
        if not (team and user):  # a bot that doesn't know itself would answer itself
            raise unreachable("auth.test", "the response names no bot")
        return BotIdentity(team, user, bot, name, url.rstrip("/"))

    # ------------------------------------------------------------------------------------------------------- messages

    def post(
        self, channel: str, message: SlackMessage, *, thread_ts: str = "", metadata: Mapping[str, str] | None = None
    ) -> str:
        """Post a message and return its ts. Where its arrival is uncertain, look for it in the thread first."""
        content = _content(channel, message, metadata) | _given(thread_ts=thread_ts)
        content |= {"unfurl_links": False, "unfurl_media": False}
        try:
            return self._begin("chat.postMessage", content)
        except UncertainCallError:
            if not (thread_ts and metadata):
                raise
            if found := self._posted(channel, thread_ts, metadata):
                return found
        return self._begin("chat.postMessage", content)

    def _posted(self, channel: str, thread_ts: str, metadata: Mapping[str, str]) -> str:
        """Return the ts of a message that is in the thread already; "" if it isn't.

        Its metadata tells: Slack changes the text.
        """
        me = self.identity()
        for found in reversed(self.replies(channel, thread_ts)):
            own = found.get("user") == me.user or (me.bot and found.get("bot_id") == me.bot)
            if own and as_mapping(as_mapping(found.get("metadata")).get("event_payload")) == dict(metadata):
                return as_text(found.get("ts"))
        return ""

    def _begin(self, method: str, content: Mapping[str, Any], *, max_wait: float = MAX_WAIT) -> str:
        """Return the ts of a new message. A response without one is uncertain."""
        channel = content["channel"]
        ts = self._call(method, json=content, about=channel, twice=False, max_wait=max_wait).get("ts")
        if not is_ts(ts):
            raise unreachable(f"{method} in {channel}", "the response names no message", uncertain=True)
        return as_text(ts)

    def post_ephemeral(self, channel: str, user: str, message: SlackMessage, *, thread_ts: str = "") -> None:
        """Post a message that only one person sees."""
        content = _content(channel, message, None) | {"user": user} | _given(thread_ts=thread_ts)
        self._call("chat.postEphemeral", json=content, about=channel)  # twice is better than never

    def respond(self, url: str, message: SlackMessage) -> None:
        """Post a message that only the person sees who typed a command, through the command's response URL."""
        content = {"text": message.text, "response_type": "ephemeral", "replace_original": False}
        self._respond(url, content | _given(blocks=list(message.blocks)))

    def update(
        self,
        channel: str,
        ts: str,
        message: SlackMessage,
        *,
        metadata: Mapping[str, str] | None = None,
        is_part: bool = False,
    ) -> None:
        """Replace one of the bot's own messages; `is_part` if the next part comes soon."""
        content = _content(channel, message, metadata) | {
            "ts": ts,
            "blocks": list(message.blocks),
        }  # Slack keeps blocks that are left out
        max_wait = GLANCE_SECONDS if is_part else MAX_WAIT
        self._call("chat.update", json=content, about=channel, max_wait=max_wait)

    def delete(self, channel: str, ts: str) -> None:
        """Delete one of the bot's own messages."""
        self._call("chat.delete", json={"channel": channel, "ts": ts}, about=channel, done=GONE)

    # -------------------------------------------------------------------------------------------------------- streams

    def start_stream(self, channel: str, thread_ts: str, *, team: str, user: str, markdown: str) -> str:
        """Begin a message that grows, and return its ts; `team` and `user` are those of the asker."""
        content = {"channel": channel, "thread_ts": thread_ts, "recipient_team_id": team, "recipient_user_id": user}
        content |= _given(markdown_text=markdown)
        return self._begin("chat.startStream", content, max_wait=GLANCE_SECONDS)

    def append_stream(self, channel: str, ts: str, markdown: str) -> None:
        """Append to a stream."""
        content = {"channel": channel, "ts": ts, "markdown_text": markdown}
        self._call("chat.appendStream", json=content, about=channel, twice=False, max_wait=GLANCE_SECONDS)

    def stop_stream(
        self,
        channel: str,
        ts: str,
        *,
        markdown: str = "",
        blocks: Sequence[Block] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """End a stream, with blocks below it."""
        content: dict[str, Any] = {"channel": channel, "ts": ts} | _given(markdown_text=markdown, blocks=list(blocks))
        content |= _given(metadata=_metadata(metadata))
        ended = frozenset({"message_not_in_streaming_state"})
        self._call("chat.stopStream", json=content, about=channel, done=ended)

    # ------------------------------------------------------------------------------------------------------ assistant

    def set_status(self, channel: str, thread_ts: str, status: str) -> None:
        """Show what the bot does, below the thread, until its next message; "" shows nothing."""
        content = {"channel_id": channel, "thread_ts": thread_ts, "status": status}
        self._call("assistant.threads.setStatus", json=content, about=channel, max_wait=GLANCE_SECONDS)

    def set_prompts(self, channel: str, thread_ts: str, prompts: Sequence[str], *, title: str = "") -> None:
        """Suggest the first four prompts in the assistant pane."""
        shown = [{"title": prompt, "message": prompt} for prompt in prompts[:MAX_PROMPTS]]
        content = {"channel_id": channel, "thread_ts": thread_ts, "prompts": shown} | _given(title=title)
        self._call("assistant.threads.setSuggestedPrompts", json=content, about=channel)

    # -------------------------------------------------------------------------------------------------------- reading

    def replies(self, channel: str, thread_ts: str, *, oldest: str = "", limit: int = 200) -> list[Mapping[str, Any]]:
        """Return the first message of a thread and the last ones, `limit` in all, oldest first.

        Slack gives a thread from its beginning; of one with thousands of replies the first two thousand are read.
        """
        params = {"channel": channel, "ts": thread_ts, "limit": THREAD_PAGE, "include_all_metadata": True}
        params |= _given(oldest=oldest)
        found: list[Mapping[str, Any]] = []
        for page in self._pages("conversations.replies", params, channel, most=MAX_THREAD_PAGES):
            found.extend(one for one in as_mappings(page.get("messages")) if one not in found[:1])
        return found if len(found) <= limit else [*found[:1], *found[len(found) - limit + 1 :]]

    def history(self, channel: str, *, latest: str = "", limit: int = 20) -> list[Mapping[str, Any]]:
        """Return the last messages of a conversation up to `latest`, oldest first, without those in threads."""
        params = {"channel": channel, "limit": limit, "include_all_metadata": True}
        params |= {"latest": latest, "inclusive": True} if latest else {}
        data = self._call("conversations.history", params=params, about=channel)
        return as_mappings(data.get("messages"))[::-1]

    def message(self, channel: str, ts: str) -> Mapping[str, Any] | None:
        """Return one message, also one in a thread; None if there is none."""
        params = {"channel": channel, "ts": ts, "oldest": ts, "latest": ts, "inclusive": True, "limit": 10}
        params["include_all_metadata"] = True
        try:
            data = self._call("conversations.replies", params=params, about=channel)
        except SlackCallError as error:
            if error.code not in GONE:
                raise
            return None
        found = (one for one in as_mappings(data.get("messages")) if one.get("ts") == ts)
        return next((one for one in found if one.get("subtype") != "tombstone"), None)

    def channel(self, channel: str) -> Mapping[str, Any]:
        """Return the response of `conversations.info`."""
        return as_mapping(self._call("conversations.info", params={"channel": channel}, about=channel).get("channel"))

    def user(self, user: str) -> Mapping[str, Any]:
        """Return the response of `users.info`."""
        return as_mapping(self._call("users.info", params={"user": user}).get("user"))

    def private_channels_of(self, user: str) -> frozenset[str]:
        """Return the ids of the private channels that both a person and the bot are in."""
        params = {"user": user, "types": "private_channel", "limit": LIST_PAGE}
        pages = self._pages("users.conversations", params, "")
        return frozenset(as_text(one.get("id")) for page in pages for one in as_mappings(page.get("channels"))) - {""}

    def is_member(self, channel: str, user: str) -> bool:
        """Return True if a person is a member of a channel."""
        params = {"channel": channel, "limit": MEMBERS_PAGE}
        return any(user in _list(page.get("members")) for page in self._pages("conversations.members", params, channel))

    def open_view(self, trigger: str, view: Mapping[str, Any]) -> None:
        """Open a modal; a trigger is valid for three seconds."""
        content = {"trigger_id": trigger, "view": dict(view)}
        opened = frozenset({"exchanged_trigger_id"})
        self._call("views.open", json=content, done=opened, max_wait=TRIGGER_SECONDS)

    def permalink(self, channel: str, ts: str) -> str:
        """Return a link to a message."""
        data = self._call("chat.getPermalink", params={"channel": channel, "message_ts": ts}, about=channel)
        return as_text(data.get("permalink"))

    def _pages(
        self, method: str, params: Mapping[str, Any], about: str, *, most: int = MAX_PAGES
    ) -> Iterator[Mapping[str, Any]]:
        cursor = ""
        for _ in range(most):
            page = self._call(method, params={**params, **_given(cursor=cursor)}, about=about)
            yield page
            cursor = as_text(as_mapping(page.get("response_metadata")).get("next_cursor"))
            if not cursor:
                return


def _content(channel: str, message: SlackMessage, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    content: dict[str, Any] = {"channel": channel, "text": message.text} | _given(blocks=list(message.blocks))
    return content | _given(metadata=_metadata(metadata))


def _metadata(payload: Mapping[str, str] | None) -> dict[str, Any] | None:
    return None if payload is None else {"event_type": EVENT_TYPE, "event_payload": dict(payload)}


def _given(**values: Any) -> dict[str, Any]:
    """Return the values that aren't empty."""
    return {name: value for name, value in values.items() if value}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
