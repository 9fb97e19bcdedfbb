"""A queue between answering and the sinks of answers, so that no answer fails because a sink does.

One thread writes many answers at a time. A failing sink is retried at growing intervals while answers wait. When the
queue is full, further answers are dropped, counted and logged. Answers still waiting when the process ends are written
then, as long as the sink accepts them.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from time import monotonic
from typing import Protocol
from weakref import ref

from lore.errors import LoreError, RecordsError
from lore.types import Answer

__all__ = ["EXIT_SECONDS", "KEEP_SECONDS", "Finished", "QueuedRecorder", "Sink"]

log = logging.getLogger(__name__)

CAPACITY = 500
BATCH = 16
EXIT_SECONDS = 10.0
KEEP_SECONDS = 10.0
"""Longest wait of an answer to be written before it is shown, so that a kill loses none that was shown. Milliseconds
are enough; the first answer of a process waits until the records are open.
"""
EXIT_PAUSE = 0.1
EXIT_TRIES = 4
"""Tries of a sink that fails while the process ends, with 0.2, 0.4 and 0.8 seconds between them."""
LONGEST_PAUSE = 60.0
MAX_TRIES = 5
"""Failures of one answer, each right after another one was written, from which the answer is at fault and not the sink.
"""
TIDYING_SECONDS = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Finished:
    """An answer with the time of its question."""

    answer: Answer
    asked_at: datetime


class Sink(Protocol):
    """A keeper of answers. One thread opens, calls and closes it; its errors say whether they are retried."""

    def add_all(self, answers: Sequence[Finished]) -> object:
        """Keep all of the answers, or none and raise LoreError. Keeping one again changes nothing."""
        ...

    def tidy(self) -> bool:
        """Remove a batch of expired answers; return True if there may be more. Raises LoreError."""
        ...

    def close(self) -> None:
        """Close it; no more answers follow."""
        ...


def _renew(reference: ref[QueuedRecorder]) -> None:
    """Reset a recorder in a forked process, which has neither the thread nor the connection; the parent writes what
    waits.
    """
    if recorder := reference():
        recorder._inherited.append(recorder._sink)
        recorder._begin()


@dataclass(slots=True)
class _WaitingAnswer:
    """A waiting answer; `tries` counts its failures that did not follow another answer's."""

    finished: Finished
    tries: int = 0


