"""The maintainers' channel: told once of an answer that did not help, and of nothing private."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest
from lore.records.records import Records

from tests.slackbot.fake_slack import FakeSlack
from tests.slackbot.feedback.bot import (
    ANSWER,
    START,
    TRACE,
    TS,
    Bot,
    button,
    make_bot,
    press,
    reaction,
    submission,
    with_reason,
)


def texts(blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    """What stands in rich text, element by element; anything but text and links fails."""
    [block] = blocks
    assert block["type"] == "rich_text"
    elements = [one for part in block["elements"] for one in part["elements"]]
    assert {one["type"] for one in elements} <= {"text", "link"}
    return [f"{one['text']} ({one['url']})" if one["type"] == "link" else one["text"] for one in elements]


def test_the_maintainers_are_told_once_and_the_reason_follows(bot: Bot) -> None:
    bot.feedback.on_button(press(button("negative")))
    [first] = bot.told()
    link = f"An answer (https://acme.slack.com/archives/C1/p{TS.replace('.', '')})"
    question = "Where is <!channel> *the* key, [REDACTED]?"
    command = f"lore answers show {ANSWER}"
    assert texts(first["blocks"]) == [link, " didn't help.", question, command]
    assert first["text"] == f"An answer didn't help. {command}"
    bot.feedback.on_button(press(button("negative")))  # came once more
    bot.feedback.on_reason(submission(bot.slack.views[0][1], "Say <!here> and <@U2>: *hunter2*"))
    [second] = bot.told()
    reason = "Say <!here> and <@U2>: *[REDACTED]*"
    assert texts(second["blocks"]) == [link, " didn't help.", question, "Reason:", reason, command]
    assert reason not in second["text"]
    assert second["ts"] == first["ts"]


class Meanwhile:
    """A workspace in which something happens right after each post."""

    def __init__(self, slack: FakeSlack, happens: Callable[[], object]) -> None:
        self._slack = slack
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._slack, name)

    def post(self, *arguments: Any, **options: Any) -> str:
        ts = self._slack.post(*arguments, **options)
        self._happens()
        return ts


def test_who_is_forgotten_while_the_maintainers_are_told_is_forgotten_there_too(
    slack: FakeSlack, records: Records
) -> None:
    bot = make_bot(cast("FakeSlack", Meanwhile(slack, lambda: records.forget("slack:T1:U2"))), records)
    bot.feedback.on_button(press(button("negative"), "U2"))
    assert bot.told() == []


def test_nothing_that_people_type_is_hidden_from_the_maintainers(bot: Bot) -> None:
    with_reason(bot, "It is \u202edlo\u202c and\u200b \U000e0041long")
    assert "It is dlo and long" in texts(bot.told()[0]["blocks"])


def test_the_maintainers_are_told_of_a_changed_mind(bot: Bot) -> None:
    with_reason(bot, "It is old.")
    bot.feedback.on_button(press(button("positive"), at=START + 1))
    [message] = bot.told()
    assert "didn't help; the person has since found it helpful." in message["text"]
    assert "It is old." not in texts(message["blocks"])
    bot.feedback.on_reaction(reaction("-1", "U2", at=START + 2))
    bot.feedback.on_reaction(reaction("-1", "U2", at=START + 3, added=False))
    [message] = bot.told()
    assert "and helped 1 person; nobody finds it unhelpful any more." in message["text"]


def test_each_press_changes_the_one_message_of_an_answer(bot: Bot) -> None:
    for number, user in enumerate(("U1", "U2", "U3")):
        bot.feedback.on_button(press(button("negative"), user, at=START + number))
        bot.feedback.on_reason(submission(bot.slack.views[-1][1], f"{user} says why", user))
    bot.feedback.on_button(press(button("positive"), "U3", at=START + 9))
    [message] = bot.told()
    assert message["text"].startswith("An answer didn't help 2 people, and helped 1 person.")
    shown = texts(message["blocks"])
    assert "Reasons:" in shown and "U1 says why" in shown and "U2 says why" in shown and "U3 says why" not in shown


@pytest.mark.parametrize(
    ("channel", "ephemeral"),
    [
        pytest.param("CPRIV", False, id="private channel"),
        pytest.param("D1", False, id="direct message"),
        pytest.param("C1", True, id="command"),
        pytest.param("CGONE", False, id="unknown channel"),
    ],
)
def test_what_was_asked_in_private_is_not_repeated(bot: Bot, channel: str, ephemeral: bool) -> None:
    with_reason(bot, "It is old.", channel=channel, ephemeral=ephemeral)
    [message] = bot.told()
    shown = texts(message["blocks"])
    assert shown[1:] == [" didn't help.", "Reason:", "It is old.", f"lore answers show {ANSWER}"]
    assert "key" not in json.dumps(message)
    assert (TS.replace(".", "") in shown[0]) == (not ephemeral and channel != "CGONE")


def test_the_trace_is_linked_where_there_is_one(slack: FakeSlack, records: Records) -> None:
    bot = make_bot(slack, records, trace_url=TRACE)
    bot.feedback.on_button(press(button("negative")))
    [message] = bot.told()
    assert texts(message["blocks"])[-1] == f"Show the trace (https://traces.example.com/{ANSWER}?tab=1)"


def test_nobody_is_told_without_a_channel(slack: FakeSlack, records: Records) -> None:
    bot = make_bot(slack, records, channel="")
    bot.feedback.on_button(press(button("negative")))
    assert bot.opinions() == [("slack:T1:U1", False, "")]
    assert slack.counts()["post"] == 0


def test_a_channel_that_refuses_is_named_once(bot: Bot, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)
    bot.slack.refuse("post", "not_in_channel", times=None, channel="CMAINT")
    bot.feedback.on_button(press(button("negative")))
    bot.feedback.on_button(press(button("negative"), "U2"))
    assert [record.message for record in caplog.records if "CMAINT" in record.message] == [
        "Couldn't tell the maintainers' channel CMAINT of an answer: Slack refused post: not_in_channel. Look it up."
    ]
    assert len(bot.opinions()) == 2


def test_a_reason_that_comes_while_the_first_message_is_posted_is_told(slack: FakeSlack, records: Records) -> None:
    first, second = make_bot(slack, records), make_bot(slack, records)  # two processes

    def send_the_reason(name: str, _: Mapping[str, Any]) -> None:
        if name == "post":
            slack.before = None
            second.feedback.on_reason(submission(slack.views[0][1], "It is old."))

    slack.before = send_the_reason
    first.feedback.on_button(press(button("negative")))
    [message] = first.told()
    assert "It is old." in texts(message["blocks"])
