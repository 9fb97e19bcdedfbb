"""Feedback as people see it: the buttons below an answer, the modal for a reason, and the offer to give one."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

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
MAX_SOURCE = 100

_VERDICTS = {"helpful": True, "unhelpful": False}
_CARRIED = {"answer_id": "answer_id", "channel": "channel", "ts": "ts", "source": "voice"}
"""The attributes of a context and their names in Slack, where older messages have them too."""


@dataclass(frozen=True, slots=True)
class FeedbackContext:
    """The vote "not helpful" that a reason is asked for; it travels to Slack and back with the modal.

    `source` is that of the vote, `at` its time in seconds since the epoch, and `ts` that of the message.
    """

    answer_id: str
    channel: str
    ts: str
    source: str
    at: float

    def carried(self) -> str:
        """Return it as the text that Slack brings back."""
        return json.dumps({key: getattr(self, name) for name, key in _CARRIED.items()} | {"at": self.at})

    @staticmethod
    def read(text: str) -> FeedbackContext | None:
        """Read what `carried` returned; None for another text."""
        try:
            values = json.loads(text)
            answer_id, channel, ts, source = (str(values[key]) for key in _CARRIED.values())
            at = float(values["at"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return FeedbackContext(answer_id, channel, ts, source[:MAX_SOURCE], at) if math.isfinite(at) else None


def feedback_blocks(answer_id: str) -> Sequence[Block]:
    """Return Slack's feedback buttons for the end of an answer."""

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
    """Return the verdict of a button, True for helpful, and its answer's id; None for a value that isn't ours."""
    verdict, _, answer_id = value.partition(":")
    return (_VERDICTS[verdict], answer_id) if verdict in _VERDICTS and answer_id else None


def reason_view(context: FeedbackContext) -> Block:
    """Return the modal that asks for a reason."""
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
        "private_metadata": context.carried(),
        "title": _plain("Not helpful"),
        "submit": _plain("Send"),
        "close": _plain("Skip"),
        "blocks": [
            {
                "type": "input",
                "block_id": INPUT,
                "label": _plain("What was wrong or missing?"),
                "hint": _plain("This is saved with the answer. The people who run me can read it."),
                "element": field,
            }
        ],
    }


def offer_to_say_why(context: FeedbackContext) -> SlackMessage:
    """Return a message for the person who added a thumb down: a reaction can't open a modal, a button can."""
    button = {"type": "button", "action_id": WHY, "text": _plain("Say why"), "value": context.carried()}
    text = "Sorry this didn't help. What was wrong?"
    return SlackMessage(({"type": "section", "text": _plain(text), "accessory": button},), text)


def _plain(text: str) -> Block:
    return {"type": "plain_text", "text": text}
