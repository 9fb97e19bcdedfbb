"""The feedback handlers over a workspace in memory, and the bodies that Slack sends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records
from lore.slackbot.feedback.handlers import PRESSED, FeedbackHandlers, feedback_blocks
from lore.slackbot.feedback.maintainers import MaintainersChannel
from lore.slackbot.feedback.views import INPUT

from tests.slackbot.fake_slack import BOT, FakeSlack

ANSWER = "a" * 32


TS = "1764500001.000100"


TRACE = "https://traces.example.com/{id}?tab=1"


START = 1_764_500_100.0


Body = dict[str, Any]


@dataclass
class Bot:
    """The handlers over a workspace in memory and records in a file; one answer is in #general (C1), asked by U1."""

    slack: FakeSlack
    records: Records
    feedback: FeedbackHandlers
    flushes: list[float] = field(default_factory=list)
    while_waiting: list[Callable[[], object]] = field(default_factory=list)

    def opinions(self, answer_id: str = ANSWER) -> list[tuple[str, bool, str]]:
        return sorted((one.asker, one.helpful, one.reason) for one in self.records.get(answer_id).feedback)

    def told(self) -> list[dict[str, Any]]:
        return self.slack.own("CMAINT")


def make_bot(slack: FakeSlack, records: Records, *, channel: str = "CMAINT", trace_url: str = "") -> Bot:
    places = PostedAnswers(records.engine)
    opinions = records.opinions()
    maintainers = MaintainersChannel(slack, opinions, records.get, channel=channel, trace_url=trace_url)
    waiting: list[Callable[[], object]] = []
    flushes: list[float] = []

    def pause(_: float) -> None:
        if waiting:
            waiting.pop(0)()

    def asker_of(answer_id: str) -> str:
        return records.get(answer_id).answer.question.asker

    feedback = FeedbackHandlers(
        slack,
        places,
        opinions,
        maintainers,
        me=BOT,
        asker_of=asker_of,
        flush=flushes.append,
        pause=pause,
        clock=lambda: START,
    )
    return Bot(slack, records, feedback, flushes, waiting)


def redact(text: str) -> str:
    return text.replace("hunter2", "[REDACTED]")


def press(value: str, user: str = "U1", *, channel: str = "C1", at: float = START, action: str = PRESSED) -> Body:
    return {
        "type": "block_actions",
        "user": {"id": user, "team_id": "T1"},
        "team": {"id": "T1"},
        "trigger_id": f"trigger-{at}",
        "channel": {"id": channel},
        "container": {"type": "message", "message_ts": TS, "channel_id": channel, "is_ephemeral": False},
        "actions": [{"type": "feedback_buttons", "action_id": action, "value": value, "action_ts": f"{at:.6f}"}],
    }


def button(which: str, answer_id: str = ANSWER) -> str:
    """The value of a button, out of the blocks as Slack shows them."""
    [block] = feedback_blocks(answer_id)
    return str(block["elements"][0][f"{which}_button"]["value"])


def reaction(name: str, user: str = "U1", *, added: bool = True, at: float = START, **event: Any) -> Body:
    said = {
        "type": "reaction_added" if added else "reaction_removed",
        "user": user,
        "reaction": name,
        "item": {"type": "message", "channel": "C1", "ts": TS},
        "item_user": BOT.user,
        "event_ts": f"{at:.6f}",
        **event,
    }
    return {"type": "event_callback", "team_id": "T1", "event_id": f"Ev{at}", "event": said}


def submission(view: Mapping[str, Any], text: str | None, user: str = "U1") -> Body:
    """What Slack sends when the view that it was given is filled in and sent."""
    state = {"values": {INPUT: {INPUT: {"type": "plain_text_input", "value": text}}}}
    return {
        "type": "view_submission",
        "user": {"id": user},
        "team": {"id": "T1"},
        "view": {"id": "V1", "state": state, **{key: view[key] for key in ("callback_id", "private_metadata")}},
    }


def with_reason(bot: Bot, text: str | None, *, channel: str = "C1", user: str = "U1", ephemeral: bool = False) -> None:
    body = press(button("negative"), user, channel=channel)
    body["container"]["is_ephemeral"] = ephemeral
    bot.feedback.on_button(body)
    bot.feedback.on_reason(submission(bot.slack.views[-1][1], text, user))
