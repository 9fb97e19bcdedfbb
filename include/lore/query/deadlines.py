"""Time limits of the stages: a call that is late is left behind, and the journey goes on without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

from lore.errors import LoreError, ModelError

__all__ = ["Deadlines", "TimeLimit"]

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """Seconds for one stage, and the setting that a person may raise."""

    seconds: float
    setting: str

    def share(self, share: float) -> TimeLimit:
        """Return a limit of this share of the seconds."""
        return TimeLimit(self.seconds * share, self.setting)

    def call(self, call: Callable[[], Result], what: str, error: type[LoreError] = ModelError) -> Result:
        """Return the call's result or raise its exception; raise `error`, naming `what`, if it is late."""
        (result,) = self.call_all([call], what, error)
        if isinstance(result, LoreError):
            raise result
        return result

    def call_all(
        self, calls: Sequence[Callable[[], Result]], what: str, error: type[LoreError] = ModelError
    ) -> list[Result | LoreError]:
        """Run calls side by side; return, in their order, each result, LoreError raised, or `error` if it is late.

        Raises any other exception of a call. A late call goes on in a daemon thread, and its result is dropped.
        """
        done: SimpleQueue[tuple[int, Result | BaseException]] = SimpleQueue()
        for place, call in enumerate(calls):
            Thread(target=copy_context().run, args=(_put, done, place, call), name="lore-stage", daemon=True).start()
        deadline = monotonic() + self.seconds
        results: list[Result | LoreError] = [self._late(what, error)] * len(calls)
        for _ in calls:
            try:
                place, result = done.get(timeout=max(0.0, deadline - monotonic()))
            except Empty:
                break
            if isinstance(result, BaseException) and not isinstance(result, LoreError):
                raise result
            results[place] = result
        return results

    def stream(self, pieces: Callable[[], Iterator[str]], what: str) -> Iterator[str]:
        """Yield the pieces as they come. Raises ModelError if they don't end in time, and whatever `pieces` raises."""
        arrived: SimpleQueue[str | BaseException | None] = SimpleQueue()
        stopped = Event()
        arguments = (arrived, stopped, pieces)
        Thread(target=copy_context().run, args=(_pump, *arguments), name="lore-answer", daemon=True).start()
        deadline = monotonic() + self.seconds
        try:
            while True:
                try:
                    piece = arrived.get(timeout=max(0.0, deadline - monotonic()))
                except Empty:
                    raise self._late(what, ModelError) from None
                if piece is None:
                    return
                if isinstance(piece, BaseException):
                    raise piece
                yield piece
        finally:
            stopped.set()

    def _late(self, what: str, error: type[LoreError]) -> LoreError:
        return error(f"{what} took longer than {self.seconds:g} s.", remedy=f"Raise {self.setting}.")


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds that each stage may take before the journey goes on without it, or with what it has."""

    plan: float = 30.0
    search: float = 30.0
    rerank: float = 15.0
    answer: float = 180.0
    verify: float = 30.0

    def limit(self, stage: str) -> TimeLimit:
        """Return the limit of a stage: "plan", "search", "rerank", "answer" or "verify"."""
        return TimeLimit(getattr(self, stage), f"LORE_{stage.upper()}_SECONDS")


def _put(done: SimpleQueue[tuple[int, Result | BaseException]], place: int, call: Callable[[], Result]) -> None:
    try:
        done.put((place, call()))
    except BaseException as error:  # raised in the thread that waits
        done.put((place, error))


def _pump(
    arrived: SimpleQueue[str | BaseException | None], stopped: Event, pieces: Callable[[], Iterator[str]]
) -> None:
    try:
        for piece in pieces():
            arrived.put(piece)
            if stopped.is_set():
                return
        arrived.put(None)
    except BaseException as error:  # as above
        arrived.put(error)
