"""What the asker sees until there is an answer: the bot's status below the thread, or a message in its place."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import TypeAlias

from lore.errors import RecordsError
from lore.slackbot.queue.holds import ClaimLost, Hold
from lore.slackbot.reply import notices
from lore.slackbot.reply.posts import Posts
from lore.slackbot.slack_api.errors import TOKEN_CODES
from lore.slackbot.slack_api.pace import Pace, Refused
from lore.slackbot.types import Slack, SlackError

__all__ = ["Background", "Signs"]

STATUS = "status"
FADES_SECONDS = 90.0
"""A status is shown anew after so long: Slack takes it away after two minutes."""
THREADLESS = frozenset({"invalid_thread_ts", "thread_not_found", "message_not_found"})
"""Refusals that are about one thread, and say nothing of the channel."""

Background: TypeAlias = Callable[[Callable[[], None]], None]
"""Does something soon, in another thread."""

logger = logging.getLogger(__name__)


class Signs:
    """Shows what is done for a question, in the background. Where Slack does not answer, a sign is left out."""

    def __init__(
        self,
        slack: Slack,
        pace: Pace,
        refused: Refused,
        background: Background,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._slack = slack
        self._pace = pace
        self._refused = refused
        self._background = background
        self._clock = clock

    def show(self, hold: Hold, doing: str) -> None:
        """Say what is being done, until something of the answer is there. To a command it is said once."""
        hold.doing = doing
        if self._is_due(hold) and not hold.signing:  # where Slack is slow, signs would pile up
            hold.signing = True
            self._background(lambda: self._present(hold))

    def refresh(self, hold: Hold) -> None:
        """Show again what faded, or could not be shown before."""
        self.show(hold, hold.doing)

    def _is_due(self, hold: Hold) -> bool:
        if hold.closed or hold.refused or not hold.doing or hold.kind not in ("", "placeholder"):
            return False
        if hold.ask.way == "command":
            return not hold.sign
        faded = hold.kind == "" and self._clock() - hold.signed_at >= FADES_SECONDS
        return hold.sign != hold.doing or faded

    def _present(self, hold: Hold) -> None:
        doing = hold.doing
        try:
            with hold.speaking():
                doing = hold.doing
                if self._is_due(hold) and self._shown(hold, doing):
                    hold.sign, hold.signed_at = doing, self._clock()
        except ClaimLost:
            pass
        except RecordsError as error:
            logger.info("A sign was left out: %s", error)
        except SlackError as error:
            if not error.retryable:
                hold.refused = error  # the worker would only find out after the answer was written
        finally:
            hold.signing = False
        if hold.doing != doing:  # it changed while Slack was told
            self.refresh(hold)

    def _shown(self, hold: Hold, doing: str) -> bool:
        posts = Posts(hold, self._slack)
        if hold.ask.way == "command":
            hold.sign = doing  # once, even where it is not known whether it was seen
            posts.whisper(notices.working(doing))
        elif hold.kind == "placeholder":
            if not (hold.shown and self._pace.updates.take()):
                return False
            posts.update(notices.working(doing))
        elif not self._status(hold, doing):
            posts.begin("placeholder", notices.working(doing))
        return True

    def _status(self, hold: Hold, status: str) -> bool:
        """Whether Slack shows a status there; it does not for each app and in each channel."""
        ask = hold.ask
        if self._refused.knows(STATUS, ask.channel):
            return False
        try:
            self._slack.set_status(ask.channel, ask.thread_ts, status)
        except SlackError as error:
            if error.retryable or error.code in TOKEN_CODES:
                raise
            if error.code not in THREADLESS:
                self._refused.remember(STATUS, ask.channel, error.code)
            return False
        return True
