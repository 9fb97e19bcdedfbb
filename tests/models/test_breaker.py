"""The circuit breaker: open, closed, half-open."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from lore.models.breaker import CircuitBreaker


def make(now: list[float]) -> CircuitBreaker:
    return CircuitBreaker(failures=3, pause=30, clock=lambda: now[0])


def test_it_opens_after_failures_in_a_row_only() -> None:
    breaker = make([0.0])
    fail, succeed = breaker.record_failure, breaker.record_success
    for record in (fail, fail, succeed, fail, fail):
        record()
    assert breaker.blocked_for() == 0
    breaker.record_failure()
    assert breaker.blocked_for() == 30


def test_after_the_pause_one_call_tries_and_the_others_wait_for_it() -> None:
    now = [0.0]
    breaker = make(now)
    for _ in range(3):
        breaker.record_failure()
    now[0] = 31.0
    with ThreadPoolExecutor(16) as pool:
        waits = list(pool.map(lambda _: breaker.blocked_for(), range(64)))
    assert waits.count(0.0) == 1
    breaker.record_success()
    assert breaker.blocked_for() == 0


def test_a_try_that_fails_opens_it_for_another_pause() -> None:
    now = [0.0]
    breaker = make(now)
    for _ in range(3):
        breaker.record_failure()
    now[0] = 31.0
    assert breaker.blocked_for() == 0
    breaker.record_failure()
    now[0] = 60.0
    assert breaker.blocked_for() == 1
    now[0] = 61.0
    assert breaker.blocked_for() == 0


def test_a_try_that_nobody_reports_does_not_close_it_for_good() -> None:
    now = [0.0]
    breaker = make(now)
    for _ in range(3):
        breaker.record_failure()
    now[0] = 31.0
    breaker.blocked_for()
    now[0] = 62.0
    assert breaker.blocked_for() == 0
