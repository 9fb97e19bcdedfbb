"""One event loop in a thread of its own, in which all calls to models run.

Lore's code is synchronous; the calls are not, because only a task can be ended at any moment and takes its connection
with it: a thread that reads from a server that sends a byte now and then cannot.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["submit"]

T = TypeVar("T")

_lock = threading.Lock()
_loops: dict[int, asyncio.AbstractEventLoop] = {}
"""The loop by process: a forked process has its parent's loop without the thread that runs it."""


def submit(task: Coroutine[Any, Any, T]) -> Future[T]:
    """Start the task at once; cancelling what is returned ends it, and closes its connection."""
    return asyncio.run_coroutine_threadsafe(task, _loop())


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="lore-models", daemon=True).start()
        return loop
