"""Feedback: each person's last word on an answer is kept, once, and the maintainers hear of what did not help."""

from __future__ import annotations

from functools import partial

import pytest
from lore.records.posted_answers import PostedAnswers
from lore.slackbot.feedback.handlers import PRESSED, REASON, WHY, feedback_blocks
from lore.slackbot.feedback.views import MAX_REASON

from tests.records.answers import full_answer
from tests.slackbot.fake_slack import BOT
from tests.slackbot.feedback.bot import (
    ANSWER,
    START,
    TS,
    Body,
    Bot,
    button,
    press,
    reaction,
    submission,
)

# ------------------------------------------------------------------------------------------------- what Slack is given


def test_the_buttons_are_what_slack_takes() -> None:
    from slack_sdk.models.blocks import Block

    [block] = feedback_blocks(ANSWER)
    parsed = Block.parse(block)
    assert parsed is not None
    assert parsed.to_dict() == block
    assert block["type"] == "context_actions"
    [element] = block["elements"]
    assert (element["type"], element["action_id"]) == ("feedback_buttons", PRESSED)
    for which in ("positive_button", "negative_button"):
        assert element[which]["text"]["type"] == "plain_text"
        assert ANSWER in element[which]["value"]
        assert len(element[which]["accessibility_label"]) <= 75


def test_the_modal_is_what_slack_takes(bot: Bot) -> None:
    from slack_sdk.models.views import View

    bot.feedback.on_button(press(button("negative")))
    [(trigger, view)] = bot.slack.views
    assert trigger == f"trigger-{START}"
    assert view["callback_id"] == REASON
    View(**view).validate_json()
    assert len(view["private_metadata"]) <= 3000
    assert view["blocks"][0]["element"]["max_length"] == MAX_REASON
    assert len(view["title"]["text"]) <= 24


# ------------------------------------------------------------------------------------------------------------- buttons


def test_a_press_is_kept_with_the_answer(bot: Bot) -> None:
    bot.feedback.on_button(press(button("positive")))
    assert bot.opinions() == [("slack:T1:U1", True, "")]
    assert bot.slack.views == []
    assert bot.told() == []


def test_a_changed_mind_is_counted_once(bot: Bot) -> None:
    bot.feedback.on_button(press(button("positive"), at=START))
    bot.feedback.on_button(press(button("negative"), at=START + 1))
    bot.feedback.on_button(press(button("positive"), "U2", at=START + 2))
    bot.feedback.on_button(press(button("positive"), at=START))  # came once more
    assert bot.opinions() == [("slack:T1:U1", False, ""), ("slack:T1:U2", True, "")]


def test_the_modal_opens_before_anything_is_written(bot: Bot) -> None:
    seen: list[object] = []
    bot.slack.before = lambda name, _: seen.append(bot.opinions()) if name == "open_view" else None
    bot.feedback.on_button(press(button("negative")))
    assert seen == [[]]
    assert bot.opinions() == [("slack:T1:U1", False, "")]


def test_an_expired_trigger_does_not_lose_the_opinion(bot: Bot) -> None:
    bot.slack.refuse("open_view", "expired_trigger_id")
    bot.feedback.on_button(press(button("negative")))
    assert bot.opinions() == [("slack:T1:U1", False, "")]


def test_an_answer_that_is_still_being_written_is_waited_for(bot: Bot) -> None:
    bot.while_waiting += [lambda: None, lambda: bot.records.add(full_answer("b" * 32))]
    keep = partial(PostedAnswers(bot.records.engine).keep, "T1", "CNEW", TS, thread_ts="1.0", asker="slack:T1:U1")
    keep(answer_id="b" * 32)
    bot.feedback.on_button(press(button("positive", "b" * 32), channel="CNEW"))
    assert bot.opinions("b" * 32) == [("slack:T1:U1", True, "")]
    assert len(bot.flushes) == 2


def test_an_answer_that_is_never_written_is_given_up(bot: Bot, caplog: pytest.LogCaptureFixture) -> None:
    bot.feedback.on_button(press(button("negative", "b" * 32)))
    assert 0 < len(bot.flushes) < 10
    assert sum(bot.flushes) < 10
    assert "no answer bbbb" in caplog.text
    assert bot.told() == []


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({}, id="empty"),
        pytest.param({"actions": None, "user": None}, id="nulls"),
        pytest.param(press("unhelpful"), id="no answer"),
        pytest.param(press("other:aaaa"), id="another verdict"),
        pytest.param(press(f"helpful:{ANSWER}", action="other"), id="another action"),
        pytest.param({**press(f"helpful:{ANSWER}"), "user": {}}, id="nobody"),
    ],
)
def test_what_is_no_press_is_left_alone(bot: Bot, body: Body) -> None:
    for handler in (bot.feedback.on_button, bot.feedback.on_why, bot.feedback.on_reason, bot.feedback.on_reaction):
        handler(body)
    assert bot.opinions() == []
    assert bot.slack.calls == []


