"""Asking over the web: who asks, how often they may, and questions that run until their reader is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from lore.errors import LoreError
from lore.types import Question
from lore.web.access import RateLimit
from lore.web.callers import Caller, Callers
from lore.web.metrics import Metrics
from lore.web.question_threads import QuestionThreads, TooManyQuestionsError
from lore.web.services import Services

if TYPE_CHECKING:
    from lore.query.events import Event

__all__ = ["Asking", "RateLimitedError", "last_item"]

LEFT_SECONDS = 1.0
"""Seconds between two looks for a reader who waits for a whole answer."""

Item = TypeVar("Item")


class RateLimitedError(LoreError):
    """A caller asked too often; try again in `retry_seconds`."""

    def __init__(self, retry_seconds: int) -> None:
        super().__init__(
            "You have asked many questions in a short time.", remedy=f"Ask again in {retry_seconds} s.", retryable=True
        )
        self.retry_seconds = retry_seconds


@dataclass(frozen=True, slots=True)
class Asking:
    """Everything that routes need to answer a question."""

    services: Services
    runner: QuestionThreads
    callers: Callers
    metrics: Metrics
    limit: RateLimit = field(default_factory=RateLimit)

    async def caller(self, request: Request) -> Caller:
        """Return who asks, and count the question.

        Raises UnknownCallerError, RateLimitedError and RecordsError.
        """
        caller = await run_in_threadpool(self.callers.identify, request)
        if seconds := self.limit.seconds_to_wait(caller.sender, caller.rate):
            self.metrics.refuse()
            raise RateLimitedError(seconds)
        return caller

    def start(self, question: Question, translate: Callable[[Iterator[Event]], Iterator[Item]]) -> AsyncGenerator[Item]:
        """Begin to answer, and return the journey's events as `translate` gives them; closing it ends the question.

        Raises TooManyQuestionsError at once if all places are taken.
        """
        try:
            return self.runner.run(lambda: translate(self.metrics.watch(self.services.pipeline.stream(question))))
        except TooManyQuestionsError:
            self.metrics.refuse()
            raise


async def last_item(items: AsyncGenerator[Item], request: Request) -> Item | None:
    """Return the last item, None without any; a reader who leaves ends the question."""
    last: Item | None = None
    while True:
        following = asyncio.ensure_future(anext(items, None))
        while not following.done():
            await asyncio.wait({following}, timeout=LEFT_SECONDS)
            if not following.done() and await request.is_disconnected():
                following.cancel()
                await asyncio.wait({following})
                await items.aclose()
                return last
        item = following.result()
        if item is None:
            return last
        last = item
