"""The values the parts of the bot share: a question in Slack, a message, the bot's identity, a refused call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from lore.errors import LoreError

__all__ = ["Block", "BotIdentity", "EntryPoint", "Room", "SlackCallError", "SlackMessage", "SlackQuestion"]

EntryPoint: TypeAlias = Literal["mention", "direct", "assistant", "thread", "auto", "command"]
"""The way a question came in: @mention in a channel, direct message, assistant pane, message in a thread in which the
bot answered before, question that begins a thread in a channel with `answers: auto`, slash command."""

Room: TypeAlias = Literal["channel", "group", "direct"]
"""The kind of conversation: public or private channel, group direct message, direct message."""

Block: TypeAlias = dict[str, Any]
"""A block of Slack's Block Kit, as JSON."""


@dataclass(frozen=True, slots=True)
class SlackQuestion:
    """A question asked in Slack. `key` names its message, not a delivery: the mention event, the message event and all
    redeliveries of one message have the same key. A message that was edited has another one.

    `ts` is that of the message and `thread_ts` that of the answer's thread; both are "" for a command, whose answer
    only the asker sees. `text` has no mention of the bot. `external` is True for an asker from another workspace.
    `response_url` takes the replies to a command; it isn't stored.
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
    response_url: str = ""

    @property
    def asker(self) -> str:
        """The asker's name in the records, made of ids alone."""
        return f"slack:{self.team}:{self.user}"


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """A message to post: its blocks, and the plain text that notifications and screen readers use."""

    blocks: tuple[Block, ...]
    text: str


@dataclass(frozen=True, slots=True)
class BotIdentity:
    """The bot as `auth.test` describes it: workspace, user id, bot id (which differs), name, and workspace URL."""

    team: str
    user: str
    bot: str
    name: str
    url: str = ""


class SlackCallError(LoreError):
    """Slack refused a call, or couldn't be reached.

    `code` is Slack's error code, such as "channel_not_found"; "ratelimited" or "unreachable" once the retries are used
    up.
    """

    def __init__(self, message: str, *, code: str, remedy: str = "", retryable: bool = False) -> None:
        super().__init__(message, remedy=remedy, retryable=retryable)
        self.code = code
