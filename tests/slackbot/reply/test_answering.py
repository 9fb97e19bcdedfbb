"""Answering: what the pipeline is asked, what the asker sees of it, and what becomes of each kind of error."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from lore.errors import ConfigurationError, LoreError, ModelError, StoreError
from lore.records.claims import Claims
from lore.records.places import Places
from lore.records.records import Records
from lore.slackbot.queue.holds import Hold
from lore.slackbot.render import phrases
from lore.slackbot.reply.answering import Answering
from lore.slackbot.reply.delivery import Delivery
from lore.slackbot.reply.signs import Signs
from lore.slackbot.slack_api.pace import Pace, Refused
from lore.slackbot.slack_api.trouble import Trouble
from lore.types import Message, Question
from sqlalchemy import text

from tests.slackbot.desks import BUTTONS, Clock, Scripted, make_ask, make_hold, make_slack

HISTORY = (Message("user", "What is a key?"), Message("assistant", "A secret."))


class Stage:
    """Answers in the thread of the test; signs are shown at once."""

    def __init__(self, records: Records, pipeline: Scripted | None = None) -> None:
        self.clock = Clock()
        self.slack = make_slack()
        self.pipeline = pipeline or Scripted()
        self.claims = Claims(records.engine, self.clock.moment)
        self.places = Places(records.engine)
        pace, refused = Pace(clock=self.clock), Refused(clock=self.clock)
        self.answering = Answering(
            self.pipeline,
            self.places,
            Signs(self.slack, pace, refused, lambda task: task(), clock=self.clock),
            Trouble(clock=self.clock),
            history=lambda ask: HISTORY,
            audiences=lambda ask: ("public", f"slack:{ask.channel}"),
            deliver=lambda hold: Delivery(hold, self.slack, lambda _: (BUTTONS,), pace, refused),
        )

    def ask(self, **changes: Any) -> Hold:
        hold = make_hold(self.claims, make_ask(self.slack, **changes), self.clock)
        self.answering.answer(hold)
        return hold

    def is_finished(self, hold: Hold) -> bool:
        self.clock.forward(1_000)
        return self.claims.expired() == [] and not self.claims.take(hold.ask.key, "b", 30)


def fails(error: Exception, piece: int = 0) -> Scripted:
    def between(number: int, question: Question) -> None:
        if number == piece:
            raise error

    return Scripted(between=between)


def test_the_pipeline_is_asked_with_conversation_audiences_and_who_asks(records: Records) -> None:
    stage = Stage(records)
    stage.ask(text="How do I rotate it?")
    assert stage.pipeline.asked == [
        Question(
            "How do I rotate it?",
            history=HISTORY,
            audiences=("public", "slack:C1"),
            surface="slack",
            asker="slack:T1:U1",
        )
    ]


@pytest.mark.parametrize("streams", [True, False], ids=["stream", "update"])
def test_a_thread_is_the_bots_once_a_part_of_the_answer_is_seen(records: Records, streams: bool) -> None:
    seen: list[tuple[int, bool]] = []

    def between(number: int, question: Question) -> None:
        [asked, *answers] = stage.slack.messages["C1"]
        seen.append((len(answers), stage.places.answered_in("T1", "C1", asked)))
        assert all(stage.places.answer_at("T1", "C1", ts) is None for ts in answers)
        stage.clock.forward(1)

    stage = Stage(records, Scripted(between=between))
    if not streams:
        stage.slack.refuse("start_stream", "missing_scope", times=None)
    stage.ask()
    assert seen == [(0, False), (0, False), (1, True), (1, True)]
    [answer] = stage.slack.own("C1")
    assert stage.places.answer_at("T1", "C1", answer["ts"]) == "answer-1"


def test_the_asker_sees_what_is_being_done(records: Records) -> None:
    stage = Stage(records)
    stage.ask()
    assert [status for _, _, status in stage.slack.statuses] == [
        phrases.SEARCHING,
        phrases.reading(3),
        phrases.WRITING,
    ]


def test_the_place_of_the_answer_is_kept_before_the_question_is_finished(records: Records) -> None:
    stage = Stage(records)
    hold = stage.ask()
    [answer] = stage.slack.own("C1")
    assert stage.places.answer_at("T1", "C1", answer["ts"]) == "answer-1"
    assert stage.places.answered_in("T1", "C1", hold.ask.ts)
    assert stage.is_finished(hold)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        pytest.param(ModelError("No.", retryable=True), phrases.MODEL_FAILED, id="model"),
        pytest.param(StoreError("Locked."), phrases.INDEX_UNREADABLE, id="store"),
        pytest.param(ConfigurationError("No key."), phrases.MISCONFIGURED, id="configuration"),
        pytest.param(LoreError("Something."), phrases.TRY_AGAIN, id="other"),
        pytest.param(ZeroDivisionError("secret-token"), phrases.TRY_AGAIN, id="mistake"),
    ],
)
def test_an_error_ends_in_honest_words_and_one_line_in_the_log(
    records: Records, caplog: pytest.LogCaptureFixture, error: Exception, says: str
) -> None:
    stage = Stage(records, fails(error))
    with caplog.at_level(logging.INFO):
        hold = stage.ask()
    [message] = stage.slack.own("C1")
    assert message["text"] == says
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert stage.is_finished(hold)


def test_an_error_in_the_middle_leaves_what_was_shown(records: Records) -> None:
    stage = Stage(records)

    def between(number: int, question: Question) -> None:
        stage.clock.forward(1)
        if number == 3:
            raise ModelError("It broke off.", retryable=True)

    stage.pipeline.between = between
    stage.pipeline.pieces = ("One sentence. ", "Two sentences. ", "Three sentences. ", "Four.")
    hold = stage.ask()
    [message] = stage.slack.own("C1")
    assert "One sentence." in str(message["blocks"])
    assert phrases.MODEL_FAILED in str(message["blocks"])
    assert stage.is_finished(hold)


def test_where_slack_fails_for_the_moment_another_attempt_is_made_later(records: Records) -> None:
    stage = Stage(records)
    stage.slack.refuse("post", "ratelimited", times=1, retryable=True)
    hold = stage.ask()
    assert stage.slack.own("C1") == []
    assert stage.claims.expired() == []  # not at once
    stage.clock.forward(31)
    assert [claim.key for claim in stage.claims.expired()] == [hold.ask.key]


def test_where_slack_refuses_for_good_it_is_done(records: Records, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(records)
    stage.slack.channels["C1"]["is_archived"] = True
    assert stage.is_finished(stage.ask())
    assert stage.is_finished(stage.ask())
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


def test_where_the_place_cannot_be_kept_the_question_is_not_finished(records: Records) -> None:
    stage = Stage(records)
    with records.engine.begin() as connection:
        connection.execute(text("ALTER TABLE lore_places RENAME TO elsewhere"))
    hold = stage.ask()
    assert len(stage.slack.own("C1")) == 1
    stage.clock.forward(31)
    assert [claim.key for claim in stage.claims.expired()] == [hold.ask.key]


def test_a_question_that_was_lost_stops_the_pipeline(records: Records) -> None:
    stage = Stage(records)
    lost: list[Hold] = []
    reached: list[int] = []

    def between(number: int, question: Question) -> None:
        reached.append(number)
        lost[0].closed = True

    stage.pipeline.between = between
    lost.append(make_hold(stage.claims, make_ask(stage.slack), stage.clock))
    stage.answering.answer(lost[0])
    assert stage.slack.own("C1") == []
    assert (reached, stage.pipeline.closed) == ([0], 1)
