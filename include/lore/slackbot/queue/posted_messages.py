"""The messages to a question that are in Slack, found where a process died between posting and noting one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lore.slackbot.queue.leases import Lease
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.types import BotIdentity, SlackCallError
from lore.sources.payload import as_mapping, as_text

__all__ = ["PostedMessages", "find_lost_stream", "find_messages"]


@dataclass(frozen=True, slots=True)
class PostedMessages:
    """The bot's messages to one question: the first, the ts of all, the answer they hold ("" for none yet), and whether
    the last one is there.
    """

    first: Mapping[str, Any]
    all_ts: tuple[str, ...]
    answer_id: str
    is_whole: bool

    @property
    def ts(self) -> str:
        """The ts of the first."""
        return as_text(self.first.get("ts"))


def find_messages(slack: BotApi, lease: Lease) -> PostedMessages | None:
    """Return the messages in the thread that belong to a question; None if there are none.

    A stream names its question only when it ends. An open one is found by its ts; where that wasn't noted, it is the
    bot's first message after the question that no other question in the thread noted.

    Raises SlackCallError and RecordsError.
    """
    question, me = lease.question, slack.identity()
    replies = slack.replies(question.channel, question.thread_ts, oldest=question.ts)
    own = [one for one in replies if _is_own(one, me) and as_text(one.get("ts")) > question.ts]
    mine = [one for one in own if _payload(one).get("key") == question.key or one.get("ts") == lease.shown]
    if not mine and lease.kind == "stream" and not lease.shown:
        noted = {other.get("shown") for other in lease.others()}
        mine = [one for one in own if not _payload(one) and one.get("ts") not in noted][:1]
    if not mine:
        return None
    payloads = [_payload(one) for one in mine]
    answer = next((as_text(one["answer"]) for one in payloads if one.get("answer")), "")
    return PostedMessages(mine[0], tuple(as_text(one.get("ts")) for one in mine), answer, _is_whole(payloads))


def find_lost_stream(slack: BotApi, lease: Lease) -> str | None:
    """Return the ts of a stream whose beginning Slack didn't confirm; "" if there is none.

    None if it can't be told now, because the stream may be that of another question in the thread. Raises RecordsError.
    """
    try:
        found = find_messages(slack, lease)
    except SlackCallError:
        return None
    ts = found.ts if found else ""
    rivals = [other.get("shown", "") for other in lease.others() if other.get("kind") == "stream"]
    return None if "" in rivals or ts in rivals else ts


def _is_whole(payloads: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if the last part is there, or an apology in its place."""
    if any(one.get("closed") for one in payloads):
        return True
    parts = [as_text(one.get("part")).partition("/") for one in payloads if one.get("answer")]
    return any(number == of for number, _, of in parts)


def _is_own(message: Mapping[str, Any], me: BotIdentity) -> bool:
    return message.get("user") == me.user or (me.bot != "" and message.get("bot_id") == me.bot)


def _payload(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_mapping(as_mapping(message.get("metadata")).get("event_payload"))
