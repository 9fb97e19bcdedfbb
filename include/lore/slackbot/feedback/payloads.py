"""What Slack sends when somebody judges an answer, read into values; None for what is something else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lore.slackbot.feedback.views import INPUT, MAX_REASON, PRESSED, WHY, FeedbackContext, verdict_of
from lore.sources.payload import as_mapping, as_mappings, as_text

__all__ = [
    "ButtonPress",
    "Reaction",
    "ReasonButtonPress",
    "SubmittedReason",
    "read_press",
    "read_reaction",
    "read_reason",
    "read_why",
]

_THUMB = re.compile(r"(?P<name>\+1|thumbsup|-1|thumbsdown)(?:::skin-tone-[2-6])?")


@dataclass(frozen=True, slots=True)
class ButtonPress:
    """A feedback button was pressed. `ts` is that of the message, "" where only the person sees it; `at` is when, in
    seconds since the epoch.
    """

    answer_id: str
    helpful: bool
    user: str
    channel: str
    ts: str
    at: float
    trigger: str


@dataclass(frozen=True, slots=True)
class ReasonButtonPress:
    """The button to say why was pressed."""

    judgement: FeedbackContext
    trigger: str


@dataclass(frozen=True, slots=True)
class Reaction:
    """A thumb was added to a message or removed from it; `author` is whose message it is, "" where it is not told."""

    helpful: bool
    added: bool
    name: str
    user: str
    author: str
    channel: str
    ts: str
    at: float


@dataclass(frozen=True, slots=True)
class SubmittedReason:
    """The modal was sent."""

    judgement: FeedbackContext
    user: str
    text: str


def read_press(body: Mapping[str, Any]) -> ButtonPress | None:
    """A press of the feedback buttons, from a `block_actions` payload."""
    action = _action(body, PRESSED)
    verdict = verdict_of(as_text(action.get("value")))
    user, channel, ts = _whose(body)
    if verdict is None or not user:
        return None
    helpful, answer_id = verdict
    if as_mapping(body.get("container")).get("is_ephemeral"):
        ts = ""
    return ButtonPress(
        answer_id, helpful, user, channel, ts, _seconds(action, "action_ts"), as_text(body.get("trigger_id"))
    )


def read_why(body: Mapping[str, Any]) -> ReasonButtonPress | None:
    """A press of the button to say why, from a `block_actions` payload."""
    judgement = FeedbackContext.read(as_text(_action(body, WHY).get("value")))
    return ReasonButtonPress(judgement, as_text(body.get("trigger_id"))) if judgement else None


def read_reaction(body: Mapping[str, Any]) -> Reaction | None:
    """A thumb, from a `reaction_added` or `reaction_removed` event."""
    event = as_mapping(body.get("event"))
    item = as_mapping(event.get("item"))
    name = as_text(event.get("reaction"))
    thumb = _THUMB.fullmatch(name)
    user, channel, ts = as_text(event.get("user")), as_text(item.get("channel")), as_text(item.get("ts"))
    if not thumb or item.get("type") != "message" or not (user and channel and ts):
        return None
    return Reaction(
        helpful=thumb["name"] in ("+1", "thumbsup"),
        added=event.get("type") == "reaction_added",
        name=name,
        user=user,
        author=as_text(event.get("item_user")),
        channel=channel,
        ts=ts,
        at=_seconds(event, "event_ts"),
    )


def read_reason(body: Mapping[str, Any]) -> SubmittedReason | None:
    """What was written into the modal, from a `view_submission` payload; None where nothing was."""
    view = as_mapping(body.get("view"))
    judgement = FeedbackContext.read(as_text(view.get("private_metadata")))
    field = as_mapping(as_mapping(as_mapping(as_mapping(view.get("state")).get("values")).get(INPUT)).get(INPUT))
    text, user = as_text(field.get("value")).strip()[:MAX_REASON], as_text(as_mapping(body.get("user")).get("id"))
    return SubmittedReason(judgement, user, text) if judgement and user and text else None


def _action(body: Mapping[str, Any], action_id: str) -> Mapping[str, Any]:
    return next((one for one in as_mappings(body.get("actions")) if one.get("action_id") == action_id), {})


def _whose(body: Mapping[str, Any]) -> tuple[str, str, str]:
    """The person, the channel and the message of a `block_actions` payload."""
    container = as_mapping(body.get("container"))
    channel = as_text(container.get("channel_id")) or as_text(as_mapping(body.get("channel")).get("id"))
    ts = as_text(container.get("message_ts")) or as_text(as_mapping(body.get("message")).get("ts"))
    return as_text(as_mapping(body.get("user")).get("id")), channel, ts


def _seconds(value: Mapping[str, Any], name: str) -> float:
    """A moment of Slack's, which is written as text; 0.0 where there is none."""
    try:
        seconds = float(value.get(name) or 0.0)
    except (TypeError, ValueError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0
