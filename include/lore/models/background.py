"""One event loop in a thread of its own, on which all calls to models run.

Lore's code is synchronous, but the calls are tasks: a task can be cancelled at any moment and closes its connection. A
thread that reads from a slow server can't.
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
"""Process id → loop: a forked process inherits its parent's loop without the thread that runs it."""


def submit(task: Coroutine[Any, Any, T]) -> Future[T]:
    """Start the task; cancelling the returned future ends it and closes its connection."""
    return asyncio.run_coroutine_threadsafe(task, _loop())


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None:
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="lore-models", daemon=True).start()
        return loop
