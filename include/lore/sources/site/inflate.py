"""Compressed bytes unpacked up to a limit: a few kilobytes can stand for gigabytes."""

from __future__ import annotations

import zlib

__all__ = ["Inflater", "TooLargeError", "gunzip"]

AUTOMATIC = zlib.MAX_WBITS | 32
"""zlib tells a gzip from a zlib header by itself."""


class TooLargeError(Exception):
    """More bytes than the limit; none beyond it were unpacked."""


class Inflater:
    """Unpacks pieces as they come, plain ones (`compressed` False) included. Raises zlib.error for what is broken."""

    def __init__(self, limit: int, *, compressed: bool) -> None:
        self._limit = limit
        self._stream = zlib.decompressobj(AUTOMATIC) if compressed else None
        self._started = False
        self._data = bytearray()

    def add(self, piece: bytes) -> None:
        """Take a piece. Raises TooLargeError once the unpacked bytes exceed the limit."""
        if self._stream is None:
            self._data += piece
        while self._stream is not None and piece:
            self._started = True
            self._data += self._stream.decompress(piece, max(1, self._limit + 1 - len(self._data)))
            if len(self._data) > self._limit:
                break
            piece = self._stream.unconsumed_tail
            if self._stream.eof:  # gzip files may follow one another
                piece = self._stream.unused_data.lstrip(b"\0")
                if piece:
                    self._stream = zlib.decompressobj(AUTOMATIC)
        if len(self._data) > self._limit:
            raise TooLargeError

    def partial(self) -> bytes:
        """What was unpacked so far, up to the limit."""
        return bytes(self._data[: self._limit])

    def result(self) -> bytes:
        """All that was unpacked. Raises zlib.error when the packed data stop before their end."""
        if self._stream is not None and self._started and not self._stream.eof:
            raise zlib.error("the compressed data are cut off")
        return bytes(self._data)


def gunzip(data: bytes, limit: int) -> bytes:
    """The content of a gzip file, at most `limit` bytes. Raises TooLargeError and zlib.error."""
    inflater = Inflater(limit, compressed=True)
    inflater.add(data)
    return inflater.result()
