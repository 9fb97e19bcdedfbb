"""How every remote model is called: at most so many at once, in a bounded time, tried again where that may help."""

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

__all__ = ["Calls"]

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds before the first repeat, doubled for each further one, where the server does not say."""
LONGEST_PATIENCE = 120.0
"""What is waited at most for a server that asks to, where nobody waits for the answer."""
MAX_PENDING = 1_000
"""Pieces of a stream that are read ahead of who takes them."""


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a stream, with what ended it too early."""

    error: BaseException | None = None


@dataclass(frozen=True)
class Calls:
    """The way to the model `name`. Each call ends within `timeout` seconds, waiting for a place and repeats included; a
    stream within `stream_timeout`, if something comes of it every `timeout` seconds.

    `explain` turns whatever a call raises into an error of Lore's; that says whether a repeat may help. A `breaker`
    refuses calls at once after several that failed for the moment. `limiter` is shared by the models of a process.
    """

    name: str
    timeout: float
    max_retries: int
    explain: Callable[[Exception], LoreError]
    limiter: Limiter = field(default_factory=lambda: Limiter(8))
    breaker: CircuitBreaker | None = None
    timeout_setting: str = "LORE_TIMEOUT_SECONDS"
    stream_timeout: float | None = None
    """None: as `timeout`."""

    def run(self, call: Callable[[], Awaitable[T]], *, patient: bool = False) -> T:
        """What the call gives. A patient one has `timeout` seconds for each try and waits up to two minutes between.

        Raises ModelError, also when the time is over or no place was free, and what else `explain` gives.
        """
        deadline = monotonic() + self.timeout
        with self._admitted(deadline):
            future = submit(self._tries(call, deadline, patient))
            try:
                return future.result()
            finally:
                future.cancel()  # the caller was interrupted

    def stream(self, call: Callable[[], AsyncGenerator[T, None]]) -> Iterator[T]:
        """The pieces of a streamed answer as they come; before the first one it is tried again as in `run`.

        Leaving the stream ends the call. Raises as `run` does, also in the middle.
        """
        deadline = monotonic() + (self.stream_timeout or self.timeout)
        with self._admitted(monotonic() + self.timeout):
            pieces: SimpleQueue[T | _End] = SimpleQueue()
            future = submit(self._pump(call, deadline, pieces))
            try:
                while not isinstance(piece := pieces.get(), _End):
                    yield piece
            finally:
                future.cancel()
            if piece.error:
                raise piece.error from None

    @contextmanager
    def _admitted(self, deadline: float) -> Iterator[None]:
        """A place among the calls, and the breaker told how this one went."""
        if self.breaker and (wait := self.breaker.wait()):
            raise ModelError(
                f"{self.name} was not asked: its last calls failed, and it is tried again in {wait:.0f} s.",
                remedy="Try again later.",
                retryable=True,
            )
        with self.limiter.place(self.name, deadline - monotonic()):
            try:
                yield
            except LoreError as error:
                if self.breaker:
                    # A refusal of this one request says nothing about the next.
                    (self.breaker.failed if error.retryable else self.breaker.succeeded)()
                raise
            else:
                if self.breaker:
                    self.breaker.succeeded()

    async def _tries(self, call: Callable[[], Awaitable[T]], deadline: float, patient: bool) -> T:
        tries = _Tries(self, deadline, patient)
        while True:
            try:
                async with tries.time():
                    return await call()
            except Exception as error:
                await tries.after(error)

    async def _pump(
        self, call: Callable[[], AsyncGenerator[T, None]], deadline: float, pieces: SimpleQueue[T | _End]
    ) -> None:
        """Put what the stream gives into `pieces`, and the end, whatever happens."""
        tries, any_piece, end = _Tries(self, deadline, False), False, _End()
        try:
            while True:
                try:
                    async with tries.time(), aclosing(call()) as stream:
                        async for piece in stream:
                            tries.something_came()
                            pieces.put(piece)
                            any_piece = True
                            while pieces.qsize() > MAX_PENDING:
                                await asyncio.sleep(0.01)
                    return
                except Exception as error:
                    await tries.after(error, last=any_piece)
        except Exception as error:
            end = _End(error)
        finally:
            pieces.put(end)


class _Tries:
    """The tries of one call: how much time the next one has, and whether there is a next one."""

    def __init__(self, calls: Calls, deadline: float, patient: bool) -> None:
        self._calls = calls
        self._deadline = deadline
        self._patient = patient
        self._failed = 0

    def time(self) -> asyncio.Timeout:
        self._timeout = asyncio.timeout(max(0.0, self._left()))
        return self._timeout

    def something_came(self) -> None:
        self._timeout.reschedule(asyncio.get_running_loop().time() + max(0.0, self._left()))

    def _left(self) -> float:
        """The seconds that may pass from now until the call ends, or more of it comes."""
        return self._calls.timeout if self._patient else min(self._calls.timeout, self._deadline - monotonic())

    async def after(self, error: Exception, *, last: bool = False) -> None:
        """Wait for the next try, or raise what the failure is to the caller."""
        if self._timeout.expired():
            raise self._late(last) from None
        failure = self._calls.explain(error)
        if last or not failure.retryable or self._failed >= self._calls.max_retries:
            raise failure from None
        asked = retry_after(error)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**self._failed) * random.uniform(0.5, 1) if asked is None else asked  # noqa: S311
        if pause > (LONGEST_PATIENCE if self._patient else self._deadline - monotonic()):
            raise failure from None
        self._failed += 1
        await asyncio.sleep(pause)

    def _late(self, any_piece: bool) -> ModelError:
        calls = self._calls
        seconds, setting, what = calls.timeout, calls.timeout_setting, "sent no more for" if any_piece else "took over"
        if calls.stream_timeout and self._deadline <= monotonic():
            seconds, setting, what = calls.stream_timeout, "LORE_ANSWER_SECONDS", "did not finish in"
        message = f"{calls.name} {what} {seconds:g} s."
        return ModelError(message, remedy=f"Raise {setting} for a slow model.", retryable=True)
