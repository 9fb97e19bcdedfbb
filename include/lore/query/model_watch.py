"""The health of the language model, by its calls: a failure is logged once with its remedy, and so is its end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import Lock

from lore.errors import ContextTooLongError, ModelError

__all__ = ["ModelWatch", "OnModelChange"]

logger = logging.getLogger(__name__)

OnModelChange = Callable[[ModelError | None], None]
"""Is called with the error once the language model begins to fail, and with None once it works again."""


class ModelWatch:
    """Notices when the language model begins to fail and when it works again; used by several threads.

    A reply that is unusable for one question is no failure; a key, a quota, an address or a time limit is.
    """

    def __init__(self, on_change: OnModelChange = lambda _: None) -> None:
        self._on_change = on_change
        self._fails = False
        self._lock = Lock()

    def note(self, errors: Sequence[ModelError], *, called: bool) -> None:
        """Take the errors of one question's calls; `called` if the model was called at all."""
        failure = next((error for error in errors if _is_failure(error)), None)
        with self._lock:
            is_change = self._fails != bool(failure) and (failure is not None or called)
            self._fails = bool(failure) if is_change else self._fails
        if not is_change:
            return
        if failure:
            logger.error("The language model fails, so answers quote their sources: %s", failure)
        else:
            logger.warning("The language model works again.")
        self._on_change(failure)


def _is_failure(error: ModelError) -> bool:
    return not isinstance(error, ContextTooLongError) and (error.retryable or bool(error.remedy))
