"""The status that the asker sees until there is an answer: Slack's own, or a message in its place."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

from lore.errors import RecordsError
from lore.slackbot.queue.leases import Lease, LeaseLost
from lore.slackbot.reply import notices
from lore.slackbot.reply.poster import Poster
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.errors import TOKEN_CODES
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache
from lore.slackbot.types import SlackCallError

__all__ = ["Background", "StatusIndicator"]

STATUS = "status"
FADES_SECONDS = 90.0
"""A status is shown again after so long: Slack removes it after two minutes."""
THREADLESS = frozenset({"invalid_thread_ts", "thread_not_found", "message_not_found"})
"""Refusals about one thread, which say nothing about the channel."""

Background: TypeAlias = Callable[[Callable[[], None]], None]
"""Runs something soon, in another thread."""

logger = logging.getLogger(__name__)


class StatusIndicator:
    """Shows in the background what the bot does for a question. Where Slack doesn't answer, a status is left out."""

    def __init__(
        self,
        slack: BotApi,
        budgets: RateBudgets,
        refusals: RefusalCache,
        background: Background,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._slack = slack
        self._budgets = budgets
        self._refusals = refusals
        self._background = background
        self._clock = clock

    def show(self, lease: Lease, status: str) -> None:
        """Show a status until a part of the answer is visible. A command gets one status."""
        lease.status = status
        if self._is_due(lease) and not lease.is_showing_status:  # where Slack is slow, tasks would pile up
            lease.is_showing_status = True
            self._background(lambda: self._present(lease))

    def refresh(self, lease: Lease) -> None:
        """Show a status again that faded, or that couldn't be shown."""
        self.show(lease, lease.status)

    def _is_due(self, lease: Lease) -> bool:
        if lease.closed or lease.refusal or not lease.status or lease.kind not in ("", "placeholder"):
            return False
        if not lease.is_awaited:  # there may be no answer
            return False
        if lease.question.via == "command":
            return not lease.shown_status
        has_faded = lease.kind == "" and self._clock() - lease.shown_status_at >= FADES_SECONDS
        return lease.shown_status != lease.status or has_faded

    def _present(self, lease: Lease) -> None:
        status = lease.status
        try:
            with lease.speaking():
                status = lease.status
                if self._is_due(lease) and self._is_shown(lease, status):
                    lease.shown_status, lease.shown_status_at = status, self._clock()
        except LeaseLost:
            pass
        except RecordsError as error:
            logger.info("Couldn't show a status: %s", error)
        except SlackCallError as error:
            if not error.retryable:
                lease.refusal = error  # the worker would find out only after the answer was written
        finally:
            lease.is_showing_status = False
        if lease.status != status:  # it changed meanwhile
            self.refresh(lease)

    def _is_shown(self, lease: Lease, status: str) -> bool:
        """Show it, and return True if the asker sees it."""
        poster = Poster(lease, self._slack)
        if lease.question.via == "command":
            lease.shown_status = status  # once, even if it isn't certain that it arrived
            poster.post_privately(notices.status_message(status))
        elif lease.kind == "placeholder":
            if not (lease.shown and self._budgets.updates.take()):
                return False
            poster.update(notices.status_message(status))
        elif not self._is_set(lease, status):
            poster.post_first("placeholder", notices.status_message(status))
        return True

    def _is_set(self, lease: Lease, status: str) -> bool:
        """Set Slack's own status; return False where Slack has none for this app or channel."""
        question = lease.question
        if self._refusals.knows(STATUS, question.channel):
            return False
        try:
            self._slack.set_status(question.channel, question.thread_ts, status)
        except SlackCallError as error:
            if error.retryable or error.code in TOKEN_CODES:
                raise
            if error.code not in THREADLESS:
                self._refusals.remember(STATUS, question.channel, error.code)
            return False
        return True
