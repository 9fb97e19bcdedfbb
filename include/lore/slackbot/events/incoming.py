"""What comes in: the JSON of an event or a slash command, read as a question, or as the reason why there is none.

Nothing here asks Slack anything, so that it is done before Slack is told that the event was taken.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from lore.slackbot.events.mentions import addresses_others, has_words, mentions, question_text
from lore.slackbot.types import BotIdentity, EntryPoint, PostedAnswers, Room, SlackQuestion
from lore.sources.payload import Payload, as_mapping, as_mappings, as_text
from lore.sources.slack.values import is_ts

__all__ = ["ForgetMe", "Greeting", "Ignored", "Incoming", "read_command", "read_event"]

MAX_AGE_SECONDS = 3600.0
"""A question that is delivered later than this after it was asked is not answered: nobody waits for it any more. Slack
repeats an event for an hour or so, which is also how long an outage may be."""
TOO_OLD = "it was asked more than an hour ago, by the clock of this machine"

SAID = frozenset({"", "file_share", "thread_broadcast"})
"""Subtypes in which a person asks something. All others are edits, deletions, joins, topics, bots and the like."""
SLACKBOT = "USLACKBOT"
ROOMS: Mapping[str, Room] = {"channel": "channel", "group": "channel", "mpim": "group", "im": "direct"}
_ID = re.compile("[A-Z0-9]{1,40}")
_TRIGGER = re.compile(r"[A-Za-z0-9._-]{1,120}")
"""What names a message is stored and compared: nothing else than Slack's own ids is taken for one."""

