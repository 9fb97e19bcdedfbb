"""The question queue and its parts, put together."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from typing import Any
from uuid import uuid4

from lore.records.posted_answers import PostedAnswers
from lore.settings import Settings
from lore.slackbot.background import BackgroundPool
from lore.slackbot.queue.fair_queue import FairQueue
from lore.slackbot.queue.leases import HeldLeases, Lease
from lore.slackbot.queue.question_queue import QuestionQueue
from lore.slackbot.queue.rate_limits import RateLimiter
from lore.slackbot.reply.answer_worker import AnswerPipeline, AnswerWorker, OnNote
from lore.slackbot.reply.delivery import BlocksBelow, Delivery
from lore.slackbot.reply.status import StatusIndicator
from lore.slackbot.slack_api.api import BotApi
from lore.slackbot.slack_api.error_log import ErrorLog
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache
from lore.slackbot.types import SlackQuestion
from lore.types import Message

__all__ = ["open_queue", "process_name"]


def open_queue(
    settings: Settings,
    slack: BotApi,
    leases: HeldLeases,
    posted: PostedAnswers,
    pipeline: AnswerPipeline,
    errors: ErrorLog,
    *,
    is_addressed: Callable[[SlackQuestion], bool],
    history: Callable[[SlackQuestion, OnNote], Sequence[Message]],
    audiences: Callable[[SlackQuestion, OnNote], Sequence[str]],
    below: BlocksBelow,
    sources: Callable[[str], tuple[str, ...]] = lambda channel: (),
    quick_reply: Callable[[Lease], None],
    **timing: Any,
) -> QuestionQueue:
    """Return a queue that isn't started.

    `is_addressed` tells whether a message in a thread speaks to the bot. `history` returns the conversation before a
    question, `audiences` those that its answer may use, `sources` the ids of those searched for a channel (() for all),
    and `below` the blocks below an answer. `quick_reply` gives an interrupted reply again. `timing` is that of
    `QuestionQueue`.
    """
    clock = leases.clock
    budgets, refusals = RateBudgets(clock=clock), RefusalCache(clock=clock)
    background = BackgroundPool()
    status = StatusIndicator(slack, budgets, refusals, background.soon, clock=clock)
    worker = AnswerWorker(
        pipeline,
        posted,
        status,
        errors,
        history=history,
        audiences=audiences,
        sources=sources,
        deliver=lambda lease: Delivery(lease, slack, below, budgets, refusals),
    )
    workers = settings.slack.workers
    return QuestionQueue(
        leases,
        slack,
        posted,
        FairQueue(settings.slack.queue, each=max(1, workers - 1)),
        RateLimiter(settings.slack.user_limit, settings.slack.channel_limit, clock=clock),
        status,
        errors,
        background,
        is_addressed=is_addressed,
        answer=worker.answer,
        quick_reply=quick_reply,
        workers=workers,
        **timing,
    )


def process_name() -> str:
    """Return a name for this process among those that share the records."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}"
