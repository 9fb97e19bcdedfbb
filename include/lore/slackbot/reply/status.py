"""What the asker sees until there is an answer: the bot's status below the thread, or a message in its place."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

from lore.errors import RecordsError
from lore.slackbot.queue.leases import Lease, LeaseLost
from lore.slackbot.reply import notices
from lore.slackbot.reply.poster import Poster
from lore.slackbot.slack_api.errors import TOKEN_CODES
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache
from lore.slackbot.types import SlackApi, SlackCallError

__all__ = ["Background", "StatusIndicator"]

STATUS = "status"
FADES_SECONDS = 90.0
"""A status is shown anew after so long: Slack takes it away after two minutes."""
THREADLESS = frozenset({"invalid_thread_ts", "thread_not_found", "message_not_found"})
"""Refusals that are about one thread, and say nothing of the channel."""

Background: TypeAlias = Callable[[Callable[[], None]], None]
"""Does something soon, in another thread."""

logger = logging.getLogger(__name__)


class StatusIndicator:
    """Shows what is done for a question, in the background. Where Slack does not answer, a sign is left out."""

    def __init__(
        self,
        slack: SlackApi,
        pace: RateBudgets,
        refused: RefusalCache,
        background: Background,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._slack = slack
        self._pace = pace
        self._refused = refused
        self._background = background
        self._clock = clock

    def show(self, lease: Lease, doing: str) -> None:
        """Say what is being done, until something of the answer is there. To a command it is said once."""
        lease.doing = doing
        if self._is_due(lease) and not lease.signing:  # where Slack is slow, signs would pile up
            lease.signing = True
            self._background(lambda: self._present(lease))

    def refresh(self, lease: Lease) -> None:
        """Show again what faded, or could not be shown before."""
        self.show(lease, lease.doing)

    def _is_due(self, lease: Lease) -> bool:
        if lease.closed or lease.refused or not lease.doing or lease.kind not in ("", "placeholder"):
            return False
        if lease.question.via == "command":
            return not lease.sign
        faded = lease.kind == "" and self._clock() - lease.signed_at >= FADES_SECONDS
        return lease.sign != lease.doing or faded

    def _present(self, lease: Lease) -> None:
        doing = lease.doing
        try:
            with lease.speaking():
                doing = lease.doing
                if self._is_due(lease) and self._shown(lease, doing):
                    lease.sign, lease.signed_at = doing, self._clock()
        except LeaseLost:
            pass
        except RecordsError as error:
            logger.info("A sign was left out: %s", error)
        except SlackCallError as error:
            if not error.retryable:
                lease.refused = error  # the worker would only find out after the answer was written
        finally:
            lease.signing = False
        if lease.doing != doing:  # it changed while Slack was told
            self.refresh(lease)

    def _shown(self, lease: Lease, doing: str) -> bool:
        posts = Poster(lease, self._slack)
        if lease.question.via == "command":
            lease.sign = doing  # once, even where it is not known whether it was seen
            posts.whisper(notices.working(doing))
        elif lease.kind == "placeholder":
            if not (lease.shown and self._pace.updates.take()):
                return False
            posts.update(notices.working(doing))
        elif not self._status(lease, doing):
            posts.begin("placeholder", notices.working(doing))
        return True

    def _status(self, lease: Lease, status: str) -> bool:
        """Whether Slack shows a status there; it does not for each app and in each channel."""
        question = lease.question
        if self._refused.knows(STATUS, question.channel):
            return False
        try:
            self._slack.set_status(question.channel, question.thread_ts, status)
        except SlackCallError as error:
            if error.retryable or error.code in TOKEN_CODES:
                raise
            if error.code not in THREADLESS:
                self._refused.remember(STATUS, question.channel, error.code)
            return False
        return True
