"""The queue of questions: each is leased, gets a status at once, waits for a worker, and is recovered after a crash."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from threading import Event, Thread
from time import monotonic

from lore.errors import RecordsError
from lore.records.posted_answers import PostedAnswers
from lore.slackbot.background import BackgroundPool
from lore.slackbot.events.mentions import question_text
from lore.slackbot.queue.fair_queue import FairQueue
from lore.slackbot.queue.interrupted import settle
from lore.slackbot.queue.leases import HeldLeases, Lease
from lore.slackbot.queue.rate_limits import RateLimiter
from lore.slackbot.render import phrases
from lore.slackbot.reply.notices import plain
from lore.slackbot.reply.poster import Poster
from lore.slackbot.reply.status import StatusIndicator
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.error_log import ErrorLog, describe_error
from lore.slackbot.types import SlackQuestion
from lore.sources.payload import as_text

__all__ = ["EXTEND_SECONDS", "RECOVER_SECONDS", "STOP_SECONDS", "QuestionQueue"]

EXTEND_SECONDS = 5.0
"""Interval at which leases are extended and places in the queue are shown."""
RECOVER_SECONDS = 10.0
"""Interval at which interrupted questions are looked for."""
STOP_SECONDS = 25.0
"""Time for current answers once the bot is to stop."""
CLOSE_SECONDS = 4.0
"""Time for current messages then, for all answers together."""

logger = logging.getLogger(__name__)


class QuestionQueue:
    """Takes questions, lets workers answer them, and takes over those of processes that died.

    `is_addressed` tells whether a message in a thread speaks to the bot, and raises SlackCallError. `answer` answers a
    leased question, and `quick_reply` one that asked nothing; neither raises. Leases are extended
    every `extend_seconds`, and interrupted questions looked for every `recover_seconds`; 0 never does so by itself.
    """

    def __init__(
        self,
        leases: HeldLeases,
        slack: BotApi,
        posted: PostedAnswers,
        waiting: FairQueue,
        limiter: RateLimiter,
        status: StatusIndicator,
        errors: ErrorLog,
        background: BackgroundPool,
        *,
        is_addressed: Callable[[SlackQuestion], bool],
        answer: Callable[[Lease], None],
        quick_reply: Callable[[Lease], None],
        workers: int,
        extend_seconds: float = EXTEND_SECONDS,
        recover_seconds: float = RECOVER_SECONDS,
    ) -> None:
        self._leases = leases
        self._slack = slack
        self._posted = posted
        self._waiting = waiting
        self._limiter = limiter
        self._status = status
        self._errors = errors
        self._background = background
        self._is_addressed = is_addressed
        self._answer = answer
        self._quick_reply = quick_reply
        self._workers = workers
        self._stopping = Event()
        self._stopped = Event()
        self._heartbeat = self._repeat("heartbeat", self.beat, extend_seconds, self._stopped, first=extend_seconds)
        self._threads = [
            self._heartbeat,
            *(Thread(target=self._work, name=f"lore-slack-worker-{n}", daemon=True) for n in range(workers)),
        ]
        if recover_seconds:
            self._threads.append(self._repeat("recovery", self.recover, recover_seconds, self._stopping, first=0.0))

    def start(self) -> None:
        """Begin to answer, and to take over what other processes left."""
        for thread in self._threads:
            thread.start()

    def take(self, question: SlackQuestion) -> None:
        """Take a question, unless it was taken before. Returns in a few milliseconds; raises RecordsError."""
        if self._stopping.is_set():
            raise RecordsError("The bot is stopping, and takes no more questions.", retryable=True)
        lease = self._leases.acquire(question)
        if lease is None:
            return
        if lease.is_awaited or question.via == "auto":
            self._admit(lease)
        else:  # the thread is read first: people may talk to each other
            self._background.soon(lambda: self._consider(lease))

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait so long until no question waits or is being answered; return True if that came true."""
        return self._waiting.wait_until_idle(seconds)

    def beat(self) -> None:
        """Extend all leases, and show each waiting question its place."""
        self._leases.extend()
        waiting = self._waiting.waiting()
        for lease in waiting:
            self._status.show(lease, self._status_of(waiting, lease))
        for lease in self._waiting.working():
            self._status.refresh(lease)

    def recover(self) -> int:
        """Take over interrupted questions while there is room, and return how many. Raises RecordsError."""
        taken = 0
        for record in self._leases.store.expired():
            if self._stopping.is_set() or not self._waiting.has_room():
                break
            if lease := self._leases.take_over(record):
                taken += 1
                with lease.handling(self._errors):
                    self._resume(lease)
        if taken:
            logger.info("Took over %d interrupted questions.", taken)
        return taken

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Take and begin nothing more, and give what waits to another process or the next start.

        The current answers may take so many seconds; then they end with a message that says so, or are given back.
        """
        self._stopping.set()
        for lease in self._waiting.close():
            self._give_back(lease)
        self.wait_until_idle(seconds)
        patience = monotonic() + CLOSE_SECONDS
        for lease in self._waiting.working():
            if lease.close(seconds=max(0.0, patience - monotonic())):
                self._give_back(self._leases.reopen(lease))
        self._background.shutdown(wait=True, cancel_futures=True)
        self._stopped.set()
        if self._heartbeat.ident is not None:
            self._heartbeat.join()

    # ------------------------------------------------------------------------------------------------------- answering

    def _consider(self, lease: Lease) -> None:
        """Take a message in a thread that speaks to the bot, and leave any other alone."""
        with lease.handling(self._errors):
            if self._is_addressed(lease.question):
                lease.note(addressed="yes")
                self._admit(lease)
            else:
                lease.finish()

    def _admit(self, lease: Lease) -> None:
        """Let a question wait for its answer, unless too many were asked."""
        question = lease.question
        if hit := self._limiter.admit(question):
            text = phrases.rate_limited(hit.scope, hit.limit, hit.seconds) if hit.is_first and lease.is_awaited else ""
            self._background.soon(lambda: self._turn_away(lease, text, privately=question.room != "direct"))
        elif self._enqueue(lease):
            return
        elif self._stopping.is_set():
            lease.release()
        else:
            text = phrases.full(len(self._waiting)) if lease.is_awaited else ""
            self._background.soon(lambda: self._turn_away(lease, text, privately=False))

    def _enqueue(self, lease: Lease) -> bool:
        """Let a question wait for a worker; return False if there is no room."""
        lease.status = phrases.LOOKING
        if not self._waiting.put(lease):
            return False
        waiting = self._waiting.waiting()
        if lease in waiting:
            self._status.show(lease, self._status_of(waiting, lease))
        else:  # a worker has it, and says what it does
            self._status.refresh(lease)
        return True

    def _status_of(self, waiting: list[Lease], lease: Lease) -> str:
        """Return the status of a question that waits."""
        free = self._workers - len(self._waiting.working())
        before = waiting.index(lease) - free
        return phrases.LOOKING if before < 0 else phrases.waiting(before + 1)

    def _work(self) -> None:
        while (lease := self._waiting.take()) is not None:
            try:
                if not lease.closed:
                    lease.status = phrases.LOOKING
                    self._answer(lease)
            finally:
                self._waiting.done(lease)

    def _turn_away(self, lease: Lease, text: str, *, privately: bool) -> None:
        """Tell the asker why the question isn't answered, and finish it."""
        with lease.handling(self._errors):
            try:
                poster = Poster(lease, self._slack)
                if text and (privately or lease.question.via == "command"):
                    poster.post_privately(plain(text))
                elif text:
                    poster.post_next(plain(text))
            finally:
                lease.finish()

    # ------------------------------------------------------------------------------------------ interruptions and stops

    def _resume(self, lease: Lease) -> None:
        """End an interrupted question, or answer it from the beginning; its text is read from Slack again."""
        if settle(lease, self._slack, self._posted):
            return
        if lease.quick_reply:
            self._quick_reply(lease)
            return
        asked = lease.question
        message = self._slack.message(asked.channel, asked.ts)
        text = question_text(as_text(message.get("text")), self._slack.identity().user) if message else ""
        lease.question = replace(asked, text=text)
        if not text:  # it was deleted meanwhile
            lease.finish()
        elif asked.via == "thread" and not lease.is_awaited:
            self._background.soon(lambda: self._consider(lease))
        elif not self._enqueue(lease):
            lease.release()

    def _give_back(self, lease: Lease) -> None:
        """Let another process answer a question, or end what was begun. Nobody else could read a command's text.

        Where the records are down, that is tried once for all questions: their leases end.
        """
        if self._leases.is_store_down:
            lease.abandon()
            return
        with lease.handling(self._errors):
            may_be_seen = lease.kind not in ("", "placeholder") or lease.question.via == "command"
            if not (may_be_seen and settle(lease, self._slack, self._posted, phrases.STOPPED)):
                lease.release()

    def _repeat(self, name: str, task: Callable[[], object], seconds: float, end: Event, *, first: float) -> Thread:
        """Return a thread that runs a task every so many seconds, and logs once when it begins to fail."""

        def run() -> None:
            pause, fails = first, False
            while not end.wait(pause):
                pause = seconds
                try:
                    task()
                    fails = False
                except Exception as error:
                    reason = str(error) if isinstance(error, RecordsError) else describe_error(error)
                    logger.log(logging.DEBUG if fails else logging.WARNING, "The bot's %s failed: %s", name, reason)
                    fails = True

        return Thread(target=run, name=f"lore-slack-{name}", daemon=True)
