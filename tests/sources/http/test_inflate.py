"""Compressed bytes: whole, truncated, damaged and far larger than they look."""

from __future__ import annotations

import gzip
import zlib

import pytest
from lore.sources.http.inflate import STEP, TooLargeError, gunzip, inflate, limited

TEXT = b"The same words again and again. " * 100


def unpack(data: bytes, limit: int = 10_000, size: int = 7) -> bytes:
    return b"".join(inflate((data[start : start + size] for start in range(0, len(data), size)), limit))


def cut(pieces) -> bytes:
    """The bytes that come before the limit is exceeded."""
    taken = bytearray()
    with pytest.raises(TooLargeError):
        for piece in pieces:
            taken += piece
    return bytes(taken)


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(TEXT, mtime=0),
        zlib.compress(TEXT),
        gzip.compress(TEXT[:50], mtime=0) + gzip.compress(TEXT[50:], mtime=0),
        gzip.compress(TEXT[:50], mtime=0) + bytes(20) + gzip.compress(TEXT[50:], mtime=0) + bytes(20),
    ],
)
def test_whole(data):
    assert unpack(data) == unpack(data, size=len(data)) == gunzip(data, len(TEXT)) == TEXT


def test_more_than_one_step():
    data = b"0123456789abcdef" * (STEP // 4)
    assert gunzip(gzip.compress(data, mtime=0), len(data)) == data
    assert unpack(gzip.compress(data, mtime=0), len(data), 1000) == data


def test_nothing_is_nothing():
    assert list(inflate([], 9)) == list(limited([], 0)) == []


def test_plain():
    assert b"".join(limited([b"ab", b"c"], 3)) == b"abc"
    assert cut(limited([b"ab", b"cd"], 3)) == b"abc"


def test_a_bomb_is_not_unpacked():
    bomb = gzip.compress(b"\0" * 50_000_000, mtime=0)
    assert cut(inflate([bomb], 1000)) == bytes(1000)
    with pytest.raises(TooLargeError):
        gunzip(gzip.compress(b"\0", mtime=0) * 2000, 1000)


@pytest.mark.parametrize(
    "data", [gzip.compress(TEXT, mtime=0)[:-3], b"\x1f\x8b no gzip", zlib.compress(TEXT)[:20], b"plain text"]
)
def test_broken(data):
    with pytest.raises(zlib.error):
        gunzip(data, 10_000)
