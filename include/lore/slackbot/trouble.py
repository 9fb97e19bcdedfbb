"""What Slack refuses is said once in the log, clearly, and not for each question that meets it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from time import monotonic

from include.lore.errors import LoreError
from include.lore.slackbot.api_errors import TOKEN_CODES
from include.lore.slackbot.words import SlackError

__all__ = ["Trouble"]

QUIET_SECONDS = 3600.0
"""How long the same is not said again."""

logger = logging.getLogger(__name__)


class Trouble:
    """Writes into the log what went wrong, the same once an hour; used by several threads."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str], float] = {}
        self._lock = Lock()

    def tell(self, error: LoreError, channel: str) -> None:
        """Say it, unless it was said lately of the channel, or of the token, which is the same everywhere."""
        kind = error.code if isinstance(error, SlackError) else f"{type(error).__name__}: {error.message}"
        key = (kind, "" if kind in TOKEN_CODES else channel)
        with self._lock:
            now = self._clock()
            self._until = {known: until for known, until in self._until.items() if until > now}
            if key in self._until:
                return
            self._until[key] = now + QUIET_SECONDS
        logger.error("A question in %s is not answered: %s", channel, error)
