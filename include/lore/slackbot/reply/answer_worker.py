"""One question from its text to its answer in Slack: conversation, audiences, pipeline, delivery."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Protocol, TypeAlias

from lore.errors import LoreError, RecordsError
from lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved, Verified
from lore.records.posted_answers import PostedAnswers
from lore.slackbot.queue.leases import Lease, LeaseLost
from lore.slackbot.render import phrases
from lore.slackbot.reply import notices
from lore.slackbot.reply.delivery import Delivery
from lore.slackbot.reply.poster import record_posts
from lore.slackbot.reply.status import StatusIndicator
from lore.slackbot.slack_api.error_log import ErrorLog, describe_error
from lore.slackbot.slack_api.errors import is_final
from lore.slackbot.types import SlackCallError, SlackQuestion
from lore.types import Message, Question

__all__ = ["AnswerPipeline", "AnswerWorker", "OnNote"]

SURFACE = "slack"

OnNote: TypeAlias = Callable[[str], None]
"""Takes a sentence that is shown below the answer."""

logger = logging.getLogger(__name__)


class AnswerPipeline(Protocol):
    """The part of `Pipeline` that the bot calls."""

    def stream(self, question: Question) -> Iterator[Event]:
        """Yield the events of an answer; the last one is Answered."""
        ...


class AnswerWorker:
    """Answers leased questions; used by several threads.

    `history` returns the conversation before a question, oldest first, `audiences` those that its answer may use; both
    are given what takes notes for the asker. `deliver` returns what shows the answer, and
    `sources` the ids of those searched for a channel, () for all.
    """

    def __init__(
        self,
        pipeline: AnswerPipeline,
        posted: PostedAnswers,
        status: StatusIndicator,
        errors: ErrorLog,
        *,
        history: Callable[[SlackQuestion, OnNote], Sequence[Message]],
        audiences: Callable[[SlackQuestion, OnNote], Sequence[str]],
        deliver: Callable[[Lease], Delivery],
        sources: Callable[[str], tuple[str, ...]] = lambda channel: (),
    ) -> None:
        self._pipeline = pipeline
        self._posted = posted
        self._status = status
        self._errors = errors
        self._history = history
        self._audiences = audiences
        self._deliver = deliver
        self._sources = sources

    def answer(self, lease: Lease) -> None:
        """Answer a question and finish its lease. Never raises.

        Where Slack or the records fail for the moment, the question is taken over when the lease ends.
        """
        with lease.handling(self._errors):
            delivery = self._deliver(lease)
            try:
                if lease.refusal:
                    raise lease.refusal
                self._answer(lease, delivery)
            except SlackCallError as error:
                if is_final(error) and lease.is_awaited:
                    delivery.explain(error)
                raise
            lease.finish()

    def _answer(self, lease: Lease, delivery: Delivery) -> None:
        try:
            self._run(lease, delivery)
        except (LeaseLost, SlackCallError, RecordsError):
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, LoreError) else describe_error(error)
            logger.error("A question in %s was not answered: %s", lease.question.channel, reason)
            if lease.is_awaited:
                delivery.apologize(notices.for_error(error))

    def _run(self, lease: Lease, delivery: Delivery) -> None:
        asked = lease.question
        notes: list[str] = []
        question = Question(
            asked.text,
            history=tuple(self._history(asked, notes.append)),
            sources=self._sources(asked.channel),
            audiences=tuple(self._audiences(asked, notes.append)),
            surface=SURFACE,
            asker=asked.asker,
        )
        is_recorded = False
        with closing(_generator(self._pipeline.stream(question))) as events:
            for event in events:
                if lease.closed:
                    raise LeaseLost(asked.key)
                if isinstance(event, Delta):
                    delivery.grow(event.text)
                    if delivery.begun and not is_recorded:  # so that messages below it are follow-ups already
                        record_posts(self._posted, asked, [delivery.begun], "")
                        is_recorded = True
                elif isinstance(event, Verified):
                    if event.corrected:
                        delivery.correct()
                elif isinstance(event, Answered):
                    if not (event.answer.found or lease.is_awaited):
                        return
                    record_posts(self._posted, asked, delivery.finish(event.answer, notes), event.answer.id)
                else:
                    self._status.show(lease, _status(event))


def _status(event: Planned | Retrieved | Reranked) -> str:
    if isinstance(event, Planned):
        return phrases.SEARCHING if event.plan.search else phrases.WRITING
    return phrases.reading(event.candidates) if isinstance(event, Retrieved) else phrases.WRITING


def _generator(events: Iterator[Event]) -> Generator[Event, None, None]:
    """Return the events as a generator, which can be closed."""
    yield from events
