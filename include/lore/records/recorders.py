"""Several recorders, told of every answer as one."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Protocol

from lore.protocols import Recorder
from lore.records.recorder import EXIT_SECONDS
from lore.types import Answer

__all__ = ["ClosingRecorder", "Recorders"]


class ClosingRecorder(Recorder, Protocol):
    """A recorder that may have something left to write."""

    def flush(self, timeout: float = EXIT_SECONDS) -> bool:
        """Wait until it is written; whether it was, in so many seconds."""
        ...

    def close(self, timeout: float = EXIT_SECONDS) -> None:
        """Write it, unless for so many seconds nothing can be written; further answers are dropped."""
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
        """Let each write what it still has, unless for so many seconds it can write nothing."""
        for recorder in self._recorders:
            recorder.close(timeout)

    def __enter__(self) -> Recorders:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
