"""Signs: what is being done is seen at once, is kept up to date, and is left out where Slack cannot show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from lore.records.claims import Claims
from lore.slackbot.queue.holds import Hold
from lore.slackbot.render import phrases
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.posts import Posts
from lore.slackbot.reply.signs import Signs
from lore.slackbot.slack_api.pace import Pace, Refused

from tests.slackbot.desks import Clock, make_ask, make_hold, make_slack


class Stage:
    """Signs that are shown at once, or, with `later`, when the test says so."""

    def __init__(self, claims: Claims) -> None:
        self.clock = Clock()
        self.slack = make_slack()
        self.claims = claims
        self.tasks: list[Callable[[], None]] = []
        self.later = False
        self.signs = Signs(self.slack, Pace(clock=self.clock), Refused(clock=self.clock), self._do, clock=self.clock)

    def _do(self, task: Callable[[], None]) -> None:
        self.tasks.append(task)
        if not self.later:
            self.run()

    def run(self) -> None:
        while self.tasks:
            self.tasks.pop(0)()

    def hold(self, **changes: Any) -> Hold:
        return make_hold(self.claims, make_ask(self.slack, **changes), self.clock)

    @property
    def statuses(self) -> list[str]:
        return [status for _, _, status in self.slack.statuses]


@pytest.fixture
def stage(claims: Claims) -> Stage:
    return Stage(claims)


def test_what_is_done_is_shown_when_it_changes(stage: Stage) -> None:
    hold = stage.hold()
    third, second = phrases.waiting(3), phrases.waiting(2)
    for doing in (phrases.LOOKING, phrases.LOOKING, third, third, second, phrases.SEARCHING):
        stage.signs.show(hold, doing)
    assert stage.statuses == [phrases.LOOKING, third, second, phrases.SEARCHING]


def test_what_fades_is_shown_again(stage: Stage) -> None:
    hold = stage.hold()
    stage.signs.show(hold, phrases.LOOKING)
    for _ in range(10):
        stage.clock.forward(20)
        stage.signs.refresh(hold)
    assert stage.statuses == [phrases.LOOKING] * 3  # after 100 and 200 seconds


def test_of_what_comes_late_only_the_last_is_shown(stage: Stage) -> None:
    stage.later = True
    hold = stage.hold()
    for doing in (phrases.LOOKING, phrases.SEARCHING, phrases.WRITING):
        stage.signs.show(hold, doing)
    stage.run()
    assert stage.statuses == [phrases.WRITING]


def test_a_slow_slack_is_asked_for_one_sign_of_a_question_at_a_time(stage: Stage) -> None:
    stage.later = True
    hold = stage.hold()
    for place in range(50, 0, -1):
        stage.signs.show(hold, phrases.waiting(place))
    assert len(stage.tasks) == 1


def test_what_changes_while_slack_is_told_is_told_next(stage: Stage) -> None:
    hold = stage.hold()

    def meanwhile(verb: str, given: Mapping[str, Any]) -> None:
        if verb == "set_status" and given["status"] == phrases.LOOKING:
            stage.signs.show(hold, phrases.SEARCHING)

    stage.slack.before = meanwhile
    stage.signs.show(hold, phrases.LOOKING)
    assert stage.statuses == [phrases.LOOKING, phrases.SEARCHING]
    assert hold.sign == phrases.SEARCHING


def test_once_there_is_an_answer_there_is_no_sign(stage: Stage) -> None:
    stage.later = True
    hold = stage.hold()
    stage.signs.show(hold, phrases.LOOKING)
    Posts(hold, stage.slack).begin("message", plain("The answer"))
    stage.run()
    stage.signs.show(hold, phrases.WRITING)
    stage.run()
    assert stage.statuses == []


def test_a_message_stands_in_and_is_changed_at_a_pace(stage: Stage) -> None:
    stage.slack.refuse("set_status", "channel_type_not_supported", times=None)
    hold = stage.hold()
    stage.signs.show(hold, phrases.LOOKING)
    [message] = stage.slack.own("C1")
    assert (message["text"], message["thread_ts"]) == ("Looking for an answer…", hold.ask.ts)
    for number in range(30, 0, -1):
        stage.signs.show(hold, phrases.waiting(number))
    assert stage.slack.counts()["update"] == 5  # as many as may come at once
    stage.clock.forward(60)
    stage.signs.refresh(hold)
    [message] = stage.slack.own("C1")
    assert message["text"] == "Busy, your place is 1…"


@pytest.mark.parametrize(
    ("code", "channels", "tried"),
    [
        ("missing_scope", ("C1", "C1", "D1"), 1),
        ("channel_type_not_supported", ("C1", "C1", "D1"), 2),
        ("invalid_thread_ts", ("C1", "C1", "D1"), 3),
    ],
)
def test_it_is_remembered_where_slack_shows_no_status(
    stage: Stage, code: str, channels: tuple[str, ...], tried: int
) -> None:
    stage.slack.refuse("set_status", code, times=None)
    for channel in channels:
        stage.signs.show(stage.hold(channel=channel), phrases.LOOKING)
    assert stage.slack.counts()["set_status"] == tried
    assert stage.slack.counts()["post"] == 3


def test_to_a_command_it_is_said_once_and_to_the_asker_alone(stage: Stage) -> None:
    hold = stage.hold(way="command")
    for doing in (phrases.LOOKING, phrases.SEARCHING, phrases.WRITING):
        stage.signs.show(hold, doing)
    assert [(one["user"], one["text"]) for one in stage.slack.ephemerals] == [("U1", "Looking for an answer…")]
    assert stage.slack.counts()["set_status"] == 0


def test_where_slack_fails_for_the_moment_the_sign_comes_later(stage: Stage) -> None:
    stage.slack.refuse("set_status", "ratelimited", retryable=True)
    hold = stage.hold()
    stage.signs.show(hold, phrases.LOOKING)
    assert (stage.statuses, hold.refused) == ([], None)
    stage.signs.refresh(hold)
    assert stage.statuses == [phrases.LOOKING]


@pytest.mark.parametrize(("verb", "code"), [("set_status", "token_revoked"), ("post", "is_archived")])
def test_where_nothing_can_be_said_that_is_known_before_the_answer_is_written(
    stage: Stage, verb: str, code: str
) -> None:
    if verb == "post":
        stage.slack.refuse("set_status", "missing_scope", times=None)
    stage.slack.refuse(verb, code, times=None)
    hold = stage.hold()
    for doing in (phrases.LOOKING, phrases.SEARCHING):
        stage.signs.show(hold, doing)
    assert hold.refused
    assert hold.refused.code == code
    assert stage.slack.counts()[verb] == 1


def test_who_lost_the_question_shows_nothing(stage: Stage) -> None:
    stage.later = True
    hold = stage.hold()
    stage.signs.show(hold, phrases.LOOKING)
    hold.close()
    stage.run()
    assert stage.slack.calls == []
