"""Progress of a task in its log, a line every ten seconds."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

from lore.ingest.report import Progress

__all__ = ["LoggedProgress"]

EVERY_SECONDS = 10.0
STAGES = {
    "wait": "waiting for another sync of this source",
    "extract": "documents read",
    "index": "documents indexed",
    "versions": "documents written to other versions",
    "reconcile": "documents finished",
}


class LoggedProgress:
    """Logs how many documents of a stage are done, at what rate, and how long the rest takes.

    A stage's first line comes after `every` seconds, except that waiting is said at once. `clock` is in seconds.
    """

    def __init__(
        self, log: logging.Logger, *, every: float = EVERY_SECONDS, clock: Callable[[], float] = monotonic
    ) -> None:
        self._log = log
        self._every = every
        self._clock = clock
        self._what = ""
        self._began = self._said = 0.0
        self._first = 0

    def __call__(self, progress: Progress) -> None:
        """Take note of a sync's progress."""
        if progress.stage == "wait":
            self._log.info("%s", STAGES["wait"].capitalize())
        else:
            self._note(STAGES[progress.stage], progress.documents, progress.total, progress.chunks)

    def counts(self, what: str) -> Callable[[int, int], None]:
        """Return a listener that takes the number of done `what`, such as "questions asked", and their total."""
        return lambda done, total: self._note(what, done, total, 0)

    def _note(self, what: str, done: int, total: int | None, chunks: int) -> None:
        now = self._clock()
        if what != self._what:
            self._what, self._began, self._said, self._first = what, now, now, done
        if now - self._said < self._every:
            return
        self._said = now
        rate = (done - self._first) / (now - self._began)
        of = f" of {total:,}" if total else ""
        parts = [f"{done:,}{of} {what}"]
        if chunks:
            parts.append(f"{chunks:,} chunks")
        if rate > 0:
            parts.append(f"{rate:.1f} a second")
            if total:
                parts.append(f"about {max(0, total - done) / rate:.0f} s left")
        self._log.info("%s", ", ".join(parts))
