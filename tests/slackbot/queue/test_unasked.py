"""Messages that may not be for the bot: nothing is shown before it is known, and nothing is said where it is not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from lore.errors import LoreError
from lore.query.events import Answered
from lore.slackbot.types import SlackCallError, SlackQuestion
from lore.types import Answer, Plan, Question, Trace

from tests.slackbot.queue.house import SECONDS, House
from tests.slackbot.queues import Scripted, make_question


class Nothing(Scripted):
    """Finds nothing."""

    def stream(self, question: Question) -> Any:
        self.asked.append(question)
        yield Answered(Answer(question, "I found nothing.", (), False, Trace(Plan("", ())), id="answer-0"))


def wait(condition: Callable[[], object]) -> None:
    """Wait for what happens in the background."""
    tick, until = threading.Event(), time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until
        tick.wait(0.01)


def said_to_people(house: House) -> list[Any]:
    return [*house.slack.own("C1"), *house.slack.statuses, *house.slack.ephemerals]


@pytest.mark.parametrize("speaks", [True, False], ids=["to the bot", "to others"])
def test_a_thread_is_read_before_anything_is_shown(house: House, speaks: bool) -> None:
    shown: list[str] = []

    def look(name: str, _: Mapping[str, Any]) -> None:
        shown.append(name)

    def is_addressed(_: SlackQuestion) -> bool:
        shown.append("read")
        return speaks

    house.slack.before = look
    queue = house.open(is_addressed=is_addressed)
    question = make_question(house.slack, via="thread")
    queue.take(question)
    wait(lambda: house.slack.own("C1") if speaks else shown)
    house.finish()
    assert shown[0] == "read" and len(house.slack.own("C1")) == speaks
    assert bool(said_to_people(house)) == speaks
    assert house.is_finished(question.key)


def test_messages_between_people_count_for_no_limit(house: House) -> None:
    queue = house.open(is_addressed=lambda question: "?" in question.text, slack_user_limit=1)
    for text in ("I see", "so do I", "And now?"):
        queue.take(make_question(house.slack, text, via="thread"))
    wait(lambda: house.slack.own("C1"))
    house.finish()
    assert len(house.slack.own("C1")) == 1 and house.slack.ephemerals == []


@pytest.mark.parametrize("retryable", [True, False])
def test_where_the_thread_cannot_be_read_it_stays_silent(house: House, retryable: bool) -> None:
    def is_addressed(question: SlackQuestion) -> bool:
        asked.append(question)
        raise SlackCallError("Slack refuses replies.", code="missing_scope", retryable=retryable)

    asked: list[SlackQuestion] = []
    queue = house.open(is_addressed=is_addressed)
    question = make_question(house.slack, via="thread")
    queue.take(question)
    wait(lambda: asked)
    house.finish()
    assert said_to_people(house) == []
    assert retryable or house.is_finished(question.key)


class TestAuto:
    """Questions that nobody asked the bot."""

    def test_it_says_what_it_found_at_once_and_without_a_status(self, house: House) -> None:
        house.open().take(make_question(house.slack, via="auto"))
        house.finish()
        assert len(house.slack.own("C1")) == 1 and house.slack.statuses == []
        assert house.slack.counts()["start_stream"] == 0

    def test_it_is_silent_where_it_found_nothing(self, house: House) -> None:
        question = make_question(house.slack, via="auto")
        house.open(Nothing()).take(question)
        house.finish()
        assert said_to_people(house) == [] and house.is_finished(question.key)

    def test_it_is_silent_where_something_fails(self, house: House) -> None:
        def fail(number: int, question: Question) -> None:
            raise LoreError("No index.")

        question = make_question(house.slack, via="auto")
        house.open(Scripted(between=fail)).take(question)
        house.finish()
        assert said_to_people(house) == [] and house.is_finished(question.key)

    def test_who_asked_too_much_is_not_told(self, house: House) -> None:
        queue = house.open(slack_user_limit=1)
        for text in ("How?", "And then?"):
            queue.take(make_question(house.slack, text, via="auto"))
        house.finish()
        assert len(house.slack.own("C1")) == 1 and house.slack.ephemerals == []
