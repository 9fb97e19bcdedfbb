"""How many calls of models run at once in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lore.errors import ModelError

__all__ = ["Limiter"]


class Limiter:
    """Lets `size` calls run at once; further ones wait, as long as they say."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._places = threading.BoundedSemaphore(size)

    @contextmanager
    def place(self, name: str, timeout: float) -> Iterator[None]:
        """A place for one call of the model `name`. Raises ModelError when none becomes free in `timeout` seconds."""
        if not self._places.acquire(timeout=max(0.0, timeout)):
            raise ModelError(
                f"{name} was not asked: {self._size} other calls of models took all of the time.",
                remedy="Try again, or raise LORE_MAX_CONCURRENCY.",
                retryable=True,
            )
        try:
            yield
        finally:
            self._places.release()
