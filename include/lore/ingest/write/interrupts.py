"""Ctrl-C during a write: the write is finished first, so that what was embedded for it isn't lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["deferred_interrupt"]


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Raise a KeyboardInterrupt from the body only at its end; a second Ctrl-C raises it at once.

    Signals reach the main thread alone; elsewhere, and under a signal handler of another program, this does nothing.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    received = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal received
        received += 1
        if received > 1:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if received:
        raise KeyboardInterrupt
