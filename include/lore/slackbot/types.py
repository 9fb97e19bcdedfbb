"""The nouns and verbs that the parts of the bot share: what was asked and where, what Slack and the records can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from lore.errors import LoreError

__all__ = [
    "Block",
    "BotIdentity",
    "Desk",
    "EntryPoint",
    "PostedAnswers",
    "Room",
    "SlackApi",
    "SlackCallError",
    "SlackMessage",
    "SlackQuestion",
]

EntryPoint: TypeAlias = Literal["mention", "direct", "assistant", "thread", "command"]
"""How a question came in: @mention in a channel, direct message, assistant pane, a thread in which the bot already
answered, slash command."""

Room: TypeAlias = Literal["channel", "group", "direct"]
"""What kind of conversation it is: a channel (public or private), a group direct message, a direct message."""

Block: TypeAlias = dict[str, Any]
"""A block of Slack's Block Kit, as JSON."""


@dataclass(frozen=True, slots=True)
class SlackQuestion:
    """A question as it came in. `key` names the message and not its delivery, so that a mention and a message event of
    one message, and all redeliveries, have the same one.

    `ts` is the message's own ("" for a command), `thread_ts` that of the thread in which it is answered ("" for a
    command: its answer is seen by the asker alone). `text` is without the bot's mention. `external` is True where
    the asker belongs to another workspace.
    """

    key: str
    via: EntryPoint
    team: str
    channel: str
    room: Room
    user: str
    ts: str
    thread_ts: str
    text: str
    external: bool = False

    @property
    def asker(self) -> str:
        """Who asks, for the records: ids only."""
        return f"slack:{self.team}:{self.user}"


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """One message to post: its blocks, and the plain text that notifications and screen readers use instead."""

    blocks: tuple[Block, ...]
    text: str


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """Who the bot is, by `auth.test`: its workspace, its user id, its bot id (another thing), and its name."""

    team: str
    user: str
    bot: str
    name: str
    url: str = ""


class SlackCallError(LoreError):
    """Slack refused a call, or could not be reached. `code` is Slack's word for it, such as "channel_not_found";
    "ratelimited" and "unreachable" once the repeats are used up.
    """

    def __init__(self, message: str, *, code: str, remedy: str = "", retryable: bool = False) -> None:
        super().__init__(message, remedy=remedy, retryable=retryable)
        self.code = code


class SlackApi(Protocol):
    """What the bot asks of Slack's Web API. Every call has a timeout, repeats what a 429 or 5xx asks to be repeated
    (bounded), may be called by several threads, and raises SlackCallError. Nothing it posts is unfurled.
    """

    def identity(self) -> BotIdentity: ...

    def post(
        self, channel: str, message: SlackMessage, *, thread_ts: str = "", metadata: Mapping[str, str] | None = None
    ) -> str:
        """Post a message, in a thread if one is given; returns its ts. `metadata` is the payload of a Lore event."""
        ...

    def post_ephemeral(self, channel: str, user: str, message: SlackMessage, *, thread_ts: str = "") -> None:
        """A message that one person alone sees."""
        ...

    def update(
        self, channel: str, ts: str, message: SlackMessage, *, metadata: Mapping[str, str] | None = None
    ) -> None: ...

    def delete(self, channel: str, ts: str) -> None: ...

    def start_stream(self, channel: str, thread_ts: str, *, team: str, user: str, markdown: str) -> str:
        """Begin a message that grows; returns its ts. `team` and `user` are those of the asker."""
        ...

    def append_stream(self, channel: str, ts: str, markdown: str) -> None: ...

    def stop_stream(
        self,
        channel: str,
        ts: str,
        *,
        markdown: str = "",
        blocks: Sequence[Block] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        """End a stream; `blocks` stand below what was streamed."""
        ...

    def set_status(self, channel: str, thread_ts: str, status: str) -> None:
        """Show what the bot does, below the thread; "" takes it away, as does any message of the bot."""
        ...

    def set_prompts(self, channel: str, thread_ts: str, prompts: Sequence[str], *, title: str = "") -> None:
        """Suggest questions in the assistant pane; Slack shows four at most."""
        ...

    def replies(self, channel: str, thread_ts: str, *, oldest: str = "", limit: int = 200) -> list[Mapping[str, Any]]:
        """The messages of a thread, its first included, oldest first, with the metadata of Lore's own."""
        ...

    def history(self, channel: str, *, latest: str = "", limit: int = 20) -> list[Mapping[str, Any]]:
        """The last messages of a conversation before `latest` (or at it), oldest first, threads left out."""
        ...

    def message(self, channel: str, ts: str) -> Mapping[str, Any] | None:
        """One message, also one in a thread; None where there is none."""
        ...

    def channel(self, channel: str) -> Mapping[str, Any]:
        """What `conversations.info` says of a channel."""
        ...

    def user(self, user: str) -> Mapping[str, Any]:
        """What `users.info` says of a person."""
        ...

    def private_channels_of(self, user: str) -> frozenset[str]:
        """Ids of the private channels that a person is a member of, of those that the bot can see."""
        ...

    def is_member(self, channel: str, user: str) -> bool:
        """Whether a person is a member of a channel."""
        ...

    def open_view(self, trigger: str, view: Mapping[str, Any]) -> None:
        """Open a modal; a trigger is good for three seconds."""
        ...

    def permalink(self, channel: str, ts: str) -> str: ...


class PostedAnswers(Protocol):
    """Where the bot answered, in the records. All raise RecordsError."""

    def keep(self, team: str, channel: str, ts: str, *, thread_ts: str, answer_id: str, asker: str) -> None:
        """Remember that the message `ts` holds (a part of) an answer, "" for one that is not complete; idempotent."""
        ...

    def answer_at(self, team: str, channel: str, ts: str) -> str | None:
        """The id of the answer in a message; None where it is not one of the bot's answers, or not complete yet."""
        ...

    def answered_in(self, team: str, channel: str, thread_ts: str) -> bool:
        """Whether the bot answered in that thread, or has begun to."""
        ...


class Desk(Protocol):
    """Who takes what comes in. Each call returns in a few milliseconds and raises RecordsError where it could not be
    kept: then it must not be acknowledged, so that Slack delivers it again.
    """

    def take(self, question: SlackQuestion) -> None:
        """Take a question: whatever happens from here on, it is answered or apologized for once."""
        ...