FORGET = frozenset({"forget me", "forget me please"})


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing to answer, and why, in words for a log: they hold nothing of what was written."""

    reason: str


@dataclass(frozen=True, slots=True)
class Greeting:
    """The bot was called without a question: it should say how to ask. The `text` of `ask` is empty."""

    question: SlackQuestion


@dataclass(frozen=True, slots=True)
class ForgetMe:
    """A person wants what is kept of them removed. It comes from a conversation with the bot alone, or the command."""

    question: SlackQuestion


Incoming: TypeAlias = SlackQuestion | Greeting | ForgetMe | Ignored


def read_event(
    body: Mapping[str, Any],
    identity: BotIdentity,
    places: PostedAnswers | None = None,
    *,
    clock: Callable[[], float] = time.time,
) -> Incoming:
    """What an event of the Events API asks. Raises RecordsError where `places` could not be read.

    A mention and the message event of the same message give the same, but for the room: only the message event says
    that a conversation is a group direct message. Who may see what is therefore never decided by `room` alone.
    `places` tells in which threads the bot answered; without it, only mentions and direct messages are questions.
    `clock` is in seconds since the epoch.
    """
    event = as_mapping(body.get("event"))
    reason = _no_question(event) or _no_person(event, identity, as_text(body.get("api_app_id")))
    if reason:
        return Ignored(reason)
    room = _room(event)
    via = _way(event, room, identity, places)
    if isinstance(via, Ignored):
        return via
    if clock() - float(event["ts"]) > MAX_AGE_SECONDS:
        return Ignored(TOO_OLD)
    return _outcome(_ask(event, room, via, identity, external=_is_external(body, event, identity)))


def read_command(body: Mapping[str, Any], identity: BotIdentity) -> Incoming:
    """What a slash command asks. Its answer is for the asker alone, wherever it was typed."""
    trigger, channel, user = (as_text(body.get(name)) for name in ("trigger_id", "channel_id", "user_id"))
    if not (_TRIGGER.fullmatch(trigger) and _is_id(channel) and _is_id(user)):
        return Ignored("it is no slash command")
    team = as_text(body.get("team_id")) or identity.team
    question = SlackQuestion(
        key=f"{identity.team}:command:{trigger}",
        via="command",
        team=identity.team,
        channel=channel,
        room="direct" if channel.startswith("D") else "channel",
        user=user,
        ts="",
        thread_ts="",
        text=question_text(as_text(body.get("text")), identity.user),
        external=team != identity.team,
    )
    return _outcome(question)


def _no_question(event: Payload) -> str:
    """Why an event is no message that asks something, whoever wrote it; "" where it may be."""
    if event.get("type") not in ("message", "app_mention"):
        return "it is no message"
    if str(event.get("subtype") or "") not in SAID:
        return "it is an edit, a deletion or a notice"
    if event.get("hidden"):
        return "it is hidden"
    if event.get("edited"):
        return "it was edited"
    if not is_ts(event.get("ts")) or not _is_id(event.get("channel")):
        return "it names no message"
    return ""


def _no_person(event: Payload, identity: BotIdentity, app: str) -> str:
    """Why nobody asks in a message that a bot or the bot itself wrote; "" where a person wrote it."""
    user, bot = as_text(event.get("user")), as_text(event.get("bot_id"))
    profile = as_mapping(event.get("bot_profile"))
    apps = {as_text(event.get("app_id")), as_text(profile.get("app_id"))} - {""}
    if user == identity.user or bot == identity.bot != "" or app in apps:
        return "the bot wrote it itself"
    if bot or apps or profile or event.get("subtype") == "bot_message" or event.get("workflow_id"):
        return "a bot or a workflow wrote it"
    if not _is_id(user) or user == SLACKBOT:
        return "nobody wrote it"
    return ""


def _is_id(value: object) -> bool:
    return _ID.fullmatch(as_text(value)) is not None


def _room(event: Payload) -> Room:
    if as_text(event.get("channel")).startswith("D"):
        return "direct"
    return ROOMS.get(as_text(event.get("channel_type")), "channel")


def _way(event: Payload, room: Room, identity: BotIdentity, places: PostedAnswers | None) -> EntryPoint | Ignored:
    text, thread = as_text(event.get("text")), as_text(event.get("thread_ts"))
    in_thread = is_ts(thread) and thread != event["ts"]
    if room == "direct":  # in the assistant pane every message is in a thread, and nothing else tells it apart
        return "assistant" if in_thread or as_mapping(event.get("assistant_thread")) else "direct"
    if event["type"] == "app_mention" or mentions(text, identity.user):
        return "mention"
    if room == "group" or not in_thread:
        return Ignored("it does not mention the bot")
    if addresses_others(text, identity.user) or not has_words(question_text(text, identity.user)):
        return Ignored("it speaks to somebody else, or says nothing")
    if places is None or not places.answered_in(identity.team, event["channel"], thread):
        return Ignored("the bot did not answer in that thread")
    return "thread"


def _ask(event: Payload, room: Room, via: EntryPoint, identity: BotIdentity, *, external: bool) -> SlackQuestion:
    thread, channel, ts = as_text(event.get("thread_ts")), event["channel"], event["ts"]
    return SlackQuestion(
        key=f"{identity.team}:{channel}:{ts}",
        via=via,
        team=identity.team,
        channel=channel,
        room=room,
        user=event["user"],
        ts=ts,
        thread_ts=thread if is_ts(thread) else ts,
        text=question_text(as_text(event.get("text")), identity.user),
        external=external,
    )


def _outcome(question: SlackQuestion) -> Incoming:
    said = _phrase(question.text)
    if not has_words(said) or (said == "help" and question.via != "thread"):
        return Greeting(replace(question, text=""))
    if said in FORGET and question.via in ("direct", "assistant", "command"):
        return ForgetMe(question)
    return question


def _phrase(text: str) -> str:
    """A text as phrases are compared: in small letters, without commas and the mark at its end."""
    return " ".join(text.casefold().replace(",", " ").split()).rstrip(" .!")


def _is_external(body: Payload, event: Payload, identity: BotIdentity) -> bool:
    """Whether the message comes from another workspace, as in channels that two share by Slack Connect.

    In an Enterprise Grid a person may be named by the organisation instead of a workspace. Those of our own are not
    told apart here; what Slack says of the person decides then.
    """
    allowed = as_mappings(body.get("authorizations"))
    ours = {identity.team, as_text(body.get("context_enterprise_id"))}
    ours |= {as_text(one.get("enterprise_id")) for one in allowed}
    profile = as_mapping(event.get("user_profile"))
    named = [as_text(event.get("user_team")), as_text(event.get("source_team")), as_text(profile.get("team"))]
    homes = {name for name in named if name} or {as_text(event.get("team")) or identity.team}
    return not homes <= ours
