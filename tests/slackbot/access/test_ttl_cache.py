"""What was looked up a moment ago: for how long it serves, what happens when asking fails, and one asker at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from lore.slackbot.access.ttl_cache import TtlCache
from lore.slackbot.types import SlackCallError

GONE = SlackCallError("Slack could not be reached.", code="unreachable", retryable=True)


class Backend:
    """Answers with how often it was asked, after `held` is set; fails while `failure` is there."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failure: Exception | None = None
        self.now = 0.0
        self.held: threading.Event | None = None
        self.reached = threading.Event()

    def look_up(self, key: str) -> str:
        self.asked.append(key)
        said = f"{key}{len(self.asked)}"
        self.reached.set()
        if self.held is not None:
            assert self.held.wait(10)
        if self.failure is not None:
            raise self.failure
        return said

    def cache(self, size: int = 10) -> TtlCache[str, str]:
        return TtlCache(self.look_up, ttl=300, limit=600, size=size, clock=lambda: self.now)


@pytest.fixture
def backend() -> Backend:
    return Backend()


def test_an_answer_serves_until_it_is_old(backend: Backend) -> None:
    cache = backend.cache()
    assert cache.get("a") == cache.get("a") == "a1"
    backend.now = 299
    assert cache.get("a") == "a1"
    backend.now = 300
    assert cache.get("a") == "a2"
    assert cache.get("b") == "b3"


def test_its_age_is_counted_from_before_it_was_asked_for(backend: Backend) -> None:
    def slow(key: str) -> str:
        backend.now += 200
        return backend.look_up(key)

    cache = TtlCache(slow, ttl=300, limit=600, size=10, clock=lambda: backend.now)
    cache.get("a")
    backend.now = 300
    assert cache.get("a") == "a2"


def test_an_old_answer_serves_while_asking_fails_but_never_beyond_the_limit(backend: Backend) -> None:
    cache = backend.cache()
    cache.get("a")
    backend.failure = GONE
    backend.now = 599
    assert cache.get("a") == "a1"
    backend.now = 600
    with pytest.raises(SlackCallError):
        cache.get("a")
    backend.failure = None
    assert cache.get("a") == "a4"


def test_a_failure_is_not_kept(backend: Backend) -> None:
    cache = backend.cache()
    backend.failure = GONE
    with pytest.raises(SlackCallError):
        cache.get("a")
    backend.failure = None
    assert cache.get("a") == "a2"


def test_an_error_of_ones_own_is_raised_at_once(backend: Backend) -> None:
    cache = backend.cache()
    cache.get("a")
    backend.now, backend.failure = 300, ValueError("broken")
    with pytest.raises(ValueError, match="broken"):
        cache.get("a")


def test_no_more_than_so_many_are_kept(backend: Backend) -> None:
    cache = backend.cache(size=2)
    for key in "abc":
        cache.get(key)
    cache.get("b")
    cache.get("a")
    assert backend.asked == ["a", "b", "c", "a"]


def test_what_is_dropped_is_asked_for_anew(backend: Backend) -> None:
    cache = backend.cache()
    cache.get("a")
    cache.drop("a")
    cache.drop("never known")
    assert cache.get("a") == "a2"


def test_many_threads_ask_once(backend: Backend) -> None:
    backend.held = threading.Event()
    cache = backend.cache()
    with ThreadPoolExecutor(9) as pool:
        first = pool.submit(cache.get, "a")
        assert backend.reached.wait(10)
        others = [pool.submit(cache.get, "a") for _ in range(8)]
        backend.held.set()
        assert {future.result(10) for future in [first, *others]} == {"a1"}
    assert backend.asked == ["a"]


def test_all_who_wait_are_told_of_the_failure(backend: Backend) -> None:
    backend.held, backend.failure = threading.Event(), GONE
    cache = backend.cache()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(cache.get, "a")
        assert backend.reached.wait(10)
        others = [pool.submit(cache.get, "a") for _ in range(3)]
        backend.held.set()
        assert all(future.exception(10) is GONE for future in [first, *others])


def test_what_is_dropped_while_it_is_asked_for_is_not_kept(backend: Backend) -> None:
    backend.held = threading.Event()
    cache = backend.cache()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, "a")
        assert backend.reached.wait(10)
        cache.drop("a")
        later = pool.submit(cache.get, "a")
        backend.held.set()
        assert {first.result(10), later.result(10)} == {"a1", "a2"}
    assert cache.get("a") == "a2"
