"""Processes of the bot that a test kills at any call, over a workspace and records that outlive them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lore.records.leases import LeaseStore
from lore.records.posted_answers import PostedAnswers
from lore.records.records import Records
from lore.slackbot.background import BackgroundPool
from lore.slackbot.events.router import QuickReplies
from lore.slackbot.queue.fair_queue import FairQueue
from lore.slackbot.queue.leases import HeldLeases, Lease
from lore.slackbot.queue.question_queue import QuestionQueue
from lore.slackbot.queue.rate_limits import RateLimiter
from lore.slackbot.render import phrases
from lore.slackbot.reply.answer_worker import AnswerWorker
from lore.slackbot.reply.delivery import Delivery
from lore.slackbot.reply.status import StatusIndicator
from lore.slackbot.slack_api.error_log import ErrorLog
from lore.slackbot.slack_api.rate_budgets import RateBudgets, RefusalCache
from lore.slackbot.types import SlackQuestion

from tests.slackbot.fake_slack import FakeSlack
from tests.slackbot.queues import BUTTONS, Clock, Scripted, make_slack, never

PIECES = ("One sentence. ", "Two sentences. ", "Three sentences. ", "Four.")


WHOLE = "One sentence. Two sentences. Three sentences. Four."


class Killed(BaseException):
    """The process is dead: nothing of it runs any more."""


class Mortal:
    """A Slack before or after whose n-th call the process dies, and after that does nothing more."""

    def __init__(self, slack: FakeSlack, dies_at: int = 0, *, after: bool = False) -> None:
        self._slack = slack
        self._dies_at = dies_at
        self._after = after
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            dying = 0 < self._dies_at <= len(self.calls)
            if dying and not (self._after and len(self.calls) == self._dies_at):
                raise Killed
            result = getattr(self._slack, name)(*args, **kwargs)
            if dying:
                raise Killed
            return result

        return call


class Immediate(FairQueue):
    """A queue that lets `answer` work at once, in the thread of the test."""

    def __init__(self) -> None:
        super().__init__(1, each=1)
        self.room = True
        self.answer: Callable[[Lease], None] = never

    def put(self, lease: Lease) -> bool:
        self.answer(lease)
        return True

    def has_room(self) -> bool:
        return self.room


class Process:
    """One process of the bot, whose threads are the test's: it answers and recovers when it is told to."""

    def __init__(self, world: World, owner: str, slack: Any, pipeline: Scripted | None = None) -> None:
        self.slack = slack
        self.pipeline = pipeline or Scripted(PIECES, lambda number, question: world.clock.forward(1))
        self.leases = HeldLeases(world.claims, owner, clock=world.clock)
        budgets, refusals = RateBudgets(clock=world.clock), RefusalCache(clock=world.clock)
        errors, limiter = ErrorLog(clock=world.clock), RateLimiter(0, 0)
        self.status = StatusIndicator(slack, budgets, refusals, lambda task: task(), clock=world.clock)
        self.worker = AnswerWorker(
            self.pipeline,
            world.places,
            self.status,
            errors,
            history=lambda question, on_note: (),
            audiences=lambda question, on_note: ("public",),
            deliver=lambda lease: Delivery(lease, slack, lambda _: (BUTTONS,), budgets, refusals),
        )
        self.quick_replies = QuickReplies(self.leases, slack, lambda task: task(), limiter, errors, forget=world.forget)
        self.waiting = Immediate()
        self.waiting.answer = self._answer
        self.queue = QuestionQueue(
            self.leases,
            slack,
            world.places,
            self.waiting,
            limiter,
            self.status,
            errors,
            BackgroundPool(1),
            is_addressed=lambda question: True,
            answer=never,
            quick_reply=self.quick_replies.reply,
            workers=1,
        )

    def answer(self, question: SlackQuestion) -> Lease:
        lease = self.leases.acquire(question)
        assert lease is not None
        self._answer(lease)
        return lease

    def _answer(self, lease: Lease) -> None:
        self.status.show(lease, "is looking for an answer…")
        self.worker.answer(lease)


class World:
    """A workspace and records, which outlive processes."""

    def __init__(self, records: Records) -> None:
        self.clock = Clock()
        self.slack = make_slack()
        self.claims = LeaseStore(records.engine, self.clock.moment)
        self.places = PostedAnswers(records.engine)
        self.forgotten: list[str] = []

    def forget(self, asker: str) -> str:
        self.forgotten.append(asker)
        return phrases.forgotten(1, 0)

    def process(self, owner: str = "b", slack: Any = None, pipeline: Scripted | None = None) -> Process:
        return Process(self, owner, slack or self.slack, pipeline)

    def left_by_a_dead_one(self, question: SlackQuestion, **noted: str) -> SlackQuestion:
        """A question whose process died once it had noted this."""
        lease = HeldLeases(self.claims, "dead", clock=self.clock).acquire(question)
        assert lease is not None
        if noted:
            lease.note(**noted)
        self.clock.forward(31)
        return question

    def recover(self, owner: str = "b") -> Process:
        process = self.process(owner)
        process.queue.recover()
        return process

    @property
    def shown(self) -> dict[str, Any]:
        [message] = self.slack.own("C1")
        return message

    def assert_finished(self, question: SlackQuestion) -> None:
        self.clock.forward(1_000)
        assert self.claims.expired() == []
        assert not self.claims.take(question.key, "another", 30)


def is_whole(message: dict[str, Any]) -> bool:
    return WHOLE in str(message["blocks"]) and phrases.APOLOGY not in str(message["blocks"])


def is_apology(message: dict[str, Any]) -> bool:
    return phrases.APOLOGY in str(message["blocks"])
