"""What people see of feedback: the buttons below an answer, the modal for a reason, and the offer to give one."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from lore.slackbot.types import Block, SlackMessage

__all__ = [
    "INPUT",
    "MAX_REASON",
    "PRESSED",
    "REASON",
    "WHY",
    "FeedbackContext",
    "feedback_blocks",
    "offer_to_say_why",
    "reason_view",
    "verdict_of",
]

PRESSED = "lore_feedback"
"""Action id of the two buttons below an answer."""
WHY = "lore_feedback_why"
"""Action id of the button that opens the modal."""
REASON = "lore_feedback_reason"
"""Callback id of the modal."""
INPUT = "reason"
"""Block id and action id of its text."""
MAX_REASON = 1_000
MAX_VOICE = 100

_VERDICTS = {"helpful": True, "unhelpful": False}


@dataclass(frozen=True, slots=True)
class FeedbackContext:
    """That an answer did not help, said by a voice (a button, a reaction), at a moment in seconds since the epoch.
    It travels to Slack and back with the reason that is asked for. `ts` is that of the message with the answer.
    """

    answer_id: str
    channel: str
    ts: str
    voice: str
    at: float

    def carried(self) -> str:
        """As a text, in which Slack brings it back."""
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> FeedbackContext | None:
        """What `carried` made; None for another text."""
        try:
            values = json.loads(text)
            names = ("answer_id", "channel", "ts", "voice")
            answer_id, channel, ts, voice = (str(values[name]) for name in names)
            at = float(values["at"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return FeedbackContext(answer_id, channel, ts, voice[:MAX_VOICE], at) if math.isfinite(at) else None


def feedback_blocks(answer_id: str) -> Sequence[Block]:
    """Slack's feedback buttons, to stand below the last part of an answer."""

    def button(text: str, label: str, verdict: str) -> Block:
        return {"text": _plain(text), "accessibility_label": label, "value": f"{verdict}:{answer_id}"}

    buttons = {
        "type": "feedback_buttons",
        "action_id": PRESSED,
        "positive_button": button("Helpful", "This answer helped", "helpful"),
        "negative_button": button("Not helpful", "This answer did not help", "unhelpful"),
    }
    return ({"type": "context_actions", "elements": [buttons]},)


def verdict_of(value: str) -> tuple[bool, str] | None:
    """Whether the button with this value says "helpful", and of which answer; None for a value that is not ours."""
    verdict, _, answer_id = value.partition(":")
    return (_VERDICTS[verdict], answer_id) if verdict in _VERDICTS and answer_id else None


def reason_view(judgement: FeedbackContext) -> Block:
    """The modal that asks what was wrong."""
    field = {
        "type": "plain_text_input",
        "action_id": INPUT,
        "multiline": True,
        "max_length": MAX_REASON,
        "focus_on_load": True,
    }
    return {
        "type": "modal",
        "callback_id": REASON,
        "private_metadata": judgement.carried(),
        "title": _plain("Not helpful"),
        "submit": _plain("Send"),
        "close": _plain("Skip"),
        "blocks": [
            {
                "type": "input",
                "block_id": INPUT,
                "label": _plain("What was wrong or missing?"),
                "hint": _plain("It is kept with the answer. The people who look after me can read it."),
                "element": field,
            }
        ],
    }


def offer_to_say_why(judgement: FeedbackContext) -> SlackMessage:
    """A question for whoever reacted with a thumb down: a reaction cannot open a modal, a button can."""
    button = {"type": "button", "action_id": WHY, "text": _plain("Say why"), "value": judgement.carried()}
    text = "Sorry that this did not help. What was wrong?"
    return SlackMessage(({"type": "section", "text": _plain(text), "accessory": button},), text)


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text}