class QueuedRecorder:
    """Puts every answer into a sink, which the log calls `name`. It opens nothing and starts no thread before the first
    answer. An answer waits up to `wait` seconds to be written, unless something fails.
    """

    def __init__(
        self,
        open_sink: Callable[[], Sink],
        name: str,
        *,
        capacity: int = CAPACITY,
        first_pause: float = 1.0,
        wait: float = 0.0,
    ) -> None:
        self._open_sink = open_sink
        self._name = name
        self._capacity = capacity
        self._first_pause = first_pause
        self._wait_seconds = wait
        self.dropped = 0
        """Number of answers that were not kept."""
        self._inherited: list[Sink | None] = []
        self._begin()

    def _begin(self) -> None:
        """Set the state of a new recorder."""
        self._pause = 0.0  # after a failure: how long until the next try
        self._batch = BATCH  # after a failure 1, so that one answer is known to be the reason, and then twice as many
        self._waiting: deque[_WaitingAnswer] = deque()
        self._written = 0
        self._overdue = False  # an answer waited in vain, and none was written since
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._sink: Sink | None = None
        self._tidy_at = 0.0
        self._closing = False
        self._exit_tries = 0
        self._tried = 0
        self._off = False
        self._refused = 0

    def record(self, answer: Answer) -> None:
        """Take a finished answer, and wait briefly until it is written. Never raises."""
        try:
            asked_at = datetime.now(UTC) - timedelta(seconds=answer.trace.seconds.get("total", 0.0))
            with self._changed:
                if self._off or self._closing or len(self._waiting) >= self._capacity:
                    self._refuse()
                    return
                self._waiting.append(_WaitingAnswer(Finished(answer, asked_at)))
                self._start()
                self._changed.notify_all()
                self._wait_until_written()
        except Exception:
            log.exception("An answer could not be given to %s.", self._name)

    def _wait_until_written(self) -> None:
        """Wait until all taken answers are written, unless something fails or is slow; the caller holds the lock."""
        last = self._written + len(self._waiting)
        if not (self._overdue or self._pause):
            over = self._changed.wait_for(lambda: self._written >= last or self._pause or self._off, self._wait_seconds)
            self._overdue = not over

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Wait so many seconds until all taken answers are written; return True if they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting, timeout)

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Write what is waiting, and stop. Further answers are dropped, and so are waiting ones once none could be
        written for so many seconds.
        """
        atexit.unregister(self.close)
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            while self._waiting and not self._off:
                if not self._moves_on(timeout):
                    self._off = True
                    self.dropped += (n := len(self._waiting))
                    log.error("The process ended before all was written to %s; answers lost: %d.", self._name, n)
                    return
            thread = self._thread
        if thread is not None and thread.is_alive():
            thread.join(timeout)

    def _moves_on(self, timeout: float) -> bool:
        """Wait until an answer is written, or none will be; return False if neither happens in so many seconds."""
        before = self._written
        return self._changed.wait_for(lambda: self._off or self._written > before, timeout)

    # ---------------------------------------------------------------------------------------------------- writing

    def _start(self) -> None:
        """Start the thread unless it runs; the caller holds the lock."""
        if self._thread is None:
            atexit.register(self.close)
            os.register_at_fork(after_in_child=partial(_renew, ref(self)))
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="lore-records", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while self._wait():
            try:
                self._work()
            except LoreError as error:
                self._failed(error)
            except Exception as error:
                log.debug("An error that should not be", exc_info=True)
                again = isinstance(error, OSError | MemoryError)  # of the machine, and may pass
                self._failed(RecordsError(f"{type(error).__name__} was raised.", retryable=again))
        if self._sink is not None:
            self._sink.close()

    def _wait(self) -> bool:
        """Wait for work; return False once the recorder is closed."""
        with self._changed:
            if self._pause and self._closing:
                self._changed.wait_for(lambda: self._off, min(self._pause, EXIT_PAUSE * 2**self._exit_tries))
            elif self._pause:
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
        with self._changed:
            batch = [waiting.finished for waiting in islice(self._waiting, self._batch)]
        if batch:
            self._tried = len(batch)
            self._sink.add_all(batch)
            self._done(len(batch))

    def _tidy(self, sink: Sink) -> None:
        """Remove a batch of expired answers, at first and once a day; the rest follows when no answer waits."""
        try:
            more = sink.tidy()
        except LoreError as error:
            log.error("What is too old was not removed from %s: %s", self._name, error)
            more = False
        self._tidy_at = 0.0 if more else monotonic() + TIDYING_SECONDS

    def _done(self, n: int) -> None:
        with self._changed:
            for _ in range(n):  # this thread alone takes away from it
                self._waiting.popleft()
            self._written += n
            self._overdue = False
            self._batch = min(self._batch * 2, BATCH)
            again, self._pause, self._exit_tries = self._pause > 0, 0.0, 0
            refused, self._refused = self._refused, 0
            self._changed.notify_all()
        if again or refused:
            lost_now = f"; answers lost meanwhile: {refused}" if refused else ""
            log.warning("Answers are written to %s again%s.", self._name, lost_now)

    # ----------------------------------------------------------------------------------------------------- failing

    def _failed(self, error: LoreError) -> None:
        if self._sink is not None and self._tried > 1:  # it may be one of them alone
            self._batch = self._tried = 1
        elif error.retryable:
            self._try_later(error)
        elif self._sink is None:
            self._give_up(error)
        else:
            self._drop_first(error)

    def _try_later(self, error: LoreError) -> None:
        """Pause, longer each time, and continue with the next answer, in case the first one is at fault."""
        if self._waiting and self._sink is not None:
            self._waiting[0].tries += not self._pause
            if self._waiting[0].tries > MAX_TRIES:
                self._drop_first(error)
                return
            with self._changed:
                self._waiting.rotate(-1)
        if self._closing:
            self._exit_tries += 1
            if self._exit_tries == EXIT_TRIES:
                self._give_up(error)
        elif not self._pause:
            log.error("Answers wait until %s can be written: %s", self._name, error)
        with self._changed:
            self._pause = min(max(self._first_pause, self._pause * 2), LONGEST_PAUSE)
            self._changed.notify_all()

    def _drop_first(self, error: LoreError) -> None:
        log.error("An answer was not written to %s: %s", self._name, error)
        with self._changed:
            self._waiting.popleft()
            self.dropped += 1
            self._written += 1  # or as good as that: it is the next one's turn
            self._changed.notify_all()

    def _give_up(self, error: LoreError) -> None:
        with self._changed:
            self._off = True
            self.dropped += len(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        log.error("No more answers are written to %s; lost by now: %d. %s", self._name, self.dropped, error)

    def _refuse(self) -> None:
        """Count a refused answer; the caller holds the lock."""
        self.dropped += 1
        if self._off or self._closing:  # which was said
            return
        self._refused += 1
        if self._refused & (self._refused - 1) == 0:  # the 1st, 2nd, 4th, 8th …
            log.error("The queue for %s is full; answers lost: %d.", self._name, self._refused)
