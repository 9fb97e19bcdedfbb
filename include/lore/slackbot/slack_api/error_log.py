"""What goes wrong, in the log: what Slack refuses once and clearly, a mistake of ours without what people wrote."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from time import monotonic

from lore.errors import LoreError
from lore.slackbot.slack_api.errors import level
from lore.slackbot.types import SlackCallError

__all__ = ["ErrorLog", "describe_error"]

QUIET_SECONDS = 3600.0
"""How long the same is not said again."""

FRAMES = 12

logger = logging.getLogger(__name__)


def describe_error(error: BaseException) -> str:
    """An error that nobody expected, for a log: its kind and the way to it, with the one that it came from. Its own
    words are left out, because those of a library may quote what somebody wrote.
    """
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    path = " > ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{type(error).__name__} ({path})" + (f", from {describe_error(cause)}" if cause is not None else "")


class ErrorLog:
    """Writes into the log what went wrong, the same once an hour; used by several threads."""

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._until: dict[tuple[str, str], float] = {}
        self._lock = Lock()

    def tell(self, error: LoreError, channel: str) -> None:
        """Say it, unless it was said lately of the channel."""
        kind = error.code if isinstance(error, SlackCallError) else f"{type(error).__name__}: {error.message}"
        key = (kind, channel)
        with self._lock:
            now = self._clock()
            self._until = {known: until for known, until in self._until.items() if until > now}
            if key in self._until:
                return
            self._until[key] = now + QUIET_SECONDS
        logger.log(level(error, logging.ERROR), "A question in %s is not answered: %s", channel, error)
