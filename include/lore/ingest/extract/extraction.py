"""The first step of a sync: a source is read into shards; where a kill cut that off, from there on."""

from __future__ import annotations

import time
from collections.abc import Callable

from lore.errors import SourceError
from lore.ingest.extract.checkpoint import Checkpoints
from lore.ingest.extract.staging import Manifest
from lore.ingest.report import Progress, readable
from lore.protocols import Listable, Source
from lore.redact.redactor import Redactor
from lore.types import Batch, Cursor, Failure

__all__ = ["Extraction"]


class Extraction:
    """One reading of a source, from `since` on, or from where a run with the same start was cut.

    `held` are the ids that the index holds. What a run that was cut had read, was there before this one began; so it is
    among what can be gone by its end.
    """

    def __init__(
        self, source: Source, redactor: Redactor, checkpoints: Checkpoints, since: Cursor | None, held: tuple[str, ...]
    ) -> None:
        self._source = source
        self._redactor = redactor
        self._checkpoints = checkpoints
        self._since = since
        self._writer, cut = checkpoints.take_over()
        self._resumed = len(self._writer.ids)
        self._held = tuple(dict.fromkeys((*held, *sorted(self._writer.ids))))
        self._cursor = cut.cursor if cut else since
        self._deleted = dict.fromkeys(cut.deleted if cut else ())
        self._failures = {failure.document_id: failure for failure in (cut.failures if cut else ())}

    def run(self, run_id: str, progress: Callable[[Progress], None]) -> Manifest:
        """Read to the end, or to where the source stops for a reason that passes. Raises SourceError for another one,
        and when nothing was read.
        """
        started = time.monotonic()
        interrupted = ""
        try:
            for batch in self._source.read(self._cursor):
                self._take(batch)
                progress(Progress("extract", len(self._writer.ids)))
        except SourceError as error:
            if not error.retryable or self._cursor == self._since:
                raise
            interrupted = self._redactor.text(str(error))
        self._writer.flush()
        existing = None if interrupted else self._existing()
        return Manifest(
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
        )

    def _take(self, batch: Batch) -> None:
        """Stage a batch. Of a document, and of what was said of it, the last counts."""
        for document in map(self._redactor.document, batch.documents):
            self._failures.pop(document.id, None)
            self._deleted.pop(document.id, None)
            try:
                self._writer.add(document)
            except (TypeError, ValueError) as error:
                self._fail(Failure(readable(document.id), f"Its metadata are no JSON values: {error}."))
        for document_id in map(self._redactor.address, batch.deleted_ids):
            self._writer.drop(document_id)
            self._deleted[document_id] = None
        for failure in map(self._redactor.failure, batch.failures):
            self._fail(failure)
        if batch.cursor and batch.cursor != self._cursor:
            self._cursor = batch.cursor
            self._checkpoints.save(self._writer, batch.cursor, tuple(self._deleted), tuple(self._failures.values()))

    def _fail(self, failure: Failure) -> None:
        self._failures[failure.document_id] = failure

    def _existing(self) -> tuple[str, ...] | None:
        """The ids that the source has now, or None where it cannot say: then nothing is taken for deleted.

        A list that fails is a failure of its own, and what was read is indexed all the same.
        """
        if isinstance(self._source, Listable):
            try:
                return tuple(map(self._redactor.address, self._source.list_ids()))
            except SourceError as error:
                reason = self._redactor.text(f"What was deleted could not be seen: {error}")
                self._fail(Failure(self._source.id, reason))
                return None
        return tuple(self._writer.ids.union(self._failures)) if self._since is None else None
