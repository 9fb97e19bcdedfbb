"""What stands between answering and the database: a queue that never makes an answer wait.

One thread writes. A database that is away is tried again, less and less often, while answers wait in the queue; when
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
from typing import TYPE_CHECKING, Protocol

from include.lore.errors import LoreError, RecordsError
from include.lore.protocols import Recorder
from include.lore.types import Answer

if TYPE_CHECKING:
    from include.lore.records.records import Records

__all__ = ["ClosingRecorder", "DatabaseRecorder", "Recorders"]

log = logging.getLogger(__name__)

CAPACITY = 500
EXIT_SECONDS = 5.0
LONGEST_PAUSE = 60.0
CLEANING_SECONDS = 24 * 3600.0


class DatabaseRecorder:
    """Keeps every answer in the records. Nothing is opened, and no thread started, before the first answer."""

    def __init__(
        self,
        open_records: Callable[[], Records],
        *,
        retention_days: int = 0,
        capacity: int = CAPACITY,
        first_pause: float = 1.0,
    ) -> None:
        self._open_records = open_records
        self._retention = timedelta(days=retention_days) if retention_days else None
        self._capacity = capacity
        self._first_pause = first_pause
        self._pause = 0.0  # after a failure: how long until the next try
        self._waiting: deque[tuple[Answer, datetime]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._records: Records | None = None
        self._clean_at = 0.0
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
            log.exception("An answer could not be given to the records.")

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
            if self._waiting:
                log.error("The process ended before all was recorded; answers lost: %d.", len(self._waiting))
                self.dropped += len(self._waiting)
                self._waiting.clear()

    # ---------------------------------------------------------------------------------------------------- writing

    def _start(self) -> None:
        """Start the thread; the caller holds the lock."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="lore-records", daemon=True)
            self._thread.start()
            atexit.register(self.close)

    def _run(self) -> None:
        while self._wait():
            answer = self._waiting[0] if self._waiting else None  # this thread alone takes away from the queue
            try:
                self._work(answer)
            except LoreError as error:
                self._failed(error, answer is not None)
            except Exception as error:
                log.debug("An error that should not be", exc_info=True)
                self._failed(RecordsError(f"{type(error).__name__} was raised."), answer is not None)
        if self._records is not None:
            self._records.close()

    def _wait(self) -> bool:
        """Wait for something to do; False when it is over."""
        with self._changed:
            if self._pause:
                self._changed.wait_for(lambda: self._closing, self._pause)
            elif not self._waiting:
                idle = max(0.0, self._clean_at - monotonic())
                self._changed.wait_for(lambda: self._waiting or self._closing, idle)
            return not self._off and (bool(self._waiting) or not self._closing)

    def _work(self, answer: tuple[Answer, datetime] | None) -> None:
        if self._records is None:
            self._records = self._open_records()
            self._clean(self._records)
        elif answer is None:
            self._clean(self._records)
        if answer is not None:
            self._records.add(*answer)
            self._done()

    def _clean(self, records: Records) -> None:
        """Remove one batch of what is too old; the next one follows when no answer waits."""
        from include.lore.records.claims import Claims

        if self._retention and records.expire(datetime.now(UTC) - self._retention):
            self._clean_at = 0.0
            return
        Claims(records.engine).prune()
        self._clean_at = monotonic() + CLEANING_SECONDS

    def _done(self, *, lost: bool = False) -> None:
        with self._changed:
            self._waiting.popleft()
            self.dropped += lost
            again, self._pause = self._pause > 0, 0.0
            refused, self._refused = self._refused, 0
            self._changed.notify_all()
        if again or refused:
            log.warning("Answers are recorded again%s.", f"; {refused} were not" if refused else "")

    def _failed(self, error: LoreError, writing: bool) -> None:
        if error.retryable and not self._closing:
            if not self._pause:
                log.error("Answers cannot be recorded for now, and wait: %s", error)
            self._pause = min(max(self._first_pause, self._pause * 2), LONGEST_PAUSE)
        elif self._records is None or self._closing:
            self._give_up(error)
        elif writing:
            log.error("An answer was not recorded: %s", error)
            self._done(lost=True)
        else:
            log.error("Old records were not removed: %s", error)
            self._clean_at = monotonic() + CLEANING_SECONDS

    def _give_up(self, error: LoreError) -> None:
        with self._changed:
            self._off = True
            lost = len(self._waiting)
            self.dropped += lost
            self._waiting.clear()
            self._changed.notify_all()
        log.error("Answers are not recorded, %d by now: %s", lost, error)

    def _refuse(self) -> None:
        """Count an answer that is not taken; the caller holds the lock."""
        self.dropped += 1
        if self._off or self._closing:  # which was said
            return
        self._refused += 1
        if self._refused & (self._refused - 1) == 0:  # the 1st, 2nd, 4th, 8th …
            log.error("The queue of the records is full; answers not recorded: %d.", self._refused)


class ClosingRecorder(Recorder, Protocol):
    """A recorder that may have something left to write."""

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

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Let each write what it still has, for so many seconds at most."""
        until = monotonic() + timeout
        for recorder in self._recorders:
            recorder.close(max(0.0, until - monotonic()))

    def __enter__(self) -> Recorders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
