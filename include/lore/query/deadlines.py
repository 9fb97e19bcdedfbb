"""Calls that are not waited for longer than a time: the journey goes on without those that are late."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

from lore.errors import LoreError

__all__ = ["each_within", "pieces_within", "within"]

Result = TypeVar("Result")


def within(seconds: float, call: Callable[[], Result], late: LoreError) -> Result:
    """What the call returns or raises; `late` is raised when it has done neither in time."""
    (result,) = each_within(seconds, [call], late)
    if isinstance(result, LoreError):
        raise result
    return result


def each_within(seconds: float, calls: Sequence[Callable[[], Result]], late: LoreError) -> list[Result | LoreError]:
    """The results of calls that run side by side, each in its place: what it returned, the LoreError that it raised,
    or `late`. Raises any other exception of a call.

    A late call goes on in a thread of its own, which does not keep the process alive, and its result is dropped.
    """
    done: SimpleQueue[tuple[int, Result | BaseException]] = SimpleQueue()
    for place, call in enumerate(calls):
        Thread(target=copy_context().run, args=(_put, done, place, call), name="lore-stage", daemon=True).start()
    deadline = monotonic() + seconds
    results: list[Result | LoreError] = [late] * len(calls)
    for _ in calls:
        try:
            place, result = done.get(timeout=max(0.0, deadline - monotonic()))
        except Empty:
            break
        if isinstance(result, BaseException) and not isinstance(result, LoreError):
            raise result
        results[place] = result
    return results


def pieces_within(seconds: float, pieces: Callable[[], Iterator[str]], late: LoreError) -> Iterator[str]:
    """The pieces as they come; `late` is raised where they have not ended in time. Raises what making them raises."""
    come: SimpleQueue[str | BaseException | None] = SimpleQueue()
    stopped = Event()
    arguments = (come, stopped, pieces)
    Thread(target=copy_context().run, args=(_pump, *arguments), name="lore-answer", daemon=True).start()
    deadline = monotonic() + seconds
    try:
        while True:
            try:
                piece = come.get(timeout=max(0.0, deadline - monotonic()))
            except Empty:
                raise late from None
            if piece is None:
                return
            if isinstance(piece, BaseException):
                raise piece
            yield piece
    finally:
        stopped.set()


def _put(done: SimpleQueue[tuple[int, Result | BaseException]], place: int, call: Callable[[], Result]) -> None:
    try:
        done.put((place, call()))
    except BaseException as error:  # it is raised where it is waited for
        done.put((place, error))


def _pump(come: SimpleQueue[str | BaseException | None], stopped: Event, pieces: Callable[[], Iterator[str]]) -> None:
    try:
        for piece in pieces():
            come.put(piece)
            if stopped.is_set():
                return
        come.put(None)
    except BaseException as error:  # as above
        come.put(error)
