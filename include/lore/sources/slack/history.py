"""A channel's messages, week by week from the newest, and the messages of a thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lore.errors import SourceError
from lore.sources.payload import Payload, as_text
from lore.sources.slack.api import SlackApi
from lore.sources.slack.errors import SlackError
from lore.sources.slack.messages import week_of
from lore.sources.slack.values import is_ts

__all__ = ["Week", "replies", "weeks"]

MISSING_THREAD_CODES = frozenset({"thread_not_found", "message_not_found"})


@dataclass(frozen=True, slots=True)
class Week:
    """The messages of one week, each once; `start` is its beginning, in seconds since the epoch."""

    start: float
    messages: tuple[Payload, ...]

    @property
    def loose(self) -> list[Payload]:
        """Messages outside threads."""
        return [message for message in self.messages if not _thread(message) and not message.get("reply_count")]

    @property
    def roots(self) -> list[Payload]:
        """First messages of threads, also deleted ones whose replies remain."""
        return [
            message
            for message in self.messages
            if _thread(message) == message["ts"] or (not _thread(message) and message.get("reply_count"))
        ]


def weeks(
    api: SlackApi, channel: str, *, about: str, before: float | None = None, since: float = 0.0
) -> Iterator[Week]:
    """Yield the weeks with messages since `since` and before `before`, newest first, each complete.

    Raises SourceError if Slack doesn't list the newest messages first, as a week would be incomplete.
    """
    pending: dict[str, Payload] = {}
    done: set[str] = set()
    lowest = float("inf")
    bound = {} if before is None else {"latest": f"{before:.6f}"}
    for page in api.messages("conversations.history", "latest", about=about, channel=channel, **bound):
        fresh = {one["ts"]: one for one in page if one["ts"] not in done}
        if any(float(ts) >= lowest for ts in fresh):
            raise SourceError(f"Slack lists {about} out of order.", remedy="Run again.", retryable=True)
        pending |= {ts: one for ts, one in fresh.items() if float(ts) >= since}
        end = bool(fresh) and min(map(float, fresh)) < since
        current = min(map(week_of, map(float, pending)), default=0.0)
        for start in sorted({week_of(float(ts)) for ts in pending} - (set() if end else {current}), reverse=True):
            chosen = {ts: one for ts, one in pending.items() if week_of(float(ts)) == start}
            yield Week(start, tuple(chosen.values()))
            done |= chosen.keys()
            pending = {ts: one for ts, one in pending.items() if ts not in chosen}
            lowest = start
        if end:
            return
    if pending:
        yield Week(current, tuple(pending.values()))


def replies(api: SlackApi, channel: str, ts: str, *, about: str) -> list[Payload]:
    """Return all messages of a thread, in any order; none if it was deleted meanwhile."""
    found: dict[str, Payload] = {}
    try:
        for page in api.messages("conversations.replies", "oldest", about=about, channel=channel, ts=ts):
            found |= {one["ts"]: one for one in page if ts in (one["ts"], _thread(one))}
    except SlackError as error:
        if error.code not in MISSING_THREAD_CODES:
            raise
        return []
    return list(found.values())


def _thread(message: Payload) -> str:
    thread = message.get("thread_ts")
    return as_text(thread) if is_ts(thread) else ""
