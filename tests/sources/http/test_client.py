"""Bodies of answers: how large they may be, how long they may take, and what is said of those that break off."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx
import pytest
from lore.sources.http.client import read_body, retry_for_error, until_deadline

FAR, PAST = time.monotonic() + 3_600, time.monotonic() - 1


def answer(*pieces: bytes) -> httpx.Response:
    return httpx.Response(200, content=iter(pieces))


def test_a_body_is_read_whole_up_to_its_limit():
    assert read_body(answer(b"ab", b"", b"cd"), max_bytes=4, deadline=FAR) == b"abcd"
    assert read_body(answer(), max_bytes=0, deadline=PAST) == b""


def test_a_larger_body_is_left_where_the_limit_is():
    taken = []

    def endless() -> Iterator[bytes]:
        while True:
            taken.append(1)
            yield b"ab"

    assert read_body(httpx.Response(200, content=endless()), max_bytes=5, deadline=FAR) is None
    assert len(taken) == 3


def test_what_comes_too_late_is_as_if_it_had_not_come():
    with pytest.raises(httpx.ReadTimeout):
        read_body(answer(b"ab"), max_bytes=9, deadline=PAST)
    with pytest.raises(httpx.TimeoutException):
        list(until_deadline(iter([b"ab"]), PAST))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (httpx.ReadTimeout("The read operation timed out"), "no complete response within 2.5 seconds"),
        (httpx.ConnectTimeout(""), "no complete response within 2.5 seconds"),
        (httpx.ConnectError("Connection refused."), "ConnectError: Connection refused"),
        (httpx.ReadError(""), "ReadError"),
        (httpx.DecodingError("invalid header"), "the response can't be decoded (DecodingError)"),
    ],
)
def test_why_an_answer_broke_off_is_said(error: httpx.HTTPError, said: str):
    assert (retry_for_error(error, 2.5).reason, retry_for_error(error, 2.5).seconds) == (said, None)
