"""Several recorders as one."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Protocol

from lore.protocols import Recorder
from lore.records.recorder import EXIT_SECONDS
from lore.types import Answer

__all__ = ["ClosingRecorder", "Recorders"]


class ClosingRecorder(Recorder, Protocol):
    """A recorder that may still have answers to write."""

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Wait so many seconds until everything is written; return True if it is."""
        ...

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Write the rest, unless nothing can be written for so many seconds; further answers are dropped."""
        ...


class Recorders:
    """Several recorders as one; empty if nothing is recorded."""

    def __init__(self, recorders: Sequence[ClosingRecorder]) -> None:
        self._recorders = tuple(recorders)

    def record(self, answer: Answer) -> None:
        """Pass the answer to each recorder."""
        for recorder in self._recorders:
            recorder.record(answer)

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Wait so many seconds until each has written everything; return True if all have."""
        until = monotonic() + timeout
        return all(recorder.flush(max(0.0, until - monotonic())) for recorder in self._recorders)

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Let each write the rest, unless it can write nothing for so many seconds."""
        for recorder in self._recorders:
            recorder.close(timeout)

    def __enter__(self) -> Recorders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
