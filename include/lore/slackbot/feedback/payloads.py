"""Payloads that Slack sends when somebody judges an answer, read into values; None for anything else."""

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
    """A press of a feedback button. `ts` is that of the message, "" for an ephemeral one; `at` is in seconds since the
    epoch.
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
    """A press of the button "Say why"."""

    context: FeedbackContext
    trigger: str


@dataclass(frozen=True, slots=True)
class Reaction:
    """A thumb that was added to a message or removed; `author` wrote the message, "" if Slack doesn't say."""

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
    """The text that was submitted with the modal."""

    context: FeedbackContext
    user: str
    text: str


def read_press(body: Mapping[str, Any]) -> ButtonPress | None:
    """Read a press of a feedback button from a `block_actions` payload."""
    action = _action(body, PRESSED)
    verdict = verdict_of(as_text(action.get("value")))
    container = as_mapping(body.get("container"))
    user = _user(body)
    if verdict is None or not user:
        return None
    helpful, answer_id = verdict
    channel = as_text(container.get("channel_id")) or as_text(as_mapping(body.get("channel")).get("id"))
    ts = as_text(container.get("message_ts")) or as_text(as_mapping(body.get("message")).get("ts"))
    at, trigger = _seconds(action, "action_ts"), as_text(body.get("trigger_id"))
    return ButtonPress(answer_id, helpful, user, channel, "" if container.get("is_ephemeral") else ts, at, trigger)


def read_why(body: Mapping[str, Any]) -> ReasonButtonPress | None:
    """Read a press of the button "Say why" from a `block_actions` payload."""
    context = FeedbackContext.read(as_text(_action(body, WHY).get("value")))
    return ReasonButtonPress(context, as_text(body.get("trigger_id"))) if context else None


def read_reaction(body: Mapping[str, Any]) -> Reaction | None:
    """Read a thumb from a `reaction_added` or `reaction_removed` event."""
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
    """Read the modal from a `view_submission` payload; None if it is empty."""
    view = as_mapping(body.get("view"))
    context = FeedbackContext.read(as_text(view.get("private_metadata")))
    field = as_mapping(as_mapping(as_mapping(as_mapping(view.get("state")).get("values")).get(INPUT)).get(INPUT))
    text, user = as_text(field.get("value")).strip()[:MAX_REASON], _user(body)
    return SubmittedReason(context, user, text) if context and user and text else None


def _action(body: Mapping[str, Any], action_id: str) -> Mapping[str, Any]:
    return next((one for one in as_mappings(body.get("actions")) if one.get("action_id") == action_id), {})


def _user(body: Mapping[str, Any]) -> str:
    return as_text(as_mapping(body.get("user")).get("id"))


def _seconds(value: Mapping[str, Any], name: str) -> float:
    """Return a time, which Slack writes as text; 0.0 if there is none."""
    try:
        seconds = float(value.get(name) or 0.0)
    except (TypeError, ValueError):
        return 0.0
    return seconds if math.isfinite(seconds) else 0.0
