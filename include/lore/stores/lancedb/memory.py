"""Limits on LanceDB's memory: on what its scans read ahead, and on freed memory that the C library keeps.

Without them an hour of writing and the final index build hold several times what they need: each LanceDB thread has a
heap of its own, and glibc does not return its free parts. docs/scale.md has the figures.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

SETTINGS = {
    "LANCEDB_LOG": "error",  # its warnings would appear in the middle of a command's output
    "LANCE_DEFAULT_IO_BUFFER_SIZE": str(32 * 1024 * 1024),  # 2 GB by default: it would read a whole table ahead
    "LANCE_SHUFFLE_BATCH_BYTES": str(8 * 1024 * 1024),
    "LANCE_DEFAULT_BATCH_SIZE": "1024",  # rows; the default of 8,192 long passages takes hundreds of megabytes
}
"""LanceDB reads these at import; a value that the user has set wins."""
ARENA_MAX, ARENAS = -8, 2
"""glibc's M_ARENA_MAX (mallopt(3)): the number of heaps that all threads share."""


def limit_memory() -> None:
    """Apply the limits; call it before importing LanceDB."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    if (libc := _glibc()) is not None and "MALLOC_ARENA_MAX" not in os.environ:
        libc.mallopt(ARENA_MAX, ARENAS)


def trim_memory() -> None:
    """Return freed memory to the system, in some milliseconds; does nothing without glibc."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


@cache
def _glibc() -> Any:
    """The C library, or None for any other than glibc."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        libc.malloc_trim.argtypes = [ctypes.c_size_t]
        libc.mallopt.argtypes = [ctypes.c_int, ctypes.c_int]
    except (OSError, AttributeError):
        return None
    return libc
