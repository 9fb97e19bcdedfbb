"""One question from its words to its answer in Slack: conversation, audiences, pipeline, delivery."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Protocol

from lore.errors import LoreError, RecordsError
from lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved
from lore.slackbot.queue.leases import Lease, LeaseLost
from lore.slackbot.render import phrases
from lore.slackbot.reply import notices
from lore.slackbot.reply.delivery import Delivery
from lore.slackbot.reply.poster import record_posts
from lore.slackbot.reply.status import StatusIndicator
from lore.slackbot.slack_api.error_log import ErrorLog, describe_error
from lore.slackbot.types import PostedAnswers, SlackCallError, SlackQuestion
from lore.types import Message, Question

__all__ = ["AnswerPipeline", "AnswerWorker"]

SURFACE = "slack"

logger = logging.getLogger(__name__)


class AnswerPipeline(Protocol):
    """What answering needs of a `Pipeline`."""

    def stream(self, question: Question) -> Iterator[Event]:
        """What happens while a question is answered; the last event is Answered."""
        ...


class AnswerWorker:
    """Answers questions that are held; used by several threads.

    `history` gives the conversation before a question, oldest first, and `audiences` those that its answer may be made
    from; `deliver` makes what shows an answer.
    """

    def __init__(
        self,
        pipeline: AnswerPipeline,
        places: PostedAnswers,
        signs: StatusIndicator,
        trouble: ErrorLog,
        *,
        history: Callable[[SlackQuestion], Sequence[Message]],
        audiences: Callable[[SlackQuestion], Sequence[str]],
        deliver: Callable[[Lease], Delivery],
    ) -> None:
        self._pipeline = pipeline
        self._places = places
        self._status = signs
        self._trouble = trouble
        self._history = history
        self._audiences = audiences
        self._deliver = deliver

    def answer(self, lease: Lease) -> None:
        """Answer a question and finish it. Never raises.

        Where Slack or the records fail for the moment, it is left to be taken over when its lease ends.
        """
        question = lease.question
        try:
            if lease.refused:
                raise lease.refused
            self._answer(lease)
            lease.finish()
        except LeaseLost:
            logger.info("A question in %s is answered by another process.", question.channel)
            lease.abandon()
        except SlackCallError as error:
            self._trouble.tell(error, question.channel)
            self._end(lease, again=error.retryable)
        except LoreError as error:
            self._trouble.tell(error, question.channel)
            self._end(lease, again=True)
        except Exception as error:
            logger.error("A question in %s is not answered: %s", question.channel, describe_error(error))
            self._end(lease, again=True)

    def _answer(self, lease: Lease) -> None:
        delivery = self._deliver(lease)
        try:
            self._run(lease, delivery)
        except (LeaseLost, SlackCallError, RecordsError):
            raise
        except LoreError as error:
            logger.error("A question in %s is not answered: %s", lease.question.channel, error)
            delivery.apologize(notices.for_error(error))
        except Exception as error:
            logger.error("A question in %s is not answered: %s", lease.question.channel, describe_error(error))
            delivery.apologize(phrases.TRY_AGAIN)

    def _run(self, lease: Lease, delivery: Delivery) -> None:
        question = lease.question
        request = Question(
            question.text,
            history=tuple(self._history(question)),
            audiences=tuple(self._audiences(question)),
            surface=SURFACE,
            asker=question.asker,
        )
        placed = False
        with closing(_generator(self._pipeline.stream(request))) as events:
            for event in events:
                if lease.closed:
                    raise LeaseLost(question.key)
                if isinstance(event, Delta):
                    delivery.grow(event.text)
                    if delivery.begun and not placed:  # so that what is said below it meanwhile is a follow-up
                        record_posts(self._places, question, [delivery.begun], "")
                        placed = True
                elif isinstance(event, Answered):
                    record_posts(self._places, question, delivery.finish(event.answer), event.answer.id)
                else:
                    self._status.show(lease, _doing(event))

    def _end(self, lease: Lease, *, again: bool) -> None:
        if again:
            lease.abandon()
            return
        try:
            lease.finish()
        except RecordsError as error:
            self._trouble.tell(error, lease.question.channel)


def _doing(event: Planned | Retrieved | Reranked) -> str:
    if isinstance(event, Planned):
        return phrases.SEARCHING if event.plan.search else phrases.WRITING
    return phrases.reading(event.candidates) if isinstance(event, Retrieved) else phrases.WRITING


def _generator(events: Iterator[Event]) -> Generator[Event, None, None]:
    """The events as a generator, which can be closed and closes what it goes through."""
    yield from events
