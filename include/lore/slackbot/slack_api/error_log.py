"""The log of what goes wrong: each refusal of Slack once and clearly, a bug without what people wrote."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import monotonic

from lore.errors import LoreError
from lore.slackbot.slack_api.errors import log_level
from lore.slackbot.types import SlackCallError

__all__ = ["ErrorLog", "describe_error"]

QUIET_SECONDS = 3600.0
"""Time in which the same error isn't logged again."""
FRAMES = 12

logger = logging.getLogger(__name__)


def describe_error(error: BaseException) -> str:
    """Return the kind and traceback of an unexpected error, and of its cause, in one line.

    Its message is left out, because a library's may quote what somebody wrote.
    """
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    path = " > ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{type(error).__name__} ({path})" + (f", from {describe_error(cause)}" if cause is not None else "")


class ErrorLog:
    """Logs errors, the same one of a channel once an hour; used by several threads."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str], float] = {}
        self._lock = Lock()

    def report(self, error: LoreError, channel: str) -> None:
        """Log an error, unless it was logged lately for the channel."""
        kind = error.code if isinstance(error, SlackCallError) else f"{type(error).__name__}: {error.message}"
        key = (kind, channel)
        with self._lock:
            now = self._clock()
            self._until = {known: until for known, until in self._until.items() if until > now}
            if key in self._until:
                return
            self._until[key] = now + QUIET_SECONDS
        logger.log(log_level(error, logging.ERROR), "A question in %s was not answered: %s", channel, error)
