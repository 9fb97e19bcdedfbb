"""The first step of a sync: a source is read into shards, from where an interrupted run stopped."""

from __future__ import annotations

import time
from collections.abc import Callable

from lore.errors import SourceError
from lore.ingest.extract.checkpoint import Checkpoints
from lore.ingest.extract.staging import ExtractionManifest
from lore.ingest.report import Progress, escape_surrogates
from lore.protocols import Listable, Source
from lore.redact.redactor import Redactor
from lore.types import Batch, Cursor, Failure

__all__ = ["Extraction"]


class Extraction:
    """One reading of a source from `since` on, or from where a run with the same resume key stopped.

    `held` are the ids that the index holds. Documents read by an interrupted run count as held as well: they existed
    before this run began, so it may find them deleted.
    """

    def __init__(
        self, source: Source, redactor: Redactor, checkpoints: Checkpoints, since: Cursor | None, held: tuple[str, ...]
    ) -> None:
        self._source = source
        self._redactor = redactor
        self._checkpoints = checkpoints
        self._since = since
        self._writer, checkpoint = checkpoints.resume()
        self._resumed = len(self._writer.ids)
        self._held = tuple(dict.fromkeys((*held, *sorted(self._writer.ids))))
        self._cursor = checkpoint.cursor if checkpoint else since
        self._warnings: list[str] = []
        self._deleted = dict.fromkeys(checkpoint.deleted if checkpoint else ())
        self._failures = {failure.document_id: failure for failure in (checkpoint.failures if checkpoint else ())}

    def run(self, run_id: str, progress: Callable[[Progress], None]) -> ExtractionManifest:
        """Read to the end, or to where the source stops with a retryable error.

        Raises SourceError for any other error, and if nothing was read.
        """
        started = time.monotonic()
        interrupted = ""
        try:
            for batch in self._source.read(self._cursor):
                self._stage(batch)
                progress(Progress("extract", len(self._writer.ids)))
        except SourceError as error:
            if not error.retryable or self._cursor == self._since:
                raise
            interrupted = self._redactor.text(str(error))
        self._writer.flush()
        existing = None if interrupted else self._existing()
        return ExtractionManifest(
            source_id=self._source.id,
            run_id=run_id,
            shards=tuple(self._writer.shards),
            cursor=self._cursor,
            held=self._held,
            existing=existing,
            deleted=tuple(self._deleted),
            failures=tuple(self._failures.values()),
            repeated=self._writer.repeated,
            documents=len(self._writer.ids),
            resumed=self._resumed,
            interrupted=interrupted,
            seconds=time.monotonic() - started,
            warnings=tuple(self._warnings),
        )

    def _stage(self, batch: Batch) -> None:
        """Stage a batch; the last state of a document counts, and the last failure."""
        for document in map(self._redactor.document, batch.documents):
            self._failures.pop(document.id, None)
            self._deleted.pop(document.id, None)
            try:
                self._writer.add(document)
            except (TypeError, ValueError) as error:
                self._fail(Failure(escape_surrogates(document.id), f"Its metadata are invalid JSON: {error}."))
        for document_id in map(self._redactor.address, batch.deleted_ids):
            self._writer.drop(document_id)
            self._deleted[document_id] = None
        for failure in map(self._redactor.failure, batch.failures):
            self._fail(failure)
        self._warnings += map(self._redactor.text, batch.warnings)
        if batch.cursor and batch.cursor != self._cursor:
            self._cursor = batch.cursor
            self._checkpoints.save(self._writer, batch.cursor, tuple(self._deleted), tuple(self._failures.values()))

    def _fail(self, failure: Failure) -> None:
        self._failures[failure.document_id] = failure

    def _existing(self) -> tuple[str, ...] | None:
        """Return the ids that the source has now, None if it can't tell: then nothing counts as deleted.

        If listing them fails, that is a failure of its own; the documents that were read are indexed all the same.
        """
        if isinstance(self._source, Listable):
            try:
                return tuple(map(self._redactor.address, self._source.list_ids()))
            except SourceError as error:
                reason = self._redactor.text(f"Couldn't find out which documents were deleted: {error}")
                self._fail(Failure(self._source.id, reason))
                return None
        return tuple(self._writer.ids.union(self._failures)) if self._since is None else None
