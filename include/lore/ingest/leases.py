"""The right to sync a source: of all runs on all machines, one at a time has it, from its first step to its last."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

__all__ = ["NoLeases", "SourceLeases"]


class SourceLeases(Protocol):
    """Leases on sources, each held by a run."""

    def begin(
        self, source_id: str, run_id: str, *, ends: bool, on_wait: Callable[[], object]
    ) -> AbstractContextManager[None]:
        """Hold the lease in the first step of a run, which waits for another run to end, after `on_wait`.

        The run keeps the lease afterwards, unless its first step `ends` it. Call it under the source's `source_lock`.
        Raises RecordsError, and SyncError if the lease was lost.
        """

    def go_on(self, source_id: str, run_id: str, *, ends: bool) -> AbstractContextManager[None]:
        """Hold the lease in a later step. Raises SyncError if another run has begun since, and RecordsError."""


class NoLeases:
    """No leases: only `source_lock` keeps runs apart, on one machine."""

    def begin(
        self, source_id: str, run_id: str, *, ends: bool, on_wait: Callable[[], object]
    ) -> AbstractContextManager[None]:
        """Hold nothing."""
        return nullcontext()

    def go_on(self, source_id: str, run_id: str, *, ends: bool) -> AbstractContextManager[None]:
        """Hold nothing."""
        return nullcontext()
