"""Limits: so many questions of a person and in a channel in ten minutes, and one word of it for a flood."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from lore.slackbot.queue.rate_limits import RateLimiter, RateLimitHit
from lore.slackbot.types import SlackQuestion

from tests.slackbot.queues import Clock

ASK = SlackQuestion("k", "mention", "T1", "C1", "channel", "U1", "1.0", "1.0", "How?")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_one_too_many_is_told_when_the_next_may_come(clock: Clock) -> None:
    limits = RateLimiter(2, 0, clock=clock)
    assert limits.admit(ASK) is None
    clock.forward(100)
    assert limits.admit(ASK) is None
    clock.forward(100)
    assert limits.admit(ASK) == RateLimitHit("person", 2, 400, is_first=True)
    clock.forward(399.5)
    assert limits.admit(ASK) == RateLimitHit("person", 2, 1, is_first=False)
    clock.forward(0.5)
    assert limits.admit(ASK) is None  # the first one is ten minutes old


def test_what_was_refused_does_not_count(clock: Clock) -> None:
    limits = RateLimiter(1, 0, clock=clock)
    limits.admit(ASK)
    for _ in range(50):
        clock.forward(10)
        assert limits.admit(ASK) is not None
    clock.forward(100)
    assert limits.admit(ASK) is None


def test_a_flood_is_told_once_and_the_next_flood_again(clock: Clock) -> None:
    limits = RateLimiter(1, 0, clock=clock)

    def flood() -> list[bool]:
        limits.admit(ASK)
        return [hit.is_first for hit in map(limits.admit, [ASK] * 5) if hit]

    assert flood() == [True, False, False, False, False]
    clock.forward(600)
    assert flood() == [True, False, False, False, False]


def test_another_person_has_a_count_of_their_own(clock: Clock) -> None:
    limits = RateLimiter(1, 0, clock=clock)
    assert limits.admit(ASK) is None
    assert limits.admit(replace(ASK, user="U2")) is None
    assert limits.admit(replace(ASK, channel="C2")) is not None
    assert limits.admit(replace(ASK, team="T2")) is None


def test_a_channel_is_full_for_all_and_each_is_told_once(clock: Clock) -> None:
    limits = RateLimiter(0, 2, clock=clock)
    assert [limits.admit(replace(ASK, user=f"U{number}")) for number in range(2)] == [None, None]
    for user in ("U8", "U9"):
        hits = [limits.admit(replace(ASK, user=user)) for _ in range(3)]
        assert [hit and (hit.scope, hit.is_first) for hit in hits] == [
            ("channel", True),
            ("channel", False),
            ("channel", False),
        ]
    assert limits.admit(replace(ASK, channel="C2")) is None


def test_what_nobody_else_sees_is_not_of_the_channel(clock: Clock) -> None:
    limits = RateLimiter(0, 1, clock=clock)
    assert limits.admit(ASK) is None
    assert limits.admit(replace(ASK, via="command")) is None
    direct = replace(ASK, room="direct", channel="D1", via="direct")
    assert [limits.admit(direct), limits.admit(direct)] == [None, None]


def test_who_is_refused_for_the_channel_may_ask_elsewhere(clock: Clock) -> None:
    limits = RateLimiter(2, 1, clock=clock)
    limits.admit(ASK)
    assert limits.admit(ASK) is not None
    assert limits.admit(replace(ASK, channel="C2")) is None


def test_zero_is_no_limit(clock: Clock) -> None:
    limits = RateLimiter(0, 0, clock=clock)
    assert [limits.admit(ASK) for _ in range(1_000)] == [None] * 1_000


def test_many_threads_are_counted_together(clock: Clock) -> None:
    limits = RateLimiter(30, 0, clock=clock)
    with ThreadPoolExecutor(8) as pool:
        hits = list(pool.map(limits.admit, [ASK] * 200))
    assert hits.count(None) == 30
    assert sum(hit.is_first for hit in hits if hit) == 1


def test_who_asked_long_ago_is_forgotten_and_may_ask(clock: Clock) -> None:
    limits = RateLimiter(1, 1, clock=clock)
    for number in range(100):
        limits.admit(replace(ASK, user=f"U{number}", channel=f"C{number}"))
    clock.forward(601)
    assert limits.admit(ASK) is None
    assert limits.admit(ASK) is not None
