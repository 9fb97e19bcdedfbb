"""Reasons: kept with the vote they belong to, and only from people who saw the answer."""

from __future__ import annotations

import json

import pytest
from lore.slackbot.feedback.handlers import REASON
from lore.slackbot.feedback.views import MAX_REASON
from lore.types import Question

from tests.records.answers import full_answer
from tests.slackbot.fake_slack import FakeSlack
from tests.slackbot.feedback.bot import (
    ANSWER,
    START,
    TS,
    Bot,
    button,
    make_bot,
    press,
    submission,
    with_reason,
)


def test_a_reason_is_kept_redacted_and_bounded(bot: Bot) -> None:
    with_reason(bot, "hunter2 " + "x" * 5000)
    [(asker, helpful, reason)] = bot.opinions()
    assert (asker, helpful) == ("slack:T1:U1", False)
    assert reason.startswith("[REDACTED] xxx")
    assert len(reason) < MAX_REASON + 20


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_an_empty_reason_changes_nothing(bot: Bot, text: str | None) -> None:
    with_reason(bot, text)
    assert bot.opinions() == [("slack:T1:U1", False, "")]
    assert len(bot.told()) == 1


def test_a_reason_that_overtakes_its_press_is_kept(bot: Bot) -> None:
    other = make_bot(FakeSlack(), bot.records, channel="")  # another process, whose database is slow
    other.feedback.on_button(press(button("negative", "b" * 32)))
    view = {**other.slack.views[0][1]}
    view["private_metadata"] = view["private_metadata"].replace("b" * 32, ANSWER)
    bot.feedback.on_reason(submission(view, "It is old."))
    bot.feedback.on_button(press(button("negative")))
    assert bot.opinions() == [("slack:T1:U1", False, "It is old.")]


def carried(**changes: object) -> str:
    """What the modal of U1's press brings back, changed."""
    whole = {"answer_id": ANSWER, "channel": "C1", "ts": TS, "voice": "button", "at": START, **changes}
    return json.dumps(whole)


ELSEWHERE = {
    "an answer of another channel": {"answer_id": "c" * 32},
    "another channel": {"channel": "CPUBLIC"},
    "another message": {"ts": "1764500001.000101"},
    "no message, by somebody who did not ask": {"ts": ""},
    "what begins an id": {"answer_id": ANSWER[:8]},
}


@pytest.mark.parametrize("changes", ELSEWHERE.values(), ids=ELSEWHERE)
def test_nobody_judges_or_is_told_of_an_answer_by_its_id_alone(bot: Bot, changes: dict[str, str]) -> None:
    secret = Question("When is WOMBAT launched?", asker="slack:T1:U7", surface="slack", audiences=("slack:CB",))
    bot.records.add(full_answer("c" * 32, asker="slack:T1:U7", question=secret))
    bot.slack.add_channel("CPUBLIC", members=("U2",))
    about = json.loads(carried(**changes))
    forged = press(f"unhelpful:{about['answer_id']}", "U2", channel=about["channel"])
    forged["container"] |= {"message_ts": about["ts"], "is_ephemeral": not about["ts"]}
    bot.feedback.on_button(forged)
    view = {"callback_id": REASON, "private_metadata": carried(**changes)}
    bot.feedback.on_reason(submission(view, "It is old.", "U2"))
    assert bot.opinions() == bot.opinions("c" * 32) == []
    assert bot.told() == []


def test_who_asked_may_judge_where_no_place_is_kept(bot: Bot) -> None:
    bot.feedback.on_button(press(button("negative"), channel="DWHISPERED"))
    assert bot.opinions() == [("slack:T1:U1", False, "")]


def test_a_modal_that_is_not_ours_is_left_alone(bot: Bot) -> None:
    endless = carried(at=float("inf")), carried(at=float("nan")), "[" * 3_000, '{"a":' * 1_000
    for metadata in ("", "{", "[]", "null", '{"answer_id": "x"}', json.dumps({"at": "never"}), *endless):
        bot.feedback.on_reason(submission({"callback_id": REASON, "private_metadata": metadata}, "Why not?"))
    assert bot.opinions() == []
