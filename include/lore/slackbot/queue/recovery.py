"""Questions whose process died, or handed them over: taken over when their lease ends, at the start and ever after."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from threading import Event, Thread

from lore.errors import RecordsError
from lore.slackbot.events.mentions import question_text
from lore.slackbot.queue.leases import HeldLeases, Lease, LeaseLost
from lore.slackbot.queue.settling import Settling
from lore.slackbot.slack_api.error_log import ErrorLog, describe_error
from lore.slackbot.types import SlackApi, SlackCallError
from lore.sources.payload import as_text

__all__ = ["Recovery"]

EVERY_SECONDS = 10.0

logger = logging.getLogger(__name__)


class Recovery:
    """Looks for them every few seconds, in a thread of its own.

    `resume` lets a question wait to be answered again, and says whether there was room; `has_room` says that before.
    `courtesy` does one again, which is no question, and may raise what `Settling` does.
    """

    def __init__(
        self,
        leases: HeldLeases,
        slack: SlackApi,
        settling: Settling,
        trouble: ErrorLog,
        *,
        resume: Callable[[Lease], bool],
        has_room: Callable[[], bool],
        quick_reply: Callable[[Lease], None],
        every: float = EVERY_SECONDS,
    ) -> None:
        self._leases = leases
        self._slack = slack
        self._settling = settling
        self._trouble = trouble
        self._resume = resume
        self._has_room = has_room
        self._quick_reply = quick_reply
        self._every = every
        self._stopping = Event()
        self._failing = False
        self._thread = Thread(target=self._run, name="lore-slack-recovery", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Look no more, and wait so long for the last look."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def look(self) -> int:
        """Take over what is there now; returns how many questions. Raises RecordsError."""
        taken = 0
        for claim in self._leases.claims.expired():
            if self._stopping.is_set() or not self._has_room():
                break
            lease = self._leases.take_over(claim)
            if lease is not None:
                taken += 1
                self._take_care_of(lease)
        return taken

    def _take_care_of(self, lease: Lease) -> None:
        try:
            if self._settling.settle(lease):
                return
            (self._quick_reply if lease.quick_reply else self._again)(lease)
        except LeaseLost:
            lease.abandon()
        except SlackCallError as error:
            self._trouble.tell(error, lease.question.channel)
            if error.retryable:
                lease.abandon()
            else:
                lease.finish()
        except RecordsError:
            lease.abandon()
            raise
        except Exception as error:  # one that cannot be settled must not keep the others waiting
            logger.error("A question in %s cannot be taken over: %s", lease.question.channel, describe_error(error))
            lease.abandon()

    def _again(self, lease: Lease) -> None:
        """Answer it from the beginning; its text is read from Slack, where it may have been deleted meanwhile."""
        question = lease.question
        message = self._slack.message(question.channel, question.ts)
        text = question_text(as_text(message.get("text")), self._slack.identity().user) if message else ""
        if not text:
            lease.finish()
            return
        lease.question = replace(question, text=text)
        if not self._resume(lease):
            lease.release()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                if taken := self.look():
                    logger.info("%d interrupted questions were taken over.", taken)
                self._failing = False
            except RecordsError as error:
                if not self._failing:
                    logger.warning("Interrupted questions cannot be looked for: %s", error)
                self._failing = True
            except Exception as error:
                logger.error("Interrupted questions cannot be looked for: %s", describe_error(error))
            self._stopping.wait(self._every)
