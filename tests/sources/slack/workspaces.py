"""Workspaces that the tests of Slack share."""

from __future__ import annotations

from lore.declarations import SlackDeclaration
from lore.sources.slack.source import SlackSource

from tests.contracts.source import last_cursor
from tests.servers.slack.web_api import TOKEN

CHANNELS = [{"id": "C1", "name": "general"}, {"id": "C2", "name": "deploys"}]


USERS = [
    {"id": "U1", "name": "ann", "profile": {"real_name": "Ann  Lee"}},
    {"id": "U2", "name": "bob", "real_name": "Bob Ray", "profile": {"real_name": ""}},
    {"id": "UB", "name": "robot", "is_bot": True, "profile": {"real_name": "Robot"}},
]


NOON = 1_700_049_600  # Wednesday 2023-11-15, 12:00 UTC


DAY = 1440


WEEK = 7 * DAY


def ts(minutes: float) -> str:
    return f"{NOON + int(minutes * 60)}.000100"


def say(minutes: float, text: str, user: str | None = "U1", **more: object) -> dict[str, object]:
    return {"type": "message", "ts": ts(minutes), "text": text} | ({"user": user} if user else {}) | more


def thread(root: float, *replies: tuple[float, str, str], text: str = "Root", user: str = "U1", **more: object):
    first = say(root, text, user, thread_ts=ts(root), **more)
    return [first, *(say(minutes, words, who, thread_ts=ts(root)) for minutes, words, who in replies)]


def source_of(slack, token=TOKEN, waits=None, max_retries=1, now=None, **options) -> SlackSource:
    return SlackSource(
        SlackDeclaration(id="slack", base_url=slack.base_url, **options),
        token=token,
        timeout=30.0,
        max_retries=max_retries,
        sleep=(waits if waits is not None else []).append,
        **({"now": now} if now else {}),
    )


def documents(source, since=None):
    return {document.id: document for batch in source.read(since) for document in batch.documents}


def synced(source, since=None):
    """The documents by the time that they are named after, and the cursor, as a sync keeps it."""
    batches = list(source.read(since))
    found = {document.id.removeprefix("slack:"): document for batch in batches for document in batch.documents}
    return found, last_cursor(batches, since)


def messages_of_weeks(weeks: int = 6) -> list[dict[str, object]]:
    """A channel with threads and conversations in each of several weeks, the latest of them in the middle of 2023."""
    found = []
    for week in range(weeks):
        start = -week * WEEK
        found += thread(start, (start + 5, f"Answer {week}", "U2"), text=f"Question {week}")
        found += [say(start + 30, f"Morning {week}"), say(start + 31, "Hi", "U2"), say(start + 400, f"Evening {week}")]
        found += [say(start + 500, "joined", subtype="channel_join")]
    return found


CALLS = (lambda source: list(source.read(None)), lambda source: list(source.list_ids()))
"""The two ways to read a source."""
