"""Edited messages: a question with other words is asked anew, and a mention gained by an edit counts."""

from __future__ import annotations

import pytest
from lore.slackbot.events.incoming import Ignored
from lore.slackbot.types import SlackQuestion

from tests.slackbot.events.bodies import NOW, TS, asked, body, read

EDIT = "1764500100.900000"
OLD = "<@UBOT> How do I deploy 2?"


def edited(text: str, before: str = OLD, *, outer: dict | None = None, user: str = "U1", **message: object) -> dict:
    """Slack's event of a message that was edited."""
    old = {"type": "message", "user": user, "text": before, "ts": TS, "team": "T1"}
    new = {**old, "text": text, "edited": {"user": user, "ts": EDIT}, **message}
    given = body(subtype="message_changed", hidden=True, message=new, previous_message=old, ts=EDIT)
    place = {"channel": "C1", "channel_type": "channel", "user": None, "text": None, **(outer or {})}
    return {**given, "event": {**given["event"], **place}}


def test_a_question_with_other_words_is_asked_anew_in_its_thread() -> None:
    question = asked(edited("<@UBOT> How do I deploy 3?"))
    assert (question.text, question.via, question.ts, question.thread_ts) == ("How do I deploy 3?", "mention", TS, TS)
    assert question.key == f"T1:C1:{TS}:{EDIT}", "it is another question than the one before"


def test_a_mention_gained_by_an_edit_counts() -> None:
    assert asked(edited("<@UBOT> How do I deploy?", "How do I deploy?")).via == "mention"


def test_in_a_direct_message_too() -> None:
    place = {"channel": "D1", "channel_type": "im"}
    assert asked(edited("And 3?", "And 2?", outer=place)).via == "direct"


@pytest.mark.parametrize(
    "given",
    [
        edited(OLD),
        edited("<@UBOT>  how do I deploy 2!"),
        edited("How do I deploy 3?", "How do I deploy 2?"),
        edited("<@UBOT> How do I deploy 3?", edited=None),
        edited("<@UBOT> How do I deploy 3?", edited={"user": "U2", "ts": EDIT}),
        edited("<@UBOT> How do I deploy 3?", edited={"user": "U1", "ts": "soon"}),
        edited("<@UBOT> How do I deploy 3?", user="UBOT"),
        edited("<@UBOT> How do I deploy 3?", bot_id="B2"),
        edited("<@UBOT> How do I deploy 3?", subtype="tombstone"),
        edited("<@UBOT> thanks!"),
    ],
    ids=["a preview", "the same words", "no mention", "not by a person", "by another", "no time", "the bot's",
         "a bot's", "deleted", "thanks"],
)  # fmt: skip
def test_other_changes_are_left_alone(given: dict) -> None:
    assert isinstance(read(given), Ignored)


def test_an_edit_counts_for_a_day_and_its_delivery_for_an_hour() -> None:
    late = str(float(TS) + 20 * 3600)
    given = edited("<@UBOT> How do I deploy 3?", edited={"user": "U1", "ts": late})
    assert isinstance(read(given, now=float(late) + 3_000), SlackQuestion)
    assert isinstance(read(given, now=float(late) + 4_000), Ignored)
    later = str(NOW + 25 * 3600)
    given = edited("<@UBOT> How do I deploy 3?", edited={"user": "U1", "ts": later})
    assert isinstance(read(given, now=float(later)), Ignored)
