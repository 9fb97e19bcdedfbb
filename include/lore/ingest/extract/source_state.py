"""What the store remembers of a source from sync to sync: the cursor, how the last one ended, and its report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime

from lore.errors import LoreError
from lore.ingest.extract.staging import Manifest
from lore.ingest.report import SyncReport
from lore.protocols import Rereadable, Source, Store
from lore.redact.redactor import Redactor
from lore.types import Cursor, Failure, SourceState

__all__ = ["SourceMemory"]


class SourceMemory:
    """Reads and writes the state of one source. `recipe` names the converter that its cursors are reached with, and
    what errors say goes through `redactor`.
    """

    def __init__(self, source: Source, store: Store, recipe: str, redactor: Redactor) -> None:
        self._source = source
        self._store = store
        self._recipe = recipe
        self._redactor = redactor

    def cursor(self, held: Collection[str]) -> tuple[Cursor | None, datetime | None]:
        """From where to read on, and when the last sync ended; `held` are the ids that the store holds.

        The store is the truth: one that was emptied, or filled by another converter, has no use for a cursor.
        """
        state = self._store.state(self._source.id)
        since = state.cursor if state and held and state.recipe == self._recipe else None
        if state and state.cursor and since is None:  # cut off from here on, no converter may take it up again
            self._store.save_state(replace(state, cursor=None, recipe=""))
        return since, state.synced_at if state else None

    def reached(self, manifest: Manifest, failures: Sequence[Failure]) -> Cursor | None:
        """The cursor from which nothing is missed that this run did not index; None where that is the one of before."""
        if not failures:
            return manifest.cursor
        if manifest.cursor is None or not isinstance(self._source, Rereadable):
            return None
        return self._source.rewind(manifest.cursor, [failure.document_id for failure in failures])

    def remember(self, report: SyncReport, reached: Cursor | None) -> None:
        """Save how a sync ended; the cursor moves to what was `reached`, and stays where nothing was."""
        before = self._store.state(self._source.id)
        moved = reached is not None or report.status == "ok"
        self._store.save_state(
            SourceState(
                source_id=self._source.id,
                cursor=reached if moved else before.cursor if before else None,
                recipe=self._recipe if moved else before.recipe if before else "",
                status=report.status,
                synced_at=datetime.now(UTC),
                failures=report.failures,
                report=report.to_json(),
            )
        )

    @contextmanager
    def of_failure(self) -> Iterator[None]:
        """Note in the source's state that a step failed; a first sync that fails before its end leaves no state."""
        try:
            yield
        except LoreError as error:
            with suppress(LoreError):  # where the store is the trouble, the first error says more than a second one
                if before := self._store.state(self._source.id):
                    reason = self._redactor.text(error.message)
                    report = {**before.report, "status": "failed", "reason": reason}
                    self._store.save_state(replace(before, status="failed", synced_at=datetime.now(UTC), report=report))
            raise
