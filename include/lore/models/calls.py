"""Calls to remote models: limited in number and time, and repeated if that may help."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from time import monotonic
from typing import TypeVar

from lore.errors import LoreError, ModelError
from lore.models.background import submit
from lore.models.breaker import CircuitBreaker
from lore.models.failures import retry_after
from lore.models.limiter import Limiter

__all__ = ["ModelCalls"]

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds before the first repeat, doubled for each further one, unless the server names them."""
LONGEST_REQUESTED_PAUSE = 120.0
"""The longest pause that a server may ask of a patient call."""
MAX_PENDING = 1_000
"""Pieces of a stream that are read ahead of its consumer."""


@dataclass(frozen=True, slots=True)
class _StreamEnd:
    """The end of a stream, with the error that cut it off."""

    error: BaseException | None = None


@dataclass(frozen=True)
class ModelCalls:
    """Calls to the model `name`. Each ends within `timeout` seconds, including the wait for a slot and all repeats.

    A stream ends within `stream_timeout`, as long as a piece arrives every `timeout` seconds. `explain` converts what a
    call raises to a LoreError, whose `retryable` decides about a repeat. A `breaker` blocks calls after several such
    failures. The models of a process share a `limiter`.
    """

    name: str
    timeout: float
    max_retries: int
    explain: Callable[[Exception], LoreError]
    limiter: Limiter = field(default_factory=lambda: Limiter(8))
    breaker: CircuitBreaker | None = None
    timeout_setting: str = "LORE_TIMEOUT_SECONDS"
    stream_timeout: float | None = None
    """None: the same as `timeout`."""

    def run(self, call: Callable[[], Awaitable[T]], *, patient: bool = False) -> T:
        """Return the result of a call. A patient one has `timeout` seconds per attempt and pauses of up to two minutes.

        Raises what `explain` returns, and ModelError if the time is over or no slot was free.
        """
        deadline = monotonic() + self.timeout
        with self._slot(deadline):
            future = submit(self._attempt(call, deadline, patient))
            try:
                return future.result()
            finally:
                future.cancel()  # if the caller was interrupted

    def stream(self, call: Callable[[], AsyncGenerator[T, None]]) -> Iterator[T]:
        """Yield the pieces of a streamed answer as they arrive; before the first one it is repeated as in `run`.

        Closing the iterator ends the call. Raises as `run` does, even midway.
        """
        deadline = monotonic() + (self.stream_timeout or self.timeout)
        with self._slot(monotonic() + self.timeout):
            pieces: SimpleQueue[T | _StreamEnd] = SimpleQueue()
            future = submit(self._pump(call, deadline, pieces))
            try:
                while not isinstance(piece := pieces.get(), _StreamEnd):
                    yield piece
            finally:
                future.cancel()
            if piece.error:
                raise piece.error from None

    @contextmanager
    def _slot(self, deadline: float) -> Iterator[None]:
        """Hold a slot for a call, and record its result in the breaker."""
        if self.breaker and (wait := self.breaker.blocked_for()):
            raise ModelError(
                f"{self.name} was not called: its last calls failed. The next attempt is in {wait:.0f} s.",
                remedy="Try again later.",
                retryable=True,
            )
        with self.limiter.slot(self.name, deadline - monotonic()):
            try:
                yield
            except LoreError as error:
                if self.breaker:
                    # A rejected request says nothing about the next one.
                    (self.breaker.record_failure if error.retryable else self.breaker.record_success)()
                raise
            else:
                if self.breaker:
                    self.breaker.record_success()

    async def _attempt(self, call: Callable[[], Awaitable[T]], deadline: float, patient: bool) -> T:
        attempts = _Attempts(self, deadline, patient)
        while True:
            try:
                async with attempts.timeout():
                    return await call()
            except Exception as error:
                await attempts.handle(error)

    async def _pump(
        self, call: Callable[[], AsyncGenerator[T, None]], deadline: float, pieces: SimpleQueue[T | _StreamEnd]
    ) -> None:
        """Put the pieces of the stream into `pieces`, and its end, whatever happens."""
        attempts, any_piece, end = _Attempts(self, deadline, False), False, _StreamEnd()
        try:
            while True:
                try:
                    async with attempts.timeout(), aclosing(call()) as stream:
                        async for piece in stream:
                            attempts.extend()
                            pieces.put(piece)
                            any_piece = True
                            while pieces.qsize() > MAX_PENDING:
                                await asyncio.sleep(0.01)
                    return
                except Exception as error:
                    await attempts.handle(error, last=any_piece)
        except Exception as error:
            end = _StreamEnd(error)
        finally:
            pieces.put(end)


class _Attempts:
    """The attempts of one call: their time limits, and whether there is another one."""

    def __init__(self, calls: ModelCalls, deadline: float, patient: bool) -> None:
        self._calls = calls
        self._deadline = deadline
        self._patient = patient
        self._failed = 0

    def timeout(self) -> asyncio.Timeout:
        """The time limit of the next attempt."""
        self._timeout = asyncio.timeout(max(0.0, self._left()))
        return self._timeout

    def extend(self) -> None:
        """Restart the time limit, because a piece arrived."""
        self._timeout.reschedule(asyncio.get_running_loop().time() + max(0.0, self._left()))

    def _left(self) -> float:
        """The seconds until the call must end or its next piece must arrive."""
        return self._calls.timeout if self._patient else min(self._calls.timeout, self._deadline - monotonic())

    async def handle(self, error: Exception, *, last: bool = False) -> None:
        """Pause before the next attempt, or raise the failure if this was the last one."""
        if self._timeout.expired():
            raise self._late(last) from None
        failure = self._calls.explain(error)
        if last or not failure.retryable or self._failed >= self._calls.max_retries:
            raise failure from None
        asked = retry_after(error)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**self._failed) * random.uniform(0.5, 1) if asked is None else asked  # noqa: S311
        if pause > (LONGEST_REQUESTED_PAUSE if self._patient else self._deadline - monotonic()):
            raise failure from None
        self._failed += 1
        await asyncio.sleep(pause)

    def _late(self, any_piece: bool) -> ModelError:
        calls = self._calls
        seconds, setting, verb = calls.timeout, calls.timeout_setting, "sent nothing for" if any_piece else "took over"
        if calls.stream_timeout and self._deadline <= monotonic():
            seconds, setting, verb = calls.stream_timeout, "LORE_ANSWER_SECONDS", "did not finish in"
        message = f"{calls.name} {verb} {seconds:g} s."
        return ModelError(message, remedy=f"Raise {setting} for a slow model.", retryable=True)
