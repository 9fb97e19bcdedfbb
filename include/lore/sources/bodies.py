"""The body of an answer within limits: httpx's own limit is for one read, so that a server which drips has none."""

from __future__ import annotations

import time
from collections.abc import Iterator

import httpx

from lore.sources.retries import Retry

__all__ = ["read_body", "retry_for_error", "until_deadline"]


def until_deadline(pieces: Iterator[bytes], deadline: float) -> Iterator[bytes]:
    """The pieces that come until `deadline`, a moment of `time.monotonic`. Raises httpx.ReadTimeout for a later one."""
    for piece in pieces:
        if time.monotonic() > deadline:
            raise httpx.ReadTimeout("The answer takes too long.")
        yield piece


def read_body(response: httpx.Response, *, most: int, deadline: float) -> bytes | None:
    """The unpacked body; None for one of more than `most` bytes. Raises as `in_time`, and what httpx raises."""
    body = bytearray()
    for piece in until_deadline(response.iter_bytes(), deadline):
        body += piece
        if len(body) > most:
            return None
    return bytes(body)


def retry_for_error(error: httpx.HTTPError, seconds: float) -> Retry:
    """A call that gave no complete answer, to be made again; `seconds` is the time that it had."""
    match error:
        case httpx.TimeoutException():
            return Retry(f"no complete answer within {seconds:g} seconds")
        case httpx.TransportError():
            return Retry(f"{type(error).__name__}: {error}".rstrip(".: "))
        case _:
            return Retry(f"the answer cannot be decoded ({type(error).__name__})")
