"""Stopping: current answers end, and what waits is given to another process."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from lore.errors import RecordsError
from lore.records.leases import LeaseStore
from lore.slackbot.render import phrases
from lore.types import Question

from tests.slackbot.queue.house import SECONDS, Gate, House
from tests.slackbot.queues import Clock, Scripted, make_question, shown_key


def test_what_is_being_answered_ends_before_the_bot_does(house: House) -> None:
    queue = house.gated()
    question = make_question(house.slack)
    queue.take(question)
    house.gate.wait(1)
    stopping = threading.Thread(target=queue.stop)
    stopping.start()
    house.gate.open()
    stopping.join(SECONDS)
    [answer] = house.slack.own("C1")
    assert "copy the new key" in str(answer["blocks"])
    assert house.is_finished(question.key)


def test_a_bot_that_stops_takes_nothing_more(house: House) -> None:
    queue = house.open()
    queue.stop()
    with pytest.raises(RecordsError) as refused:
        queue.take(make_question(house.slack))
    assert refused.value.retryable
    assert house.claims.expired() == []


def test_what_waits_is_handed_over_to_another_process(house: House) -> None:
    queue = house.gated(slack_workers=1)
    questions = [make_question(house.slack, f"Question {number}?", user=f"U{number}") for number in range(4)]
    for question in questions:
        queue.take(question)
        house.gate.wait(1)
    queue.stop(0)  # the one that is being answered showed nothing yet, and is handed over, too
    assert {claim.key for claim in house.claims.expired()} == {question.key for question in questions}
    house.gate.open()
    second = house.open(owner="b")
    assert second.recover() == 4
    assert second.wait_until_idle(SECONDS)
    second.stop()
    assert Counter(map(shown_key, house.slack.own("C1"))) == Counter(question.key for question in questions)


class Away(LeaseStore):
    """Claims that are kept and can then not be given back."""

    tried = 0

    def release(self, key: str, owner: str) -> bool:
        self.tried += 1
        raise RecordsError("The records are locked.", retryable=True)


def test_where_the_records_are_away_a_bot_that_stops_tries_them_once_and_not_for_each_question(house: House) -> None:
    house.claims = away = Away(house.records.engine)
    queue = house.gated(slack_workers=1)
    for number in range(6):
        queue.take(make_question(house.slack, f"Question {number}?", user=f"U{number}"))
    house.gate.wait(1)
    queue.stop(0)
    assert away.tried == 1


def test_an_answer_that_is_shown_in_part_ends_in_words_that_say_so(house: House) -> None:
    clock = Clock()
    house.gate = Gate(piece=2)

    def between(piece: int, question: Question) -> None:
        clock.forward(1)
        house.gate(piece, question)

    queue = house.open(Scripted(("One sentence. ", "Two sentences. ", "Three."), between), clock=clock)
    question = make_question(house.slack)
    queue.take(question)
    house.gate.wait(1)
    queue.stop(0)
    [answer] = house.slack.own("C1")
    assert "One sentence." in str(answer["blocks"])
    assert phrases.STOPPED in str(answer["blocks"])
    assert "Three" not in str(answer["blocks"])
    house.gate.open()
    assert queue.wait_until_idle(SECONDS)
    assert house.slack.own("C1") == [answer]  # the answer that came too late changes nothing
    assert house.is_finished(question.key)


def test_a_command_that_waits_ends_in_an_apology(house: House) -> None:
    queue = house.gated(slack_workers=1)
    queue.take(make_question(house.slack))
    house.gate.wait(1)
    command = make_question(house.slack, via="command", user="U2")
    queue.take(command)
    queue.stop(0)
    assert house.slack.ephemerals[-1]["text"] == phrases.STOPPED
    assert house.is_finished(command.key)
