"""Calls to models: repeats, deadlines, slots, and the circuit breaker."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Event, Lock
from typing import Any

import pytest
from lore.errors import ContextTooLongError, ModelError
from lore.models.breaker import CircuitBreaker
from lore.models.limiter import Limiter
from lore.types import Message

from tests.models.vendors import (
    ANTHROPIC,
    AZURE,
    BEDROCK,
    CALLS,
    GOOD,
    MESSAGES,
    OLLAMA,
    OPENAI,
    TEXT,
    VENDORS,
    Reply,
    Vendor,
    call,
    each,
    failure,
)
from tests.servers.model_apis import openai
from tests.servers.model_apis.models import Fault


def good(body: dict[str, Any]) -> str:
    """A streamed answer is words: data would be no answer."""
    return "An answer in words." if body.get("stream") else GOOD


def waits(vendor: Vendor, value: str) -> Fault:
    fault = vendor.error(429, "rate_limit_error", "Slow down.")
    return Fault(fault.status, fault.body, {"Retry-After": value})


@pytest.mark.parametrize("how", CALLS)
@each(OPENAI, AZURE, ANTHROPIC)
def test_what_passes_is_tried_again_as_the_server_says(vendor: Vendor, how: str) -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(minutes=1), usegmt=True)
    with vendor.server(good) as server:
        server.faults.extend([waits(vendor, "0"), waits(vendor, past), vendor.error(529, "overloaded_error", "Busy")])
        server.faults[2] = Fault(529, server.faults[2].body, {"Retry-After": "0"})
        assert call(vendor.make(server, max_retries=3), how)
        assert len(server.requests) == 4


@pytest.mark.parametrize("how", CALLS)
@pytest.mark.parametrize("said", ["in seconds", "as a date"])
@each(OPENAI, ANTHROPIC)
def test_a_server_that_asks_for_more_time_than_there_is_ends_the_call_at_once(
    vendor: Vendor, said: str, how: str
) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    error = failure(vendor, how, waits(vendor, "30" if said == "in seconds" else later), max_retries=3)
    assert "rate limit" in error.message
    assert error.retryable


@pytest.mark.slow
@pytest.mark.parametrize("how", CALLS)
@each(*VENDORS)
def test_a_server_that_sends_a_byte_now_and_then(vendor: Vendor, how: str) -> None:
    error = failure(vendor, how, Fault(drip=0.01), timeout=0.15)
    if vendor is BEDROCK and how == "stream":  # its frames have checksums, which the server's blanks break at once
        assert "unreadable reply" in error.message
        return
    assert "took over 0.15 s" in error.message
    assert "LORE_TIMEOUT_SECONDS" in error.remedy
    assert error.retryable


def test_a_stream_may_take_longer_while_something_comes() -> None:
    words, slowly = " ".join(["word"] * 40), Fault(change=lambda _: Event().wait(0.015))
    with OPENAI.server(lambda _: words) as server:
        server.faults.extend([slowly, slowly])
        assert "".join(OPENAI.make(server, timeout=0.5, stream_timeout=30.0).stream(MESSAGES)) == words
        with pytest.raises(ModelError, match=r"did not finish in 0\.3 s") as raised:
            list(OPENAI.make(server, timeout=0.5, stream_timeout=0.3).stream(MESSAGES))
    assert "LORE_ANSWER_SECONDS" in raised.value.remedy


@pytest.mark.parametrize("how", CALLS)
@each(OPENAI, ANTHROPIC, OLLAMA)
def test_nobody_there(vendor: Vendor, how: str) -> None:
    gone = vendor.server()
    with socket.socket() as taken:  # bound and deaf: nobody else gets the port meanwhile
        taken.bind(("127.0.0.1", 0))
        with gone:
            pass
        gone.base_url = f"http://127.0.0.1:{taken.getsockname()[1]}{gone.root}"
        with pytest.raises(ModelError, match="could not be reached"):
            call(vendor.make(gone), how)


def test_no_place_is_waited_for_longer_than_the_deadline() -> None:
    limiter = Limiter(1)
    with OPENAI.server(good) as server:
        under_way = OPENAI.make(server, limiter=limiter).stream(MESSAGES)
        next(under_way)
        with pytest.raises(ModelError, match="LORE_MAX_CONCURRENCY") as raised:
            OPENAI.make(server, limiter=limiter, timeout=0.05).structured(MESSAGES, Reply)
        assert raised.value.retryable
        under_way.close()
        assert OPENAI.make(server, limiter=limiter, timeout=5.0).structured(MESSAGES, Reply).wordings


def test_many_threads_share_a_model_and_its_places() -> None:
    lock, running, busiest = Lock(), [0], [0]

    def reply(body: dict[str, Any]) -> str:
        with lock:
            running[0] += 1
            busiest[0] = max(busiest[0], running[0])
        Event().wait(0.005)
        with lock:
            running[0] -= 1
        return str(body["messages"][-1]["content"])

    with OPENAI.server(reply) as server:
        model = OPENAI.make(server, limiter=Limiter(3), timeout=60.0)
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda n: "".join(model.stream([Message("user", f"answer {n}")])), range(40)))
    assert answers == [f"answer {n}" for n in range(40)]
    assert 1 < busiest[0] <= 3


def test_a_model_that_is_down_is_left_alone() -> None:
    now = [0.0]
    breaker = CircuitBreaker(failures=2, pause=30, clock=lambda: now[0])
    with OPENAI.server(lambda _: TEXT) as server:
        model = OPENAI.make(server, breaker=breaker)
        server.faults.extend([openai.error(503, "down")] * 2)
        for _ in range(4):
            with pytest.raises(ModelError) as raised:
                list(model.stream(MESSAGES))
        assert "was not called" in raised.value.message
        assert len(server.requests) == 2
        now[0] = 31.0
        assert "".join(model.stream(MESSAGES)) == TEXT


def test_a_refusal_says_nothing_about_the_next_request() -> None:
    breaker = CircuitBreaker(failures=2, pause=30, clock=lambda: 0.0)
    with OPENAI.server(lambda _: TEXT) as server:
        model = OPENAI.make(server, breaker=breaker)
        server.faults.extend([openai.error(400, "too long", "context_length_exceeded")] * 4)
        for _ in range(4):
            with pytest.raises(ContextTooLongError):
                list(model.stream(MESSAGES))
        assert "".join(model.stream(MESSAGES)) == TEXT
