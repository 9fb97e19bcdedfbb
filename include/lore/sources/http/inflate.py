"""Decompression within a size limit: a few kilobytes may expand to gigabytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

__all__ = ["TooLargeError", "gunzip", "inflate", "limited"]

AUTOMATIC = zlib.MAX_WBITS | 32
"""Lets zlib detect a gzip or zlib header."""
STEP = 1024 * 1024
"""Bytes that one step decompresses at most."""


class TooLargeError(Exception):
    """The data exceed the limit; nothing beyond it was decompressed."""


def limited(pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Yield up to `limit` bytes. Raises TooLargeError after these if there are more."""
    left = limit
    for piece in pieces:
        yield piece[:left]
        left -= len(piece)
        if left < 0:
            raise TooLargeError


def inflate(pieces: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Decompress gzip or zlib data, also several gzip members in a row, to at most `limit` bytes.

    Raises TooLargeError after `limit` bytes if there are more, and zlib.error for damaged or truncated data.
    """
    return limited(_steps(pieces), limit)


def gunzip(data: bytes, limit: int) -> bytes:
    """Return the content of a gzip file. Raises as `inflate` does."""
    return b"".join(inflate([data], limit))


def _steps(pieces: Iterable[bytes]) -> Iterator[bytes]:
    stream, started = zlib.decompressobj(AUTOMATIC), False
    for piece in pieces:
        while piece:
            started = True
            yield stream.decompress(piece, STEP)
            piece = stream.unconsumed_tail
            if stream.eof:
                piece = stream.unused_data.lstrip(b"\0")
                if piece:
                    stream = zlib.decompressobj(AUTOMATIC)
    if started and not stream.eof:
        yield stream.flush()
        if not stream.eof:
            raise zlib.error("the compressed data are truncated")
