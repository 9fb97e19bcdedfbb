"""A workspace, records, and processes of the bot whose answers a test holds back."""

from __future__ import annotations

import threading
from typing import Any

from lore.records.leases import LeaseStore
from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records
from lore.slackbot.queue.question_queue import QuestionQueue
from lore.types import Question

from tests.slackbot.queues import Scripted, make_queue, make_slack

SECONDS = 60.0


class Gate:
    """Holds the pipeline at a piece of each answer until it is opened; knows who came there."""

    def __init__(self, piece: int = 0) -> None:
        self._piece = piece
        self._passes = threading.Semaphore(0)
        self.came: list[str] = []
        self._changed = threading.Condition()

    def __call__(self, piece: int, question: Question) -> None:
        if piece == self._piece:
            with self._changed:
                self.came.append(question.text)
                self._changed.notify_all()
            assert self._passes.acquire(timeout=SECONDS)

    def let(self, many: int) -> None:
        """Let so many pass."""
        self._passes.release(many)

    def open(self) -> None:
        self.let(1_000)

    def wait(self, many: int = 1) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.came) >= many, SECONDS)


class House:
    """A workspace, records, and one process of the bot with what the test gives it."""

    def __init__(self, records: Records) -> None:
        self.slack = make_slack()
        self.records = records
        self.claims = LeaseStore(records.engine)
        self.places = PostedAnswers(records.engine)
        self.gate = Gate()
        self.opened: list[QuestionQueue] = []

    def open(self, pipeline: Scripted | None = None, **options: Any) -> QuestionQueue:
        queue = make_queue(self.slack, self.claims, self.places, pipeline or Scripted(), **options)
        queue.start()
        self.opened.append(queue)
        return queue

    def gated(self, **options: Any) -> QuestionQueue:
        return self.open(Scripted(between=self.gate), **options)

    def finish(self) -> None:
        """Wait until all is answered, and stop."""
        self.gate.open()
        for queue in self.opened:
            assert queue.wait_until_idle(SECONDS)
            queue.stop()

    def is_finished(self, key: str) -> bool:
        return not self.claims.take(key, "other", 60) and all(claim.key != key for claim in self.claims.expired())

    def statuses(self, thread: str) -> list[str]:
        return [status for _, thread_ts, status in self.slack.statuses if thread_ts == thread]
