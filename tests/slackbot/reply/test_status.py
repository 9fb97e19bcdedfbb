"""Signs: what is being done is seen at once, is kept up to date, and is left out where Slack cannot show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from lore.records.leases import LeaseStore
from lore.slackbot.queue.leases import Lease
from lore.slackbot.render import phrases
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster
from lore.slackbot.reply.status import StatusIndicator
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache

from tests.slackbot.queues import Clock, make_lease, make_question, make_slack


class Stage:
    """Signs that are shown at once, or, with `later`, when the test says so."""

    def __init__(self, claims: LeaseStore) -> None:
        self.clock = Clock()
        self.slack = make_slack()
        self.claims = claims
        self.tasks: list[Callable[[], None]] = []
        self.later = False
        self.signs = StatusIndicator(
            self.slack, RateBudgets(clock=self.clock), RefusalCache(clock=self.clock), self._do, clock=self.clock
        )

    def _do(self, task: Callable[[], None]) -> None:
        self.tasks.append(task)
        if not self.later:
            self.run()

    def run(self) -> None:
        while self.tasks:
            self.tasks.pop(0)()

    def lease(self, **changes: Any) -> Lease:
        return make_lease(self.claims, make_question(self.slack, **changes), self.clock)

    @property
    def statuses(self) -> list[str]:
        return [status for _, _, status in self.slack.statuses]


@pytest.fixture
def stage(claims: LeaseStore) -> Stage:
    return Stage(claims)


def test_what_is_done_is_shown_when_it_changes(stage: Stage) -> None:
    lease = stage.lease()
    third, second = phrases.waiting(3), phrases.waiting(2)
    for doing in (phrases.LOOKING, phrases.LOOKING, third, third, second, phrases.SEARCHING):
        stage.signs.show(lease, doing)
    assert stage.statuses == [phrases.LOOKING, third, second, phrases.SEARCHING]


def test_what_fades_is_shown_again(stage: Stage) -> None:
    lease = stage.lease()
    stage.signs.show(lease, phrases.LOOKING)
    for _ in range(10):
        stage.clock.forward(20)
        stage.signs.refresh(lease)
    assert stage.statuses == [phrases.LOOKING] * 3  # after 100 and 200 seconds


def test_of_what_comes_late_only_the_last_is_shown(stage: Stage) -> None:
    stage.later = True
    lease = stage.lease()
    for doing in (phrases.LOOKING, phrases.SEARCHING, phrases.WRITING):
        stage.signs.show(lease, doing)
    stage.run()
    assert stage.statuses == [phrases.WRITING]


def test_a_slow_slack_is_asked_for_one_sign_of_a_question_at_a_time(stage: Stage) -> None:
    stage.later = True
    lease = stage.lease()
    for place in range(50, 0, -1):
        stage.signs.show(lease, phrases.waiting(place))
    assert len(stage.tasks) == 1


def test_what_changes_while_slack_is_told_is_told_next(stage: Stage) -> None:
    lease = stage.lease()

    def meanwhile(verb: str, given: Mapping[str, Any]) -> None:
        if verb == "set_status" and given["status"] == phrases.LOOKING:
            stage.signs.show(lease, phrases.SEARCHING)

    stage.slack.before = meanwhile
    stage.signs.show(lease, phrases.LOOKING)
    assert stage.statuses == [phrases.LOOKING, phrases.SEARCHING]
    assert lease.shown_status == phrases.SEARCHING


def test_once_there_is_an_answer_there_is_no_sign(stage: Stage) -> None:
    stage.later = True
    lease = stage.lease()
    stage.signs.show(lease, phrases.LOOKING)
    Poster(lease, stage.slack).post_first("message", plain("The answer"))
    stage.run()
    stage.signs.show(lease, phrases.WRITING)
    stage.run()
    assert stage.statuses == []


def test_a_message_stands_in_and_is_changed_at_a_pace(stage: Stage) -> None:
    stage.slack.refuse("set_status", "channel_type_not_supported", times=None)
    lease = stage.lease()
    stage.signs.show(lease, phrases.LOOKING)
    [message] = stage.slack.own("C1")
    assert (message["text"], message["thread_ts"]) == ("Looking for an answer…", lease.question.ts)
    for number in range(30, 0, -1):
        stage.signs.show(lease, phrases.waiting(number))
    assert stage.slack.counts()["update"] == 5  # as many as may come at once
    stage.clock.forward(60)
    stage.signs.refresh(lease)
    [message] = stage.slack.own("C1")
    assert message["text"] == "Busy; you're number 1 in line…"


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
        stage.signs.show(stage.lease(channel=channel), phrases.LOOKING)
    assert stage.slack.counts()["set_status"] == tried
    assert stage.slack.counts()["post"] == 3


def test_to_a_command_it_is_said_once_and_to_the_asker_alone(stage: Stage) -> None:
    lease = stage.lease(via="command")
    for doing in (phrases.LOOKING, phrases.SEARCHING, phrases.WRITING):
        stage.signs.show(lease, doing)
    assert [(one["user"], one["text"]) for one in stage.slack.ephemerals] == [("U1", "Looking for an answer…")]
    assert stage.slack.counts()["set_status"] == 0


def test_where_slack_fails_for_the_moment_the_sign_comes_later(stage: Stage) -> None:
    stage.slack.refuse("set_status", "ratelimited", retryable=True)
    lease = stage.lease()
    stage.signs.show(lease, phrases.LOOKING)
    assert (stage.statuses, lease.refusal) == ([], None)
    stage.signs.refresh(lease)
    assert stage.statuses == [phrases.LOOKING]


@pytest.mark.parametrize(("verb", "code"), [("set_status", "token_revoked"), ("post", "is_archived")])
def test_where_nothing_can_be_said_that_is_known_before_the_answer_is_written(
    stage: Stage, verb: str, code: str
) -> None:
    if verb == "post":
        stage.slack.refuse("set_status", "missing_scope", times=None)
    stage.slack.refuse(verb, code, times=None)
    lease = stage.lease()
    for doing in (phrases.LOOKING, phrases.SEARCHING):
        stage.signs.show(lease, doing)
    assert lease.refusal
    assert lease.refusal.code == code
    assert stage.slack.counts()[verb] == 1


def test_who_lost_the_question_shows_nothing(stage: Stage) -> None:
    stage.later = True
    lease = stage.lease()
    stage.signs.show(lease, phrases.LOOKING)
    lease.close()
    stage.run()
    assert stage.slack.calls == []
