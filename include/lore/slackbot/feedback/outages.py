"""The maintainers' channel is told once that the language model fails, and once that it works again."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from lore.errors import LoreError, ModelError
from lore.records.leases import LeaseStore
from lore.slackbot.background import BackgroundPool
from lore.slackbot.reply.notices import plain
from lore.slackbot.slack_api.api import BotApi

__all__ = ["OutageNotices"]

log = logging.getLogger(__name__)

QUIET_SECONDS = 3_600.0
"""Of all processes, one tells of a failure in so long, and one of its end."""
WRITE_SECONDS = 60.0


class OutageNotices:
    """Posts to the maintainers' channel in the background; "" as `channel` posts nothing. `clock` is in seconds."""

    def __init__(
        self,
        slack: BotApi,
        store: LeaseStore,
        background: BackgroundPool,
        *,
        channel: str,
        owner: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._slack = slack
        self._store = store
        self._background = background
        self._channel = channel
        self._owner = owner
        self._clock = clock

    def on_model_change(self, error: ModelError | None) -> None:
        """Tell that the language model fails, or with None that it works again. Never raises."""
        if self._channel:
            self._background.soon(lambda: self._tell(error))

    def _tell(self, error: ModelError | None) -> None:
        text = "The language model works again."
        if error:
            text = f"The language model fails: {error} Meanwhile I quote sources word for word; lore doctor checks it."
        try:
            if self._is_first("works" if error is None else "fails"):
                self._slack.post(self._channel, plain(text))
        except LoreError as refused:
            log.error("Couldn't tell the maintainers' channel %s of the language model: %s", self._channel, refused)

    def _is_first(self, state: str) -> bool:
        """Return True for one process in each period."""
        key = f"{self._channel}:model:{state}:{int(self._clock() // QUIET_SECONDS)}"
        if not self._store.add(key, self._owner, WRITE_SECONDS):
            return False
        self._store.finish(key, self._owner)
        return True
