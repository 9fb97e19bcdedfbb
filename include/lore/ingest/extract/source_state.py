"""The state of a source between two syncs: its cursor, the outcome of the last sync, and that sync's report."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lore.errors import LoreError
from lore.ingest.extract.staging import ExtractionManifest
from lore.ingest.report import SyncReport
from lore.protocols import Rereadable, Source, Store
from lore.redact.redactor import Redactor
from lore.types import Cursor, Failure, SourceState

__all__ = ["SourceStateTracker"]


class SourceStateTracker:
    """Reads and writes the state of one source.

    `recipe` names the converter that cursors are reached with. `redactor` goes over the messages of errors.
    """

    def __init__(self, source: Source, store: Store, recipe: str, redactor: Redactor) -> None:
        self._source = source
        self._store = store
        self._recipe = recipe
        self._redactor = redactor

    def cursor(self, held: Collection[str]) -> tuple[Cursor | None, datetime | None]:
        """Return where to read on, and when the last sync ended; `held` are the ids that the store holds.

        The cursor of an emptied store, or of one filled by another converter, is ignored.
        """
        state = self._store.state(self._source.id)
        since = state.cursor if state and held and state.recipe == self._recipe else None
        if state and state.cursor and since is None:  # dropped for good, so that no converter takes it up again
            self._store.save_state(replace(state, cursor=None, recipe=""))
        return since, state.synced_at if state else None

    def reached(self, manifest: ExtractionManifest, failures: Sequence[Failure]) -> Cursor | None:
        """Return the cursor after which nothing is missing, None if that is the one before this run."""
        if not failures:
            return manifest.cursor
        if manifest.cursor is None or not isinstance(self._source, Rereadable):
            return None
        return self._source.rewind(manifest.cursor, [failure.document_id for failure in failures])

    def last_report(self) -> Mapping[str, Any]:
        """Return the report of the last sync; {} before the first."""
        state = self._store.state(self._source.id)
        return state.report if state else {}

    def save(self, report: SyncReport, reached: Cursor | None) -> None:
        """Save the outcome of a sync; the cursor moves to `reached`, and stays if that is None."""
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
    def failure_saved(self) -> Iterator[None]:
        """Save the failure of a step in the source's state; a first sync that fails before its end leaves no state."""
        try:
            yield
        except LoreError as error:
            with suppress(LoreError):  # if the store is the problem, the first error says more than a second one
                if before := self._store.state(self._source.id):
                    reason = self._redactor.text(error.message)
                    report = {**before.report, "status": "failed", "reason": reason, "attempt": ""}
                    self._store.save_state(replace(before, status="failed", synced_at=datetime.now(UTC), report=report))
            raise
