"""Puts the parts together that take, answer and recover questions: what a bot needs to be a `QuestionQueue`."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from lore.settings import Settings
from lore.slackbot.queue.leases import LEASE_SECONDS, HeldLeases, Lease
from lore.slackbot.queue.question_queue import PULSE_SECONDS, STOP_SECONDS, BackgroundPool, QuestionQueue
from lore.slackbot.queue.rate_limits import RateLimiter
from lore.slackbot.queue.recovery import EVERY_SECONDS, Recovery
from lore.slackbot.queue.settling import Settling
from lore.slackbot.reply.answer_worker import AnswerPipeline, AnswerWorker
from lore.slackbot.reply.delivery import BlocksBelow, Delivery
from lore.slackbot.reply.status import StatusIndicator
from lore.slackbot.slack_api.error_log import ErrorLog
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache
from lore.slackbot.types import PostedAnswers, SlackApi, SlackQuestion
from lore.types import Message

if TYPE_CHECKING:
    from lore.records.leases import LeaseStore

__all__ = ["Reception", "open_reception"]


class Reception:
    """A `QuestionQueue` with its recovery. Start it before the first question, and stop it after the last."""

    def __init__(self, queue: QuestionQueue, recovery: Recovery) -> None:
        self.queue = queue
        self.recovery = recovery

    def take(self, question: SlackQuestion) -> None:
        """Take a question, unless it was taken before. Returns in a few milliseconds; raises RecordsError."""
        self.queue.take(question)

    def start(self) -> None:
        """Begin to answer, and to take over what others left."""
        self.queue.start()
        self.recovery.start()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Take nothing more; what is being answered may end within so many seconds. See `QuestionQueue.stop`."""
        self.recovery.stop(0)
        self.queue.stop(seconds)


def open_reception(
    settings: Settings,
    slack: SlackApi,
    claims: LeaseStore,
    places: PostedAnswers,
    pipeline: AnswerPipeline,
    *,
    history: Callable[[SlackQuestion], Sequence[Message]],
    audiences: Callable[[SlackQuestion], Sequence[str]],
    below: BlocksBelow,
    quick_reply: Callable[[Lease], None],
    owner: str = "",
    lease_seconds: float = LEASE_SECONDS,
    pulse: float = PULSE_SECONDS,
    every: float = EVERY_SECONDS,
    clock: Callable[[], float] = monotonic,
) -> Reception:
    """A reception that is not started yet.

    `history` gives the conversation before a question, `audiences` those that its answer may be made from, `below` the
    blocks below an answer, and `courtesy` does again what was interrupted and is no question. `owner` names this
    process among those that share the records (default: a new name). `lease` is how many seconds after a process died
    its questions are taken over, `pulse` how often leases are extended and `every` how often such questions are looked
    for.
    """
    leases = HeldLeases(claims, owner or _name(), lease_seconds=lease_seconds, clock=clock)
    pace, refused, trouble = RateBudgets(clock=clock), RefusalCache(clock=clock), ErrorLog(clock=clock)
    office = BackgroundPool()
    signs = StatusIndicator(slack, pace, refused, office.soon, clock=clock)
    settling = Settling(slack, places)

    def deliver(lease: Lease) -> Delivery:
        return Delivery(lease, slack, below, pace, refused)

    answering = AnswerWorker(pipeline, places, signs, trouble, history=history, audiences=audiences, deliver=deliver)
    queue = QuestionQueue(
        leases,
        slack,
        RateLimiter(settings.slack.user_limit, settings.slack.channel_limit, clock=clock),
        signs,
        settling,
        trouble,
        office,
        answer=answering.answer,
        workers=settings.slack.workers,
        capacity=settings.slack.queue,
        pulse=pulse,
    )
    recovery = Recovery(
        leases,
        slack,
        settling,
        trouble,
        resume=queue.resume,
        has_room=queue.has_room,
        quick_reply=quick_reply,
        every=every,
    )
    return Reception(queue, recovery)


def _name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
