"""Who takes the questions: each is claimed in the records, gets a sign at once, and waits its turn for a worker."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Thread
from time import monotonic

from lore.errors import LoreError, RecordsError
from lore.slackbot.queue.fair_queue import FairQueue
from lore.slackbot.queue.leases import HeldLeases, Lease, LeaseLost
from lore.slackbot.queue.rate_limits import RateLimiter
from lore.slackbot.queue.settling import Settling
from lore.slackbot.render import phrases
from lore.slackbot.reply import notices
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster
from lore.slackbot.reply.status import StatusIndicator
from lore.slackbot.slack_api.error_log import ErrorLog, describe_error
from lore.slackbot.types import SlackApi, SlackQuestion

__all__ = ["BackgroundPool", "QuestionQueue"]

PULSE_SECONDS = 5.0
"""How often leases are extended, and places in the queue are shown anew."""
STOP_SECONDS = 25.0
"""How long what is being answered may take once the bot is to stop."""
CLOSE_SECONDS = 4.0
"""How long what is being said may take then, for all answers together."""

logger = logging.getLogger(__name__)


class BackgroundPool(ThreadPoolExecutor):
    """A few threads that say short things, so that neither an event nor a worker waits for Slack."""

    def __init__(self, threads: int = 8) -> None:
        super().__init__(threads, thread_name_prefix="lore-slack-sign")

    def soon(self, task: Callable[[], None]) -> None:
        """Do it in one of the threads; what comes after the end is left out."""
        try:
            self.submit(_guarded, task)
        except RuntimeError:
            logger.debug("The bot is being stopped: a sign is left out.")


class QuestionQueue:
    """Takes questions, and lets workers answer them. `answer` answers one that is held, and never raises."""

    def __init__(
        self,
        leases: HeldLeases,
        slack: SlackApi,
        limits: RateLimiter,
        signs: StatusIndicator,
        settling: Settling,
        trouble: ErrorLog,
        office: BackgroundPool,
        *,
        answer: Callable[[Lease], None],
        workers: int,
        capacity: int,
        pulse: float = PULSE_SECONDS,
    ) -> None:
        self._leases = leases
        self._slack = slack
        self._limits = limits
        self._status = signs
        self._settling = settling
        self._trouble = trouble
        self._background = office
        self._answer = answer
        self._workers = workers
        self._capacity = capacity
        self._queue = FairQueue(capacity, each=max(1, workers - 1))
        self._pulse = pulse
        self._unkept = False
        self._stopping = Event()
        self._stopped = Event()
        self._threads = [
            Thread(target=self._work, name=f"lore-slack-worker-{number}", daemon=True) for number in range(workers)
        ]
        self._heart = Thread(target=self._beat, name="lore-slack-pulse", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._heart.start()
        for thread in self._threads:
            thread.start()

    def take(self, question: SlackQuestion) -> None:
        """Take a question, unless it was taken before. Returns in a few milliseconds; raises RecordsError."""
        if self._stopping.is_set():
            raise RecordsError("The bot is being stopped, and takes no more questions.", retryable=True)
        lease = self._leases.first(question)
        if lease is None:
            return
        if refusal := self._limits.admit(question):
            text = notices.limited(refusal) if refusal.say else ""
            self._background.soon(lambda: self._turn_away(lease, text, quietly=True))
        elif self.resume(lease):
            return
        elif self._stopping.is_set():
            lease.release()
        else:
            text = phrases.full(len(self._queue))
            self._background.soon(lambda: self._turn_away(lease, text, quietly=False))

    def resume(self, lease: Lease) -> bool:
        """Let a question that is held wait to be answered; whether there was room."""
        lease.doing = phrases.LOOKING
        if not self._queue.put(lease):
            return False
        waiting = self._queue.waiting()
        if lease in waiting:
            self._status.show(lease, self._doing(waiting, lease))
        else:  # a worker has it, and says what it does
            self._status.refresh(lease)
        return True

    def has_room(self) -> bool:
        """Whether another question may wait."""
        return not self._stopping.is_set() and len(self._queue) < self._capacity

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait so long until nothing waits or is being answered; whether that came true."""
        return self._queue.wait_until_idle(seconds)

    def beat(self) -> None:
        """Extend what is held, and show what waits its place: once every few seconds."""
        self._leases.extend()
        waiting = self._queue.waiting()
        for lease in waiting:
            self._status.show(lease, self._doing(waiting, lease))
        for lease in self._queue.working():
            self._status.refresh(lease)

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Take and begin nothing more. What waits is handed over to another process, or to the next start; what is
        being answered may end within so many seconds, and else ends in a message that says so, or is handed over.
        """
        self._stopping.set()
        for lease in self._queue.close():
            self._hand_over(lease)
        self.wait_until_idle(seconds)
        patience = monotonic() + CLOSE_SECONDS
        for lease in self._queue.working():
            if lease.close(seconds=max(0.0, patience - monotonic())):
                self._hand_over(self._leases.reopen(lease))
        self._background.shutdown(wait=True, cancel_futures=True)
        self._stopped.set()
        if self._heart.ident is not None:
            self._heart.join()

    def _doing(self, waiting: list[Lease], lease: Lease) -> str:
        """What is being done for a question that waits."""
        free = self._workers - len(self._queue.working())
        before = waiting.index(lease) - free
        return phrases.LOOKING if before < 0 else phrases.waiting(before + 1)

    def _work(self) -> None:
        while (lease := self._queue.take()) is not None:
            try:
                if not lease.closed:
                    lease.doing = phrases.LOOKING
                    self._answer(lease)
            except Exception as error:
                logger.error("A worker of the bot goes on after an error: %s", describe_error(error))
            finally:
                self._queue.done(lease)

    def _beat(self) -> None:
        while not self._stopped.wait(self._pulse):
            try:
                self.beat()
            except Exception as error:
                logger.error("The pulse of the bot goes on after an error: %s", describe_error(error))

    def _turn_away(self, lease: Lease, text: str, *, quietly: bool) -> None:
        """Say that a question is not taken, and be done with it."""
        try:
            if text:
                posts, direct = Poster(lease, self._slack), lease.question.room == "direct"
                (posts.whisper if quietly and not direct else posts.say)(plain(text))
        except LoreError as error:
            self._trouble.tell(error, lease.question.channel)
        except LeaseLost:
            return
        lease.finish()

    def _hand_over(self, lease: Lease) -> None:
        """Let another process answer it, or end what was begun; a command's words nobody else could read. Where the
        records are away that is tried once, for all: their leases end.
        """
        if self._unkept:
            lease.abandon()
            return
        try:
            answered = lease.kind not in ("", "placeholder") or lease.question.via == "command"
            if not (answered and self._settling.settle(lease, phrases.STOPPED)):
                lease.release()
        except LeaseLost:
            pass
        except LoreError as error:  # whoever takes it over when its lease ends will see
            self._unkept = isinstance(error, RecordsError)
            self._trouble.tell(error, lease.question.channel)
            lease.abandon()


def _guarded(task: Callable[[], None]) -> None:
    try:
        task()
    except Exception as error:
        logger.error("A sign to an asker is left out: %s", describe_error(error))
