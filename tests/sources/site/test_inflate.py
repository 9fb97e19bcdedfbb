"""Packed bytes, whole, cut off, broken and far larger than they look."""

from __future__ import annotations

import gzip
import zlib

import pytest
from lore.sources.site.inflate import Inflater, TooLargeError, gunzip

TEXT = b"The same words again and again. " * 100


def unpack(data: bytes, limit: int = 10_000, size: int = 7) -> bytes:
    inflater = Inflater(limit, compressed=True)
    for start in range(0, len(data), size):
        inflater.add(data[start : start + size])
    return inflater.result()


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(TEXT, mtime=0),
        zlib.compress(TEXT),
        gzip.compress(TEXT[:50], mtime=0) + gzip.compress(TEXT[50:], mtime=0),
    ],
)
def test_whole(data):
    assert unpack(data) == unpack(data, size=len(data)) == gunzip(data, len(TEXT)) == TEXT


def test_plain():
    inflater = Inflater(3, compressed=False)
    inflater.add(b"abc")
    assert inflater.result() == b"abc"
    with pytest.raises(TooLargeError):
        inflater.add(b"d")
    assert inflater.partial() == b"abc"


def test_a_bomb_is_not_unpacked():
    bomb = gzip.compress(b"\0" * 50_000_000, mtime=0)
    inflater = Inflater(1000, compressed=True)
    with pytest.raises(TooLargeError):
        inflater.add(bomb)
    assert len(inflater.partial()) == 1000
    with pytest.raises(TooLargeError):
        gunzip(gzip.compress(b"\0", mtime=0) * 2000, 1000)


@pytest.mark.parametrize(
    "data", [gzip.compress(TEXT, mtime=0)[:-3], b"\x1f\x8b no gzip", zlib.compress(TEXT)[:20], b"plain text"]
)
def test_broken(data):
    with pytest.raises(zlib.error):
        gunzip(data, 10_000)