# ----------------------------------------------------------------------------------------------------------- reactions


@pytest.mark.parametrize("name", ["+1", "thumbsup", "+1::skin-tone-2", "thumbsup::skin-tone-6"])
def test_a_thumb_up_is_helpful(bot: Bot, name: str) -> None:
    bot.feedback.on_reaction(reaction(name))
    assert bot.opinions() == [("slack:T1:U1", True, "")]
    assert bot.slack.ephemerals == []


@pytest.mark.parametrize("name", ["-1", "thumbsdown", "-1::skin-tone-4", "thumbsdown::skin-tone-3"])
def test_a_thumb_down_is_not_and_a_reason_is_asked_for(bot: Bot, name: str) -> None:
    for _ in range(2):  # delivered twice
        bot.feedback.on_reaction(reaction(name))
    assert bot.opinions() == [("slack:T1:U1", False, "")]
    [offer] = bot.slack.ephemerals
    assert (offer["channel"], offer["user"], offer["thread_ts"]) == ("C1", "U1", "1764500000.000100")
    bot.feedback.on_why(press(offer["blocks"][0]["accessory"]["value"], action=WHY, at=START + 5))
    [(_, view)] = bot.slack.views
    bot.feedback.on_reason(submission(view, "It is old."))
    assert bot.opinions() == [("slack:T1:U1", False, "It is old.")]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(reaction("eyes"), id="another emoji"),
        pytest.param(reaction("+1::skin-tone-9"), id="no skin tone"),
        pytest.param(reaction("+1", BOT.user), id="the bot itself"),
        pytest.param(reaction("+1", "UOTHERBOT"), id="another bot"),
        pytest.param(reaction("+1", "USLACKBOT"), id="slackbot"),
        pytest.param(reaction("+1", "UUNKNOWN"), id="nobody"),
        pytest.param(reaction("+1", item_user="U2"), id="a person's message"),
        pytest.param(reaction("+1", item={"type": "file", "file": "F1"}), id="a file"),
        pytest.param(reaction("+1", item={"type": "message", "channel": "C1", "ts": "1.0"}), id="no answer"),
        pytest.param(reaction("+1", item={"type": "message", "channel": "C2", "ts": TS}), id="another channel"),
    ],
)
def test_what_is_no_persons_thumb_on_an_answer_counts_for_nothing(bot: Bot, body: Body) -> None:
    bot.slack.add_user("UOTHERBOT", is_bot=True)
    bot.slack.add_user("USLACKBOT", is_bot=False)
    bot.feedback.on_reaction(body)
    assert bot.opinions() == []
    assert bot.slack.ephemerals == []


def test_a_person_that_slack_does_not_tell_of_counts(bot: Bot) -> None:
    bot.slack.refuse("user", "ratelimited")
    bot.feedback.on_reaction(reaction("+1"))
    assert bot.opinions() == [("slack:T1:U1", True, "")]


def test_a_reaction_to_an_answer_that_grows_counts_for_nothing_and_does_no_harm(bot: Bot) -> None:
    growing = bot.slack.say("C1", BOT.user, "An ans")["ts"]
    keep = partial(PostedAnswers(bot.records.engine).keep, "T1", "C1", growing, thread_ts="1.0", asker="slack:T1:U1")
    keep(answer_id="")
    early = reaction("-1")
    early["event"]["item"]["ts"] = growing
    bot.feedback.on_reaction(early)
    assert bot.records.get(ANSWER).feedback == ()
    keep(answer_id=ANSWER)
    bot.feedback.on_reaction(early)
    assert [one.helpful for one in bot.records.get(ANSWER).feedback] == [False]


def test_taking_a_reaction_away_takes_back_what_it_said_and_no_more(bot: Bot) -> None:
    bot.feedback.on_reaction(reaction("-1", at=START))
    bot.feedback.on_reaction(reaction("-1", added=False, at=START + 1))
    assert bot.opinions() == []
    bot.feedback.on_reaction(reaction("-1", at=START + 2))
    bot.feedback.on_button(press(button("positive"), at=START + 3))
    bot.feedback.on_reaction(reaction("-1", added=False, at=START + 4))
    assert bot.opinions() == [("slack:T1:U1", True, "")]


def test_events_out_of_order_end_as_if_they_were_in_order(bot: Bot) -> None:
    bot.feedback.on_reaction(reaction("+1", added=False, at=START + 2))
    bot.feedback.on_reaction(reaction("+1", at=START + 1))
    assert bot.opinions() == []
    bot.feedback.on_reaction(reaction("+1", at=START + 3))
    assert bot.opinions() == [("slack:T1:U1", True, "")]


# ------------------------------------------------------------------------------------------------------------- reasons


# --------------------------------------------------------------------------------------------------------- maintainers
