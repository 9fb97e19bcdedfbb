"""What stands between answering and the places where answers are kept: a queue that never makes an answer wait.

One thread writes. A place that is away is tried again, less and less often, while answers wait in the queue; when
the queue is full, further ones are dropped, counted, and said in the log. What is still waiting when the process ends
is written then, for a few seconds at most.
"""

from __future__ import annotations

import atexit
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Protocol

from include.lore.errors import LoreError, RecordsError
from include.lore.protocols import Recorder
from include.lore.types import Answer

__all__ = ["ClosingRecorder", "QueuedRecorder", "Recorders", "Sink"]

log = logging.getLogger(__name__)

CAPACITY = 500
EXIT_SECONDS = 10.0
LONGEST_PAUSE = 60.0
TIDYING_SECONDS = 24 * 3600.0


class Sink(Protocol):
    """Where answers are kept. One thread opens, calls and closes it; what it raises is retried if it says so."""

    def add(self, answer: Answer, asked_at: datetime) -> object:
        """Keep an answer. Raises LoreError."""
        ...

    def tidy(self) -> bool:
        """Remove a batch of what need not be kept any more; whether there may be more. Raises LoreError."""
        ...

    def close(self) -> None:
        """No more answers come."""
        ...


class QueuedRecorder:
    """Puts every answer into a sink, which `name` names in the log. Nothing is opened, and no thread started, before
    the first answer.
    """

    def __init__(
        self,
        open_sink: Callable[[], Sink],
        name: str,
        *,
        capacity: int = CAPACITY,
        first_pause: float = 1.0,
    ) -> None:
        self._open_sink = open_sink
        self._name = name
        self._capacity = capacity
        self._first_pause = first_pause
        self._pause = 0.0  # after a failure: how long until the next try
        self._waiting: deque[tuple[Answer, datetime]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._sink: Sink | None = None
        self._tidy_at = 0.0
        self._closing = False
        self._off = False
        self._refused = 0
        self.dropped = 0
        """How many answers were not kept."""

    def record(self, answer: Answer) -> None:
        """Take a finished answer. Returns at once and never raises."""
        try:
            asked_at = datetime.now(UTC) - timedelta(seconds=answer.trace.seconds.get("total", 0.0))
            with self._changed:
                if self._off or self._closing or len(self._waiting) >= self._capacity:
                    self._refuse()
                    return
                self._waiting.append((answer, asked_at))
                self._start()
                self._changed.notify_all()
        except Exception:
            log.exception("An answer could not be given to %s.", self._name)

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Wait until all that was taken is written; whether it was, in so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, timeout)

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Write what is waiting, for so many seconds at most, and stop. Further answers are dropped."""
        atexit.unregister(self.close)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(timeout)
        with self._changed:
            if (n := len(self._waiting)) and not self._off:
                log.error("The process ended before all was written to %s; answers lost: %d.", self._name, n)
                self.dropped += n
                self._off = True

    # ---------------------------------------------------------------------------------------------------- writing

    def _start(self) -> None:
        """Start the thread; the caller holds the lock."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lore-records", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _run(self) -> None:
        while self._wait():
            try:
                self._work()
            except LoreError as error:
                self._failed(error)
            except Exception as error:
                log.debug("An error that should not be", exc_info=True)
                self._failed(RecordsError(f"{type(error).__name__} was raised."))
        if self._sink is not None:
            self._sink.close()

    def _wait(self) -> bool:
        """Wait for something to do; False when it is over."""
        with self._changed:
            if self._pause:
                self._changed.wait_for(lambda: self._closing, self._pause)
            elif not self._waiting:
                idle = max(0.0, self._tidy_at - monotonic())
                self._changed.wait_for(lambda: self._waiting or self._closing, idle)
            return not self._off and (bool(self._waiting) or not self._closing)

    def _work(self) -> None:
        if self._sink is None:
            self._sink = self._open_sink()
            self._tidy(self._sink)
        elif not self._waiting:
            self._tidy(self._sink)
        if self._waiting:  # this thread alone takes away from it
            self._sink.add(*self._waiting[0])
            self._done()

    def _tidy(self, sink: Sink) -> None:
        """Tidy up a little: at first, and once a day; what is left follows when no answer waits."""
        try:
            more = sink.tidy()
        except LoreError as error:
            log.error("What is too old was not removed from %s: %s", self._name, error)
            more = False
        self._tidy_at = 0.0 if more else monotonic() + TIDYING_SECONDS

    def _done(self, *, lost: bool = False) -> None:
        with self._changed:
            self._waiting.popleft()
            self.dropped += lost
            again, self._pause = self._pause > 0, 0.0
            refused, self._refused = self._refused, 0
            self._changed.notify_all()
        if again or refused:
            lost_now = f"; answers lost meanwhile: {refused}" if refused else ""
            log.warning("Answers are written to %s again%s.", self._name, lost_now)

    def _failed(self, error: LoreError) -> None:
        if error.retryable and not self._closing:
            if not self._pause:
                log.error("Answers wait until %s can be written: %s", self._name, error)
            self._pause = min(max(self._first_pause, self._pause * 2), LONGEST_PAUSE)
        elif self._sink is None or error.retryable:
            self._give_up(error)
        else:
            log.error("An answer was not written to %s: %s", self._name, error)
            self._done(lost=True)

    def _give_up(self, error: LoreError) -> None:
        with self._changed:
            self._off = True
            lost = len(self._waiting)
            self.dropped += lost
            self._waiting.clear()
            self._changed.notify_all()
        log.error("No more answers are written to %s; lost by now: %d. %s", self._name, lost, error)

    def _refuse(self) -> None:
        """Count an answer that is not taken; the caller holds the lock."""
        self.dropped += 1
        if self._off or self._closing:  # which was said
            return
        self._refused += 1
        if self._refused & (self._refused - 1) == 0:  # the 1st, 2nd, 4th, 8th …
            log.error("The queue for %s is full; answers lost: %d.", self._name, self._refused)


class ClosingRecorder(Recorder, Protocol):
    """A recorder that may have something left to write."""

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Wait until it is written; whether it was, in so many seconds."""
        ...

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Write it, for so many seconds at most; further answers are dropped."""
        ...


class Recorders:
    """Several recorders as one; none where nothing is recorded."""

    def __init__(self, recorders: Sequence[ClosingRecorder]) -> None:
        self._recorders = tuple(recorders)

    def record(self, answer: Answer) -> None:
        """Give the answer to each."""
        for recorder in self._recorders:
            recorder.record(answer)

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Wait until each has written what it was given; whether all have, in so many seconds."""
        until = monotonic() + timeout
        return all(recorder.flush(max(0.0, until - monotonic())) for recorder in self._recorders)

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Let each write what it still has, for so many seconds at most."""
        until = monotonic() + timeout
        for recorder in self._recorders:
            recorder.close(max(0.0, until - monotonic()))

    def __enter__(self) -> Recorders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
