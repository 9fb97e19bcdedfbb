"""Answering: what the pipeline is asked, what the asker sees of it, and what becomes of each kind of error."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from lore.errors import ConfigurationError, LoreError, ModelError, StoreError
from lore.records.leases import LeaseStore
from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records
from lore.slackbot.queue.leases import Lease
from lore.slackbot.render import phrases
from lore.slackbot.reply.answer_worker import AnswerWorker
from lore.slackbot.reply.delivery import Delivery
from lore.slackbot.reply.status import StatusIndicator
from lore.slackbot.slack_api.error_log import ErrorLog
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache
from lore.types import Message, Question
from sqlalchemy import text

from tests.slackbot.queues import BUTTONS, Clock, Scripted, make_lease, make_question, make_slack

HISTORY = (Message("user", "What is a key?"), Message("assistant", "A secret."))


class Stage:
    """Answers in the thread of the test; signs are shown at once."""

    def __init__(self, records: Records, pipeline: Scripted | None = None) -> None:
        self.clock = Clock()
        self.slack = make_slack()
        self.pipeline = pipeline or Scripted()
        self.claims = LeaseStore(records.engine, self.clock.moment)
        self.places = PostedAnswers(records.engine)
        pace, refused = RateBudgets(clock=self.clock), RefusalCache(clock=self.clock)
        self.answering = AnswerWorker(
            self.pipeline,
            self.places,
            StatusIndicator(self.slack, pace, refused, lambda task: task(), clock=self.clock),
            ErrorLog(clock=self.clock),
            history=lambda question, on_note: HISTORY,
            audiences=lambda question, on_note: ("public", f"slack:{question.channel}"),
            deliver=lambda lease: Delivery(lease, self.slack, lambda _: (BUTTONS,), pace, refused),
        )

    def question(self, **changes: Any) -> Lease:
        lease = make_lease(self.claims, make_question(self.slack, **changes), self.clock)
        self.answering.answer(lease)
        return lease

    def is_finished(self, lease: Lease) -> bool:
        self.clock.forward(1_000)
        return self.claims.expired() == [] and not self.claims.take(lease.question.key, "b", 30)


def fails(error: Exception, piece: int = 0) -> Scripted:
    def between(number: int, question: Question) -> None:
        if number == piece:
            raise error

    return Scripted(between=between)


def test_the_pipeline_is_asked_with_conversation_audiences_and_who_asks(records: Records) -> None:
    stage = Stage(records)
    stage.question(text="How do I rotate it?")
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
    stage.question()
    assert seen == [(0, False), (0, False), (1, True), (1, True)]
    [answer] = stage.slack.own("C1")
    assert stage.places.answer_at("T1", "C1", answer["ts"]) == "answer-1"


def test_the_asker_sees_what_is_being_done(records: Records) -> None:
    stage = Stage(records)
    stage.question()
    assert [status for _, _, status in stage.slack.statuses] == [
        phrases.SEARCHING,
        phrases.reading(3),
        phrases.WRITING,
    ]


def test_the_place_of_the_answer_is_kept_before_the_question_is_finished(records: Records) -> None:
    stage = Stage(records)
    lease = stage.question()
    [answer] = stage.slack.own("C1")
    assert stage.places.answer_at("T1", "C1", answer["ts"]) == "answer-1"
    assert stage.places.answered_in("T1", "C1", lease.question.ts)
    assert stage.is_finished(lease)


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
        lease = stage.question()
    [message] = stage.slack.own("C1")
    assert message["text"] == says
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert stage.is_finished(lease)


def test_an_error_in_the_middle_leaves_what_was_shown(records: Records) -> None:
    stage = Stage(records)

    def between(number: int, question: Question) -> None:
        stage.clock.forward(1)
        if number == 3:
            raise ModelError("It broke off.", retryable=True)

    stage.pipeline.between = between
    stage.pipeline.pieces = ("One sentence. ", "Two sentences. ", "Three sentences. ", "Four.")
    lease = stage.question()
    [message] = stage.slack.own("C1")
    assert "One sentence." in str(message["blocks"])
    assert phrases.MODEL_FAILED in str(message["blocks"])
    assert stage.is_finished(lease)


def test_where_slack_fails_for_the_moment_another_attempt_is_made_later(records: Records) -> None:
    stage = Stage(records)
    stage.slack.refuse("post", "ratelimited", times=1, retryable=True)
    lease = stage.question()
    assert stage.slack.own("C1") == []
    assert stage.claims.expired() == []  # not at once
    stage.clock.forward(31)
    assert [claim.key for claim in stage.claims.expired()] == [lease.question.key]


def test_where_slack_refuses_for_good_it_is_done(records: Records, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(records)
    stage.slack.channels["C1"]["is_archived"] = True
    assert stage.is_finished(stage.question())
    assert stage.is_finished(stage.question())
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


def test_where_the_place_cannot_be_kept_the_question_is_not_finished(records: Records) -> None:
    stage = Stage(records)
    with records.engine.begin() as connection:
        connection.execute(text("ALTER TABLE lore_places RENAME TO elsewhere"))
    lease = stage.question()
    assert len(stage.slack.own("C1")) == 1
    stage.clock.forward(31)
    assert [claim.key for claim in stage.claims.expired()] == [lease.question.key]


def test_a_question_that_was_lost_stops_the_pipeline(records: Records) -> None:
    stage = Stage(records)
    lost: list[Lease] = []
    reached: list[int] = []

    def between(number: int, question: Question) -> None:
        reached.append(number)
        lost[0].closed = True

    stage.pipeline.between = between
    lost.append(make_lease(stage.claims, make_question(stage.slack), stage.clock))
    stage.answering.answer(lost[0])
    assert stage.slack.own("C1") == []
    assert (reached, stage.pipeline.closed) == ([0], 1)
