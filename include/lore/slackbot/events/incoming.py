"""Events and slash commands read as questions, or as the reason to ignore them.

Nothing here calls Slack, so it is done before the event is acknowledged.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from lore.declarations import SlackRules
from lore.records.posted_answers import PostedAnswers
from lore.slackbot.events.addressing import is_acknowledgement, is_question, is_thanks
from lore.slackbot.events.mentions import addresses_others, has_words, mentions, question_text
from lore.slackbot.types import BotIdentity, EntryPoint, Room, SlackQuestion
from lore.sources.payload import Payload, as_mapping, as_mappings, as_text
from lore.sources.slack.values import is_ts

__all__ = ["ForgetMe", "Greeting", "Ignored", "Incoming", "read_command", "read_event", "read_invitation"]

MAX_AGE_SECONDS = 3600.0
"""A question delivered later than this isn't answered: nobody waits for it. Slack redelivers for about an hour."""
MAX_EDIT_SECONDS = 24 * 3600.0
"""A question that is edited later than this isn't answered anew."""
TOO_OLD = "it was asked more than an hour ago, by the clock of this machine"

SAID = frozenset({"", "file_share", "thread_broadcast"})
"""Subtypes of messages that people write; others are edits, deletions, joins, bots and the like."""
SLACKBOT = "USLACKBOT"
ROOMS: Mapping[str, Room] = {"channel": "channel", "group": "channel", "mpim": "group", "im": "direct"}
_ID = re.compile("[A-Z0-9]{1,40}")
_TRIGGER = re.compile(r"[A-Za-z0-9._-]{1,120}")
"""Ids are stored and compared, so anything that isn't one of Slack's is rejected."""

FORGET = frozenset(
    f"{please}{request}{end}"
    for please in ("", "please ")
    for request in ("forget me", "forget about me", "delete my data", "delete all my data", "erase my data")
    for end in ("", " please")
)


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event without a question, and the reason for the log, which quotes nothing."""

    reason: str


@dataclass(frozen=True, slots=True)
class Greeting:
    """A mention without a question, which is answered with how to ask. The `text` of `question` is empty."""

    question: SlackQuestion


@dataclass(frozen=True, slots=True)
class ForgetMe:
    """A request to delete the asker's data, which speaks to the bot."""

    question: SlackQuestion


Incoming: TypeAlias = SlackQuestion | Greeting | ForgetMe | Ignored


def read_event(
    body: Mapping[str, Any],
    identity: BotIdentity,
    posted: PostedAnswers,
    rules: SlackRules,
    *,
    clock: Callable[[], float] = time.time,
) -> Incoming:
    """Read an event of the Events API. Raises RecordsError where `posted` couldn't be read.

    A question whose words were edited is a new one, in the same place. The mention event and the message event of one
    message are read alike, but for `room`: only the message event tells a group direct message. So access never depends
    on `room` alone. `posted` knows the threads in which the bot answered, and `rules` which messages it answers in a
    channel. `clock` is in seconds since the epoch.
    """
    event = as_mapping(body.get("event"))
    edited = ""
    if event.get("subtype") == "message_changed":
        event, edited = _rewritten(event, identity)
    reason = _no_question(event) or _no_person(event, identity, as_text(body.get("api_app_id")))
    if reason:
        return Ignored(reason)
    room = _room(event)
    via = _way(event, room, identity, posted, rules)
    if isinstance(via, Ignored):
        return via
    now, written = clock(), float(event["ts"])
    if now - float(edited or written) > MAX_AGE_SECONDS or now - written > MAX_EDIT_SECONDS:
        return Ignored(TOO_OLD)
    question = _ask(event, room, via, identity, external=_is_external(body, event, identity))
    return _outcome(replace(question, key=f"{question.key}:{edited}") if edited else question)


def read_command(body: Mapping[str, Any], identity: BotIdentity) -> Incoming:
    """Read a slash command. Only the asker sees its answer, wherever it was typed."""
    trigger, channel, user = (as_text(body.get(name)) for name in ("trigger_id", "channel_id", "user_id"))
    if not (_TRIGGER.fullmatch(trigger) and _is_id(channel) and _is_id(user)):
        return Ignored("it isn't a slash command")
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
        response_url=as_text(body.get("response_url")),
    )
    return _outcome(question)


