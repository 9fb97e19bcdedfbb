"""What of an answer stands in Slack: looked for where a process died between posting and noting what it posted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lore.slackbot.queue.holds import Hold
from lore.slackbot.types import Identity, Slack, SlackError
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


def look(slack: Slack, hold: Hold) -> Sighting | None:
    """What stands in the thread to a question; None where there is nothing.

    A stream says which question it belongs to when it ends. One that did not end is found by its ts, and where that
    was not noted, it is the bot's first message after the question that no other question in the thread noted.

    Raises SlackError, and RecordsError.
    """
    ask, me = hold.ask, slack.identity()
    replies = slack.replies(ask.channel, ask.thread_ts, oldest=ask.ts)
    own = [one for one in replies if _is_own(one, me) and as_text(one.get("ts")) > ask.ts]
    mine = [one for one in own if _payload(one).get("key") == ask.key or one.get("ts") == hold.shown]
    if not mine and hold.kind == "stream" and not hold.shown:
        known = {other.get("shown") for other in hold.others()}
        mine = [one for one in own if not _payload(one) and one.get("ts") not in known][:1]
    if not mine:
        return None
    payloads = [_payload(one) for one in mine]
    answer = next((as_text(one["answer"]) for one in payloads if one.get("answer")), "")
    return Sighting(mine[0], tuple(as_text(one.get("ts")) for one in mine), answer, _is_whole(payloads))


def lost_stream(slack: Slack, hold: Hold) -> str | None:
    """The ts of the stream whose beginning Slack did not confirm; "" where it stands nowhere, None where that cannot be
    told now: what stands there may be the stream of another question in the thread.

    Raises RecordsError.
    """
    try:
        seen = look(slack, hold)
    except SlackError:
        return None
    ts = seen.ts if seen else ""
    rivals = [other.get("shown", "") for other in hold.others() if other.get("kind") == "stream"]
    return None if "" in rivals or ts in rivals else ts


def _is_whole(payloads: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the last part is there, or an apology in its place."""
    if any(one.get("closed") for one in payloads):
        return True
    parts = [as_text(one.get("part")).partition("/") for one in payloads if one.get("answer")]
    return any(number == of for number, _, of in parts)


def _is_own(message: Mapping[str, Any], me: Identity) -> bool:
    return message.get("user") == me.user or (me.bot != "" and message.get("bot_id") == me.bot)


def _payload(message: Mapping[str, Any]) -> Mapping[str, Any]:
    return as_mapping(as_mapping(message.get("metadata")).get("event_payload"))
