"""What Slack refuses is said once in the log, clearly, and not for each question that meets it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from time import monotonic

from include.lore.errors import LoreError
from include.lore.slackbot.api_errors import level
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
        """Say it, unless it was said lately of the channel."""
        kind = error.code if isinstance(error, SlackError) else f"{type(error).__name__}: {error.message}"
        key = (kind, channel)
        with self._lock:
            now = self._clock()
            self._until = {known: until for known, until in self._until.items() if until > now}
            if key in self._until:
                return
            self._until[key] = now + QUIET_SECONDS
        logger.log(level(error, logging.ERROR), "A question in %s is not answered: %s", channel, error)
