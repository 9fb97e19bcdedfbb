"""One question from its words to its answer in Slack: conversation, audiences, pipeline, delivery."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Protocol

from lore.errors import LoreError, RecordsError
from lore.query.events import Answered, Delta, Event, Planned, Reranked, Retrieved
from lore.slackbot.queue.holds import ClaimLost, Hold
from lore.slackbot.render import phrases
from lore.slackbot.reply import notices
from lore.slackbot.reply.delivery import Delivery
from lore.slackbot.reply.posts import keep_places
from lore.slackbot.reply.signs import Signs
from lore.slackbot.slack_api.trouble import Trouble, told_of
from lore.slackbot.types import Ask, Places, SlackError
from lore.types import Message, Question

__all__ = ["Answerer", "Answering"]

SURFACE = "slack"

logger = logging.getLogger(__name__)


class Answerer(Protocol):
    """What answering needs of a `Pipeline`."""

    def stream(self, question: Question) -> Iterator[Event]:
        """What happens while a question is answered; the last event is Answered."""
        ...


class Answering:
    """Answers questions that are held; used by several threads.

    `history` gives the conversation before a question, oldest first, and `audiences` those that its answer may be made
    from; `deliver` makes what shows an answer.
    """

    def __init__(
        self,
        pipeline: Answerer,
        places: Places,
        signs: Signs,
        trouble: Trouble,
        *,
        history: Callable[[Ask], Sequence[Message]],
        audiences: Callable[[Ask], Sequence[str]],
        deliver: Callable[[Hold], Delivery],
    ) -> None:
        self._pipeline = pipeline
        self._places = places
        self._signs = signs
        self._trouble = trouble
        self._history = history
        self._audiences = audiences
        self._deliver = deliver

    def answer(self, hold: Hold) -> None:
        """Answer a question and finish it. Never raises.

        Where Slack or the records fail for the moment, it is left to be taken over when its lease ends.
        """
        ask = hold.ask
        try:
            if hold.refused:
                raise hold.refused
            self._answer(hold)
            hold.finish()
        except ClaimLost:
            logger.info("A question in %s is answered by another process.", ask.channel)
            hold.abandon()
        except SlackError as error:
            self._trouble.tell(error, ask.channel)
            self._end(hold, again=error.retryable)
        except LoreError as error:
            self._trouble.tell(error, ask.channel)
            self._end(hold, again=True)
        except Exception as error:
            logger.error("A question in %s is not answered: %s", ask.channel, told_of(error))
            self._end(hold, again=True)

    def _answer(self, hold: Hold) -> None:
        delivery = self._deliver(hold)
        try:
            self._run(hold, delivery)
        except (ClaimLost, SlackError, RecordsError):
            raise
        except LoreError as error:
            logger.error("A question in %s is not answered: %s", hold.ask.channel, error)
            delivery.apologize(notices.for_error(error))
        except Exception as error:
            logger.error("A question in %s is not answered: %s", hold.ask.channel, told_of(error))
            delivery.apologize(phrases.TRY_AGAIN)

    def _run(self, hold: Hold, delivery: Delivery) -> None:
        ask = hold.ask
        question = Question(
            ask.text,
            history=tuple(self._history(ask)),
            audiences=tuple(self._audiences(ask)),
            surface=SURFACE,
            asker=ask.asker,
        )
        placed = False
        with closing(_generator(self._pipeline.stream(question))) as events:
            for event in events:
                if hold.closed:
                    raise ClaimLost(ask.key)
                if isinstance(event, Delta):
                    delivery.grow(event.text)
                    if delivery.begun and not placed:  # so that what is said below it meanwhile is a follow-up
                        keep_places(self._places, ask, [delivery.begun], "")
                        placed = True
                elif isinstance(event, Answered):
                    keep_places(self._places, ask, delivery.finish(event.answer), event.answer.id)
                else:
                    self._signs.show(hold, _doing(event))

    def _end(self, hold: Hold, *, again: bool) -> None:
        if again:
            hold.abandon()
            return
        try:
            hold.finish()
        except RecordsError as error:
            self._trouble.tell(error, hold.ask.channel)


def _doing(event: Planned | Retrieved | Reranked) -> str:
    if isinstance(event, Planned):
        return phrases.SEARCHING if event.plan.search else phrases.WRITING
    return phrases.reading(event.candidates) if isinstance(event, Retrieved) else phrases.WRITING


def _generator(events: Iterator[Event]) -> Generator[Event, None, None]:
    """The events as a generator, which can be closed and closes what it goes through."""
    yield from events
