"""What of an answer stands in Slack: looked for where a process died between posting and noting what it posted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lore.slackbot.queue.leases import Lease
from lore.slackbot.types import BotIdentity, SlackApi, SlackCallError
from lore.sources.payload import as_mapping, as_text

__all__ = ["Sighting", "look", "lost_stream"]


@dataclass(frozen=True, slots=True)
class Sighting:
    """The bot's messages to one question: the first, all by their ts, which answer they hold ("" for none yet), and
    whether they are whole.
    """

    first: Mapping[str, Any]
    all: tuple[str, ...]
    answer_id: str
    whole: bool

    @property
    def ts(self) -> str:
        """The ts of the first."""
        return as_text(self.first.get("ts"))


def look(slack: SlackApi, lease: Lease) -> Sighting | None:
    """What stands in the thread to a question; None where there is nothing.

    A stream says which question it belongs to when it ends. One that did not end is found by its ts, and where that
    was not noted, it is the bot's first message after the question that no other question in the thread noted.

    Raises SlackCallError, and RecordsError.
    """
    question, me = lease.question, slack.identity()
    replies = slack.replies(question.channel, question.thread_ts, oldest=question.ts)
    own = [one for one in replies if _is_own(one, me) and as_text(one.get("ts")) > question.ts]
    mine = [one for one in own if _payload(one).get("key") == question.key or one.get("ts") == lease.shown]
    if not mine and lease.kind == "stream" and not lease.shown:
        known = {other.get("shown") for other in lease.others()}
        mine = [one for one in own if not _payload(one) and one.get("ts") not in known][:1]
    if not mine:
        return None
    payloads = [_payload(one) for one in mine]
    answer = next((as_text(one["answer"]) for one in payloads if one.get("answer")), "")
    return Sighting(mine[0], tuple(as_text(one.get("ts")) for one in mine), answer, _is_whole(payloads))


def lost_stream(slack: SlackApi, lease: Lease) -> str | None:
    """The ts of the stream whose beginning Slack did not confirm; "" where it stands nowhere, None where that cannot be
    told now: what stands there may be the stream of another question in the thread.

    Raises RecordsError.
    """
    try:
        seen = look(slack, lease)
    except SlackCallError:
        return None
    ts = seen.ts if seen else ""
    rivals = [other.get("shown", "") for other in lease.others() if other.get("kind") == "stream"]
    return None if "" in rivals or ts in rivals else ts


def _is_whole(payloads: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last part is there, or an apology in its place."""
    if any(one.get("closed") for one in payloads):
        return True
    parts = [as_text(one.get("part")).partition("/") for one in payloads if one.get("answer")]
    return any(number == of for number, _, of in parts)


def _is_own(message: Mapping[str, Any], me: BotIdentity) -> bool:
    return message.get("user") == me.user or (me.bot != "" and message.get("bot_id") == me.bot)


def _payload(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_mapping(as_mapping(message.get("metadata")).get("event_payload"))
