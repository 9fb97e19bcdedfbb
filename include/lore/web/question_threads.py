"""Questions run in threads: so many at once, so many waiting, each ended when its reader is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event, Lock
from typing import TypeVar

from lore.errors import LoreError

__all__ = ["QuestionThreads", "TooManyQuestionsError"]

RETRY_SECONDS = 5

Item = TypeVar("Item")


class TooManyQuestionsError(LoreError):
    """All places are taken; try again in `retry_seconds`."""

    retry_seconds = RETRY_SECONDS


class QuestionThreads:
    """Runs iterators in `workers` threads; `places` more questions may wait."""

    def __init__(self, workers: int, places: int) -> None:
        self._threads = ThreadPoolExecutor(workers, "lore-web")
        self._workers, self._places = workers, places
        self._present = 0
        self._lock = Lock()

    def close(self) -> None:
        """Begin nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def waiting(self) -> int:
        """The number of questions that wait for a thread."""
        return max(0, self._present - self._workers)

    def run(self, make: Callable[[], Iterator[Item]]) -> AsyncGenerator[Item]:
        """Begin, and return the items of the iterator that `make` returns; it is closed when the reader stops reading.

        Raises TooManyQuestionsError at once if all places are taken; reading raises the iterator's errors.
        """
        with self._lock:
            if self._present >= self._workers + self._places:
                raise TooManyQuestionsError(
                    "Too many questions are being answered.", remedy="Ask again in a few seconds.", retryable=True
                )
            self._present += 1
        loop, items, gone = asyncio.get_running_loop(), asyncio.Queue[tuple[str, object]](), Event()

        def tell(kind: str, value: object = None) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(items.put_nowait, (kind, value))

        def work() -> None:
            try:
                if not gone.is_set():
                    _drain(make(), gone, lambda item: tell("item", item))
                tell("end")
            except BaseException as error:
                tell("error", error)

        future = self._threads.submit(work)
        future.add_done_callback(lambda _: self._leave())  # also where nobody begins to read

        async def read() -> AsyncGenerator[Item]:
            try:
                while True:
                    kind, value = await items.get()
                    if kind == "end":
                        return
                    if kind == "error":
                        assert isinstance(value, BaseException)  # noqa: S101
                        raise value
                    yield value  # type: ignore[misc]
            finally:
                gone.set()
                future.cancel()

        return read()

    def _leave(self) -> None:
        with self._lock:
            self._present -= 1


def _drain(iterator: Iterator[Item], gone: Event, give: Callable[[Item], None]) -> None:
    try:
        for item in iterator:
            if gone.is_set():
                return
            give(item)
    finally:
        if close := getattr(iterator, "close", None):
            close()
