"""The desk: each question is kept before it is taken, gets a sign at once, waits its turn, and is answered once."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from lore.errors import RecordsError
from lore.records.engine import open_engine
from lore.records.leases import LeaseStore
from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records
from lore.slackbot.queue.leases import HeldLeases
from lore.slackbot.render import phrases
from sqlalchemy import text

from tests.slackbot.fake_slack import FakeSlack
from tests.slackbot.queue.house import SECONDS, House
from tests.slackbot.queues import Clock, Scripted, make_question, make_queue, make_slack, shown_key


def until(slack: FakeSlack, name: str, **wanted: str) -> threading.Event:
    """An event that comes when a verb of Slack is called, with these arguments."""
    called = threading.Event()

    def look(verb: str, arguments: Mapping[str, Any]) -> None:
        if verb == name and wanted.items() <= arguments.items():
            called.set()

    slack.before = look
    return called


def test_a_question_is_answered_in_its_thread(house: House) -> None:
    queue = house.open()
    question = make_question(house.slack)
    queue.take(question)
    house.finish()
    [answer] = house.slack.own("C1")
    assert answer["thread_ts"] == question.ts
    assert "Open the settings, press rotate, and copy the new key." in str(answer["blocks"])
    assert answer["metadata"]["event_payload"] == {"key": question.key, "answer": "answer-1", "part": "1/1"}
    assert house.places.answer_at("T1", "C1", answer["ts"]) == "answer-1"
    assert house.places.answered_in("T1", "C1", question.ts)
    assert house.is_finished(question.key)


def test_what_is_delivered_often_is_answered_once(house: House) -> None:
    queue = house.open()
    question = make_question(house.slack)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(queue.take, [question] * 40))
    house.finish()
    queue = house.open(owner="after a restart")
    queue.take(question)
    house.finish()
    assert len(house.slack.own("C1")) == 1


def test_thousands_of_deliveries_to_two_processes_are_one_answer_each(records_url: str, house: House) -> None:
    questions = [make_question(house.slack, f"Question {number}?", user=f"U{number % 7}") for number in range(30)]
    limits = {"slack_user_limit": 0, "slack_channel_limit": 0}
    with Records(open_engine(records_url), str) as other:
        first = house.open(owner="a", **limits)
        house.claims, house.places = LeaseStore(other.engine), PostedAnswers(other.engine)
        second = house.open(owner="b", **limits)
        deliveries = [((first, second)[number % 2], questions[number * 17 % 30]) for number in range(1_200)]
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(lambda delivery: delivery[0].take(delivery[1]), deliveries))
        house.finish()
    assert Counter(map(shown_key, house.slack.own("C1"))) == Counter(question.key for question in questions)


def test_what_cannot_be_kept_is_not_taken(house: House, records: Records) -> None:
    queue = house.open()
    with records.engine.begin() as connection:
        connection.execute(text("ALTER TABLE lore_claims RENAME TO elsewhere"))
    with pytest.raises(RecordsError):
        queue.take(make_question(house.slack))
    house.finish()
    assert house.slack.calls == []


def test_there_is_a_sign_before_anybody_works_on_it(house: House) -> None:
    status = until(house.slack, "set_status")
    queue = make_queue(house.slack, house.claims, house.places, Scripted())
    question = make_question(house.slack)
    queue.take(question)
    assert status.wait(SECONDS)
    queue.stop()
    assert house.statuses(question.ts) == [phrases.LOOKING]


def test_who_waits_is_told_the_place_and_when_it_moves(house: House) -> None:
    clock = Clock()
    queue = house.gated(clock=clock, slack_workers=1)
    questions = [make_question(house.slack, f"Question {number}?", user=f"U{number}") for number in range(3)]
    for question in questions:
        queue.take(question)
        house.gate.wait(1)
    house.finish()
    assert phrases.waiting(1) in house.statuses(questions[1].ts)
    assert phrases.waiting(2) in house.statuses(questions[2].ts)


def test_a_place_that_moved_is_shown_by_the_next_beat(house: House) -> None:
    queue = house.gated(slack_workers=1)
    questions = [make_question(house.slack, f"Question {number}?", user=f"U{number}") for number in range(3)]
    for question in questions:
        queue.take(question)
        house.gate.wait(1)
    house.gate.let(1)
    house.gate.wait(2)
    moved = until(house.slack, "set_status", thread_ts=questions[2].ts, status=phrases.waiting(1))
    queue.beat()
    assert moved.wait(SECONDS)
    house.finish()


def test_where_no_status_can_be_shown_a_message_stands_in_and_becomes_the_answer(house: House) -> None:
    house.slack.refuse("set_status", "missing_scope", times=None)
    queue = house.gated()
    questions = [make_question(house.slack, user=user) for user in ("U1", "U2")]
    queue.take(questions[0])
    house.gate.wait(1)
    queue.take(questions[1])
    house.finish()
    answers = house.slack.own("C1")
    assert Counter(map(shown_key, answers)) == {question.key: 1 for question in questions}
    assert all("copy the new key" in str(answer["blocks"]) for answer in answers)
    assert house.slack.counts()["set_status"] == 1  # it is remembered that Slack refuses it


def test_what_does_not_fit_into_the_queue_is_told_so_once(house: House) -> None:
    queue = house.gated(slack_workers=1, slack_queue=1)
    questions = [make_question(house.slack, f"Question {number}?", user=f"U{number}") for number in range(3)]
    queue.take(questions[0])
    house.gate.wait(1)
    posted = until(house.slack, "post")
    for question in (questions[1], questions[2], questions[2]):
        queue.take(question)
    assert posted.wait(SECONDS)
    house.finish()
    refused = [message for message in house.slack.own("C1") if message["thread_ts"] == questions[2].ts]
    assert [message["text"] for message in refused] == [phrases.full(1)]
    assert len(house.slack.own("C1")) == 3
    assert all(house.is_finished(question.key) for question in questions)


def test_who_asks_too_much_is_told_once_and_alone(house: House) -> None:
    queue = house.open(clock=Clock(), slack_user_limit=2)
    questions = [make_question(house.slack, f"Question {number}?") for number in range(5)]
    for question in questions:
        queue.take(question)
    house.finish()
    assert {message["thread_ts"] for message in house.slack.own("C1")} == {question.ts for question in questions[:2]}
    [told] = house.slack.ephemerals
    assert (told["user"], told["thread_ts"]) == ("U1", questions[2].ts)
    assert told["text"] == phrases.rate_limited("person", 2, 600)
    assert all(house.is_finished(question.key) for question in questions)


def test_in_a_direct_message_a_limit_is_said_as_any_message(house: House) -> None:
    queue = house.open(slack_user_limit=1)
    questions = [make_question(house.slack, channel="D1", room="direct", via="direct") for _ in range(3)]
    for question in questions:
        queue.take(question)
    house.finish()
    texts = [message["text"] for message in house.slack.own("D1")]
    assert sum("You've asked 1 question in ten minutes" in text for text in texts) == 1
    assert len(texts) == 2


def test_one_persons_ten_questions_hold_nobody_up(house: House) -> None:
    pipeline = Scripted(between=house.gate)
    queue = house.open(pipeline, slack_workers=1)
    for number in range(10):
        queue.take(make_question(house.slack, f"a{number}", user="U1"))
        house.gate.wait(1)
    for name, user in (("b0", "U2"), ("b1", "U2"), ("c0", "U3")):
        queue.take(make_question(house.slack, name, user=user))
    house.finish()
    order = [question.text for question in pipeline.asked]
    assert order[:6] == ["a0", "a1", "b0", "c0", "a2", "b1"]


def test_one_person_leaves_a_worker_to_the_others(house: House) -> None:
    queue = house.gated(slack_workers=3)
    for number in range(3):
        queue.take(make_question(house.slack, f"a{number}", user="U1"))
    house.gate.wait(2)
    queue.take(make_question(house.slack, "b0", user="U2"))
    house.gate.wait(3)
    assert Counter(name[0] for name in house.gate.came) == {"a": 2, "b": 1}
    house.finish()


def test_the_questions_of_a_thread_are_answered_one_after_the_other(house: House) -> None:
    queue = house.gated(slack_workers=4)
    first = make_question(house.slack, "first")
    queue.take(first)
    house.gate.wait(1)
    queue.take(make_question(house.slack, "second", user="U2", thread_ts=first.ts, via="thread"))
    queue.take(make_question(house.slack, "elsewhere", user="U3"))
    house.gate.wait(2)
    assert house.gate.came == ["first", "elsewhere"]
    house.finish()
    assert len(house.slack.own("C1")) == 3


def test_who_lost_a_question_to_another_process_does_not_answer_it(house: House) -> None:
    clock = Clock()
    house.claims = LeaseStore(house.records.engine, clock.moment)
    queue = house.gated(clock=clock)
    question = make_question(house.slack)
    queue.take(question)
    house.gate.wait(1)
    others = LeaseStore(house.records.engine, lambda: clock.moment() + timedelta(seconds=31))
    assert others.take(question.key, "b", 30)  # this process stood still
    house.finish()
    assert house.slack.own("C1") == []
    assert others.finish(question.key, "b")


def test_what_waits_long_is_held_by_its_pulse(house: House) -> None:
    clock = Clock()
    house.claims = LeaseStore(house.records.engine, clock.moment)
    queue = house.gated(clock=clock, slack_workers=1)
    questions = [make_question(house.slack, user=user) for user in ("U1", "U2")]
    for question in questions:
        queue.take(question)
    house.gate.wait(1)
    for _ in range(20):
        clock.forward(20)
        queue.beat()
        assert house.claims.expired() == []
    house.finish()
    assert len(house.slack.own("C1")) == 2


@pytest.mark.parametrize("code", ["is_archived", "channel_not_found", "not_in_channel"])
def test_what_slack_refuses_for_good_is_logged_once(house: House, code: str, caplog: pytest.LogCaptureFixture) -> None:
    for verb in ("set_status", "start_stream", "post", "update", "post_ephemeral"):
        house.slack.refuse(verb, code, times=None)
    pipeline = Scripted()
    queue = house.open(pipeline)
    questions = [make_question(house.slack, user=f"U{number}") for number in range(5)]
    with caplog.at_level(logging.INFO):
        for question in questions:
            queue.take(question)
        house.finish()
    errors = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(errors) == 1
    assert code in errors[0]
    assert all(house.is_finished(question.key) for question in questions)
    assert house.slack.counts()["post"] <= 15  # a sign, an answer and a reason each, and no storm of repeats


def test_a_command_is_answered_to_the_asker_alone(house: House) -> None:
    queue = house.open()
    question = make_question(house.slack, via="command")
    queue.take(question)
    house.finish()
    assert house.slack.own("C1") == []
    assert house.slack.ephemerals[-1]["user"] == "U1"
    assert "copy the new key" in str(house.slack.ephemerals[-1]["blocks"])
    assert house.is_finished(question.key)


# ------------------------------------------------------------------------------------------------------------- stopping


def test_who_waits_too_long_for_slow_records_is_left_to_slack(records: Records) -> None:
    slow, going = threading.Event(), threading.Event()

    class Slow(LeaseStore):
        def add(self, *given: Any) -> bool:
            going.set()
            assert slow.wait(SECONDS)
            return super().add(*given)

    slack = make_slack()
    leases = HeldLeases(Slow(records.engine), "a", turn=0.01)
    first = threading.Thread(target=leases.acquire, args=[make_question(slack)])
    first.start()
    assert going.wait(SECONDS)
    late = make_question(slack, "And then?")
    with pytest.raises(RecordsError) as refused:
        leases.acquire(late)
    slow.set()
    first.join(SECONDS)
    assert refused.value.retryable and leases.acquire(late) is not None
