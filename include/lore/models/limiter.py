"""The limit on concurrent calls to models in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lore.errors import ModelError

__all__ = ["Limiter"]


class Limiter:
    """Allows `size` concurrent calls."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._slots = threading.BoundedSemaphore(size)

    @contextmanager
    def slot(self, name: str, timeout: float) -> Iterator[None]:
        """Hold a slot for a call to the model `name`. Raises ModelError if none is free within `timeout` seconds."""
        if not self._slots.acquire(timeout=max(0.0, timeout)):
            raise ModelError(
                f"{name} was not called: {self._size} concurrent calls to models took all the time.",
                remedy="Try again, or raise LORE_MAX_CONCURRENCY.",
                retryable=True,
            )
        try:
            yield
        finally:
            self._slots.release()
