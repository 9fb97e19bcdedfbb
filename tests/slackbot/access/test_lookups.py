"""What was looked up a moment ago: for how long it serves, what happens when asking fails, and one asker at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from lore.slackbot.access.lookups import Lookups
from lore.slackbot.types import SlackError

GONE = SlackError("Slack could not be reached.", code="unreachable", retryable=True)


class Desk:
    """Answers with how often it was asked, after `held` is set; fails while `failure` is there."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failure: Exception | None = None
        self.now = 0.0
        self.held: threading.Event | None = None
        self.reached = threading.Event()

    def ask(self, key: str) -> str:
        self.asked.append(key)
        said = f"{key}{len(self.asked)}"
        self.reached.set()
        if self.held is not None:
            assert self.held.wait(10)
        if self.failure is not None:
            raise self.failure
        return said

    def lookups(self, size: int = 10) -> Lookups[str, str]:
        return Lookups(self.ask, ttl=300, limit=600, size=size, clock=lambda: self.now)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_an_answer_serves_until_it_is_old(desk: Desk) -> None:
    lookups = desk.lookups()
    assert lookups.get("a") == lookups.get("a") == "a1"
    desk.now = 299
    assert lookups.get("a") == "a1"
    desk.now = 300
    assert lookups.get("a") == "a2"
    assert lookups.get("b") == "b3"


def test_its_age_is_counted_from_before_it_was_asked_for(desk: Desk) -> None:
    def slow(key: str) -> str:
        desk.now += 200
        return desk.ask(key)

    lookups = Lookups(slow, ttl=300, limit=600, size=10, clock=lambda: desk.now)
    lookups.get("a")
    desk.now = 300
    assert lookups.get("a") == "a2"


def test_an_old_answer_serves_while_asking_fails_but_never_beyond_the_limit(desk: Desk) -> None:
    lookups = desk.lookups()
    lookups.get("a")
    desk.failure = GONE
    desk.now = 599
    assert lookups.get("a") == "a1"
    desk.now = 600
    with pytest.raises(SlackError):
        lookups.get("a")
    desk.failure = None
    assert lookups.get("a") == "a4"


def test_a_failure_is_not_kept(desk: Desk) -> None:
    lookups = desk.lookups()
    desk.failure = GONE
    with pytest.raises(SlackError):
        lookups.get("a")
    desk.failure = None
    assert lookups.get("a") == "a2"


def test_an_error_of_ones_own_is_raised_at_once(desk: Desk) -> None:
    lookups = desk.lookups()
    lookups.get("a")
    desk.now, desk.failure = 300, ValueError("broken")
    with pytest.raises(ValueError, match="broken"):
        lookups.get("a")


def test_no_more_than_so_many_are_kept(desk: Desk) -> None:
    lookups = desk.lookups(size=2)
    for key in "abc":
        lookups.get(key)
    lookups.get("b")
    lookups.get("a")
    assert desk.asked == ["a", "b", "c", "a"]


def test_what_is_dropped_is_asked_for_anew(desk: Desk) -> None:
    lookups = desk.lookups()
    lookups.get("a")
    lookups.drop("a")
    lookups.drop("never known")
    assert lookups.get("a") == "a2"


def test_many_threads_ask_once(desk: Desk) -> None:
    desk.held = threading.Event()
    lookups = desk.lookups()
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(lookups.get, "a")
        assert desk.reached.wait(10)
        others = [pool.submit(lookups.get, "a") for _ in range(8)]
        desk.held.set()
        assert {future.result(10) for future in [first, *others]} == {"a1"}
    assert desk.asked == ["a"]


def test_all_who_wait_are_told_of_the_failure(desk: Desk) -> None:
    desk.held, desk.failure = threading.Event(), GONE
    lookups = desk.lookups()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(lookups.get, "a")
        assert desk.reached.wait(10)
        others = [pool.submit(lookups.get, "a") for _ in range(3)]
        desk.held.set()
        assert all(future.exception(10) is GONE for future in [first, *others])


def test_what_is_dropped_while_it_is_asked_for_is_not_kept(desk: Desk) -> None:
    desk.held = threading.Event()
    lookups = desk.lookups()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(lookups.get, "a")
        assert desk.reached.wait(10)
        lookups.drop("a")
        later = pool.submit(lookups.get, "a")
        desk.held.set()
        assert {first.result(10), later.result(10)} == {"a1", "a2"}
    assert lookups.get("a") == "a2"
