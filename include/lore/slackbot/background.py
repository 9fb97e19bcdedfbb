"""Threads for short tasks, so that neither an event nor a worker waits for Slack."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lore.errors import LoreError
from lore.slackbot.slack_api.error_log import describe_error
from lore.slackbot.slack_api.errors import log_level

__all__ = ["BackgroundPool"]

logger = logging.getLogger(__name__)


class BackgroundPool(ThreadPoolExecutor):
    """Threads whose tasks never raise: what fails is logged."""

    def __init__(self, threads: int = 8) -> None:
        super().__init__(threads, thread_name_prefix="lore-slack-background")

    def soon(self, task: Callable[[], None]) -> None:
        """Run a task in one of the threads; leave it out once the pool is shut down."""
        try:
            self.submit(_guarded, task)
        except RuntimeError:
            logger.debug("The bot is stopping: a task is left out.")


def _guarded(task: Callable[[], None]) -> None:
    try:
        task()
    except LoreError as error:
        logger.log(log_level(error, logging.ERROR), "Couldn't handle an event from Slack: %s", error)
    except Exception as error:
        logger.error("Couldn't handle an event from Slack: %s", describe_error(error))
