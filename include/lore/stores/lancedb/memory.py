"""Keeping LanceDB's memory small: what its scans read ahead, and what the C library keeps of what was freed.

A sync that writes for an hour, and the building of an index at its end, would otherwise hold several times what they
need: every thread of LanceDB has a heap of its own, whose free parts glibc does not give back by itself. docs/scale.md
has the figures.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

SETTINGS = {
    "LANCEDB_LOG": "error",  # its warnings would stand in the middle of what a command prints
    "LANCE_DEFAULT_IO_BUFFER_SIZE": str(32 * 1024 * 1024),  # 2 GB by default: it would read a whole table ahead
    "LANCE_SHUFFLE_BATCH_BYTES": str(8 * 1024 * 1024),
    "LANCE_DEFAULT_BATCH_SIZE": "1024",  # rows; 8,192 by default, of which long passages make hundreds of megabytes
}
"""LanceDB reads these when it is imported; what a person has set goes first."""
ARENA_MAX, ARENAS = -8, 2
"""glibc's M_ARENA_MAX (mallopt(3)): how many heaps the threads share."""


def prepare() -> None:
    """To be called before LanceDB is imported."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    if (libc := _glibc()) is not None and "MALLOC_ARENA_MAX" not in os.environ:
        libc.mallopt(ARENA_MAX, ARENAS)


def release() -> None:
    """Give back what was freed; takes some milliseconds, and does nothing where the C library is not glibc."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> Any:
    """The C library, or None where it is another one."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.malloc_trim.argtypes = [ctypes.c_size_t]
        libc.mallopt.argtypes = [ctypes.c_int, ctypes.c_int]
    except (OSError, AttributeError):
        return None
    return libc