def read_invitation(body: Mapping[str, Any], identity: BotIdentity) -> SlackQuestion | None:
    """Return an empty question of whoever invited the bot to a channel, answered in the channel itself.

    None for any other event.
    """
    event = as_mapping(body.get("event"))
    channel, at = as_text(event.get("channel")), event.get("event_ts")
    is_own = event.get("type") == "member_joined_channel" and event.get("user") == identity.user
    if not (is_own and _is_id(channel) and is_ts(at)):
        return None
    inviter = as_text(event.get("inviter"))
    return SlackQuestion(
        key=f"{identity.team}:{channel}:joined:{at}",
        via="mention",
        team=identity.team,
        channel=channel,
        room="channel",
        user=inviter if _is_id(inviter) else identity.user,
        ts="",
        thread_ts="",
        text="",
    )


def _rewritten(event: Payload, identity: BotIdentity) -> tuple[Payload, str]:
    """Return a message whose writer changed its words, as if it were new, and the ts of the edit.

    Slack also reports other changes this way, such as previews of links; those are no messages.
    """
    new, old = as_mapping(event.get("message")), as_mapping(event.get("previous_message"))
    edit = as_mapping(new.get("edited"))
    by_writer = edit.get("user") == new.get("user") == old.get("user") and is_ts(edit.get("ts"))
    if not by_writer or _said_of(new, identity) == _said_of(old, identity):
        return event, ""
    place = {name: event[name] for name in ("channel", "channel_type") if name in event}
    kept = {name: value for name, value in new.items() if name != "edited"}
    return {**kept, **place, "type": "message"}, as_text(edit["ts"])


def _said_of(message: Payload, identity: BotIdentity) -> tuple[bool, str]:
    """Return whether a message mentions the bot, and its words in lower case."""
    text = as_text(message.get("text"))
    words = " ".join(re.findall(r"\w+", question_text(text, identity.user).casefold()))
    return mentions(text, identity.user), words


def _no_question(event: Payload) -> str:
    """Return why an event can't be a question, whoever wrote it; "" if it can."""
    if event.get("type") not in ("message", "app_mention"):
        return "it isn't a message"
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
    """Return why a message isn't a person's; "" if it is."""
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


def _way(
    event: Payload, room: Room, identity: BotIdentity, posted: PostedAnswers, rules: SlackRules
) -> EntryPoint | Ignored:
    text, thread = as_text(event.get("text")), as_text(event.get("thread_ts"))
    in_thread = is_ts(thread) and thread != event["ts"]
    if room == "direct":  # in the assistant pane every message is in a thread, and nothing else tells it apart
        return "assistant" if in_thread or as_mapping(event.get("assistant_thread")) else "direct"
    if event["type"] == "app_mention" or mentions(text, identity.user):
        return "mention"
    answers, said = rules.answers_in(event["channel"]), question_text(text, identity.user)
    if room == "group" or answers == "mention" or (answers == "thread" and not in_thread):
        return Ignored("it does not mention the bot")
    if addresses_others(text, identity.user) or not has_words(said) or is_acknowledgement(said):
        return Ignored("it speaks to somebody else, or says nothing")
    if not in_thread:
        return "auto" if is_question(said) else Ignored("it asks nothing")
    if not posted.answered_in(identity.team, event["channel"], thread):
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
    if is_thanks(question.text):
        return Ignored("it says thanks")
    if not has_words(said) or (said == "help" and question.via not in ("thread", "auto")):
        return Greeting(replace(question, text=""))
    if said in FORGET and question.via not in ("thread", "auto"):
        return ForgetMe(question)
    return question


def _phrase(text: str) -> str:
    """Return a text for comparison: in lower case, without commas and its final mark."""
    return " ".join(text.casefold().replace(",", " ").split()).rstrip(" .!")


def _is_external(body: Payload, event: Payload, identity: BotIdentity) -> bool:
    """Return True for a message from another workspace, in a channel shared by Slack Connect.

    In an Enterprise Grid a person may be named by the organisation. Those of our own can't be told apart here;
    `Audiences` looks the person up.
    """
    allowed = as_mappings(body.get("authorizations"))
    ours = {identity.team, as_text(body.get("context_enterprise_id"))}
    ours |= {as_text(one.get("enterprise_id")) for one in allowed}
    profile = as_mapping(event.get("user_profile"))
    named = [as_text(event.get("user_team")), as_text(event.get("source_team")), as_text(profile.get("team"))]
    homes = {name for name in named if name} or {as_text(event.get("team")) or identity.team}
    return not homes <= ours
