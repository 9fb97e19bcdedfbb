"""The ingest journey: extract → stage → index each shard → reconcile deletions → verify → move the cursor.

Each step can be killed and run again. No memory of an earlier run decides anything: "unchanged" is decided against the
fingerprints in the store, deletions against what the source lists, and the cursor moves last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

from lore.errors import LoreError, RemovalFloorError, SyncError
from lore.ingest.extract.checkpoint import Checkpoints, resume_key
from lore.ingest.extract.extraction import Extraction
from lore.ingest.extract.source_state import SourceStateTracker
from lore.ingest.extract.staging import ExtractionManifest, Staging, source_lock
from lore.ingest.finish.duplicates import DuplicateDecision, find_duplicates, with_signature, without_signature
from lore.ingest.finish.reconcile import check_complete, describe_failures, removed_ids, run_error, verify
from lore.ingest.finish.reindex import ReindexResult, reindex
from lore.ingest.finish.visibility import as_hidden, as_shown, is_hidden
from lore.ingest.options import DocumentSteps, SyncRules, SyncTarget
from lore.ingest.report import DuplicateReport, Progress, ShardReport, SyncReport, UsageTotal
from lore.ingest.strategies.strategy import with_strategy
from lore.ingest.versions import catch_up_versions
from lore.ingest.write.fingerprint import document_recipe, fingerprint
from lore.ingest.write.lost_text import lost_percent, update_lost
from lore.ingest.write.prepare import DocumentPreparer, PreparedDocument
from lore.ingest.write.writer import EntryWriter
from lore.protocols import Source
from lore.types import Document, Failure

__all__ = ["Sync"]

OnProgress = Callable[[Progress], None]


def _ignore(progress: Progress) -> None:
    """Ignore the progress."""


class Sync:
    """Brings one source into the index. Airflow calls each step in a task of its own; `run` calls them all.

    A version of the index that can't be written doesn't stop the sync; the report says so. Passages made by another
    strategy than `steps.strategy` are made again from the kept documents at the end of the run. So is what
    `rules.duplicates` decides: of duplicate pages one is shown, and without that rule each.
    """

    def __init__(
        self,
        source: Source,
        target: SyncTarget,
        steps: DocumentSteps,
        *,
        staging_uri: str,
        rules: SyncRules = SyncRules(),
    ) -> None:
        self._source = source
        self._target = target
        self._store = target.store
        self._steps = steps
        self._rules = rules
        self._staging_uri = staging_uri
        self._leases = target.leases
        self._strategy = steps.strategy.name if steps.strategy else ""
        self._recipe = document_recipe(steps.redactor.name)
        self._state = SourceStateTracker(source, target.store, self._recipe, steps.redactor)
        self._preparer = DocumentPreparer(steps.convert, steps.redactor, steps.strategy or steps.splitter)

    def run(self, *, progress: OnProgress = _ignore, force_removals: bool = False) -> SyncReport:
        """Do the whole sync in this process. A second sync of the same source waits for the first.

        An interrupt leaves what is indexed and staged, and the next run continues from there. Raises SourceError,
        ModelError, StoreError, and SyncError if too many documents failed.
        """
        run_id = uuid4().hex
        with self._begun(run_id, progress, ends=True):
            try:
                extraction = self._extract(run_id, progress, whole_run=True)
                reports: list[ShardReport] = []
                for shard in self.shards(extraction, force_removals=force_removals):
                    reports.append(self._index(shard, progress, before=reports))
                return self._reconcile(extraction, reports, progress, force_removals=force_removals)
            except Exception:
                Staging(self._staging_uri, self._source.id, run_id).remove()  # no run continues from an error
                raise

    @contextmanager
    def _begun(self, run_id: str, progress: OnProgress, *, ends: bool) -> Iterator[None]:
        """Hold the source on this machine, and its lease on all, in the first step of a run."""
        source_id = self._source.id

        def on_wait() -> None:
            progress(Progress("wait", 0))

        with (
            source_lock(self._staging_uri, source_id, on_wait=on_wait),
            self._leases.begin(source_id, run_id, ends=ends, on_wait=on_wait),
        ):
            yield

    def extract(self, run_id: str, *, progress: OnProgress = _ignore) -> str:
        """Read the source and stage its documents; returns the path of the manifest.

        For a run whose steps are in several processes. One run of a source goes on at a time; others wait. A source
        that stops early with a retryable error leaves a manifest of what it gave until then. If a kill cut an attempt
        of this run off, or of another one with the same resume key, the reading continues from there. Raises
        SourceError if the source gave nothing.
        """
        with self._begun(run_id, progress, ends=False):
            return self._extract(run_id, progress, whole_run=False)

    def _extract(self, run_id: str, progress: OnProgress, *, whole_run: bool) -> str:
        staging = Staging(self._staging_uri, self._source.id, run_id)
        staging.start(whole_run=whole_run)
        try:
            with self._state.failure_saved():
                return staging.write(self._extraction(staging).run(run_id, progress))
        except Exception:  # not a kill or an interrupt: another run continues from what these leave
            staging.remove()
            raise

    def _extraction(self, staging: Staging) -> Extraction:
        source_id = self._source.id
        held = tuple({**self._store.document_fingerprints(source_id), **self._store.fingerprints(source_id)})
        since, synced_at = self._state.cursor(held)
        key = resume_key(source_id, since, self._recipe, self._rules.selection, synced_at)
        return Extraction(self._source, self._steps.redactor, Checkpoints(staging, key), since, held)

    def shards(self, extraction: str, *, force_removals: bool = False) -> list[str]:
        """Return the paths of an extraction's shards to index.

        There are none if nothing changed, or if `reconcile` will refuse the removals: after an outage, neither what
        seems to be deleted nor what the source served in its place may change the index.
        """
        manifest = Staging.read(extraction)
        try:
            removed_ids(manifest, self._rules.max_removed_share, force=force_removals)
        except RemovalFloorError:
            return []
        return list(manifest.shards)

    def index(self, shard: str, *, progress: OnProgress = _ignore) -> ShardReport:
        """Convert, split, embed and store one shard; may be repeated. Progress counts the documents of the shard.

        Raises SyncError if another run of the source has begun since.
        """
        with self._leases.go_on(self._source.id, Staging.manifest_of(shard).run_id, ends=False):
            return self._index(shard, progress)

    def _index(self, shard: str, progress: OnProgress, *, before: Sequence[ShardReport] | None = None) -> ShardReport:
        """Index one shard; progress counts the whole run if `before` are the reports of the shards before it."""
        started = time.monotonic()
        manifest = Staging.manifest_of(shard)
        documents = list(_last_states(shard, manifest))
        indexed = self._store.fingerprints(self._source.id, ids=[document.id for document in documents])
        counts = {"new": 0, "changed": 0, "unchanged": 0}
        failures: list[Failure] = []
        lost_text: dict[str, int] = {}
        documents_before = sum(report.documents for report in before or ())
        chunks_before = sum(report.chunks for report in before or ())
        total = len(documents) if before is None else manifest.documents
        calls = len(self._steps.usage)

        def on_versions(done: int, of: int) -> None:
            progress(Progress("versions", done, of))

        def on_progress(embedded: int, chunks: int) -> None:
            done = documents_before + embedded + counts["unchanged"] + len(failures)
            progress(Progress("index", done, total, chunks_before + chunks))

        writer = EntryWriter(self._store, self._target.embedder, on_progress=on_progress)
        with self._state.failure_saved():
            for document in documents:
                stored = indexed.get(document.id, "")
                wanted = with_strategy(fingerprint(document, self._recipe), self._strategy)
                if as_shown(stored) == wanted:
                    counts["unchanged"] += 1
                    on_progress(len(writer.written), writer.chunks)
                    continue
                hide = self._rules.duplicates is not None and is_hidden(stored)
                prepared = self._prepare(document, hide=hide)
                if isinstance(prepared, PreparedDocument):
                    counts["changed" if document.id in indexed else "new"] += 1
                    if percent := lost_percent(prepared.document):
                        lost_text[document.id] = percent
                    writer.add(prepared.document, as_hidden(wanted) if hide else wanted, prepared.chunks)
                else:
                    failures.append(prepared)
                    on_progress(len(writer.written), writer.chunks)
            writer.flush()
            notes = catch_up_versions(self._target.versions, self._source.id, writer.written, on_versions)
        return ShardReport(
            indexed=tuple(writer.written),
            failures=tuple(failures),
            chunks=writer.chunks,
            embedding_calls=writer.embedding_calls,
            embedded_texts=writer.embedded_texts,
            seconds=time.monotonic() - started,
            notes=notes,
            spent=UsageTotal.of(self._steps.usage[calls:]),
            lost_text=lost_text,
            **counts,
        )

    def _prepare(self, document: Document, *, hide: bool) -> PreparedDocument | Failure:
        """Prepare a document to be stored. A hidden one gets its passages, if any, at the end of the run."""
        prepared = self._preparer.convert(document) if hide else self._preparer.prepare(document)
        if isinstance(prepared, Document):
            prepared = PreparedDocument(prepared, ())
        if isinstance(prepared, Failure):
            return prepared
        compared = self._rules.duplicates is not None and self._rules.duplicates.similarity is not None
        sign = with_signature if compared else without_signature
        return replace(prepared, document=sign(prepared.document))

    def reconcile(
        self,
        extraction: str,
        reports: Sequence[ShardReport],
        *,
        progress: OnProgress = _ignore,
        force_removals: bool = False,
    ) -> SyncReport:
        """Remove deleted documents, verify what is stored, and move the cursor; ends the run.

        Raises RemovalFloorError if more would be removed than the declaration allows, StoreError if the store doesn't
        hold what was written, SyncError if too many documents failed, and SourceError if the source stopped early. The
        source's state keeps each of them, and the cursor stays where it must. A run that has ended returns its report
        again.
        """
        if ended := self._ended(extraction):
            return ended
        with self._leases.go_on(self._source.id, Staging.read(extraction).run_id, ends=True):
            return self._reconcile(extraction, reports, progress, force_removals=force_removals)

    def _reconcile(
        self, extraction: str, reports: Sequence[ShardReport], progress: OnProgress, *, force_removals: bool
    ) -> SyncReport:
        started = time.monotonic()
        manifest = Staging.read(extraction)
        source_id = self._source.id
        failures = (*manifest.failures, *(failure for report in reports for failure in report.failures))
        decision, reindexed, calls = DuplicateDecision(), ReindexResult(), len(self._steps.usage)
        error: LoreError | None = None
        gone: list[str] = []
        removed = 0
        notes: tuple[str, ...] = tuple(note for report in reports for note in report.notes)
        indexed = sum(len(report.indexed) for report in reports)

        def on_versions(done: int, of: int) -> None:
            progress(Progress("versions", done, of))

        def on_progress(embedded: int, _: int = 0) -> None:
            progress(Progress("reconcile", indexed + embedded))

        try:
            on_progress(0)
            gone = removed_ids(manifest, self._rules.max_removed_share, force=force_removals)
            check_complete(manifest, reports)
            decision = find_duplicates(self._store, source_id, self._rules.duplicates, gone=set(gone))
            reindexed = reindex(
                self._store,
                source_id,
                self._preparer,
                EntryWriter(self._store, self._target.embedder, on_progress=on_progress),
                strategy=self._strategy,
                decision=decision,
                failed={failure.document_id for failure in failures},
                gone=set(gone),
            )
            removed = self._store.delete(source_id, gone) if gone else 0
            parts = (*reports, reindexed.report)
            written = sorted({document_id for part in parts for document_id in part.indexed}.difference(gone))
            notes = catch_up_versions(self._target.versions, source_id, written, on_versions, last=True)
            self._store.optimize()
            verify(self._store, source_id, written)
        except LoreError as caught:
            error = caught
        all_failures = (*failures, *reindexed.report.failures)
        problem = error or run_error(manifest, all_failures, self._store, self._rules.max_failed_share)
        parts = (*reports, reindexed.report)
        report = SyncReport(
            source_id=source_id,
            status="failed" if problem else "warning" if all_failures or manifest.warnings else "ok",
            new=sum(part.new for part in parts),
            changed=sum(part.changed for part in parts),
            unchanged=sum(part.unchanged for part in parts),
            removed=removed,
            failures=all_failures,
            chunks=sum(part.chunks for part in parts),
            embedding_calls=sum(part.embedding_calls for part in parts),
            embedded_texts=sum(part.embedded_texts for part in parts),
            seconds=round(manifest.seconds + sum(one.seconds for one in reports) + time.monotonic() - started, 3),
            reason=problem.message
            if problem
            else " ".join((describe_failures(all_failures), *manifest.warnings, *notes)).strip(),
            duplicates=DuplicateReport.of(decision.originals, reindexed.hidden, reindexed.shown),
            spent=sum((report.spent for report in reports), UsageTotal.of(self._steps.usage[calls:])),
            resumed=manifest.resumed,
            lost_text=update_lost(
                self._state.last_report().get("lost_text"),
                {name: percent for part in reports for name, percent in part.lost_text.items()},
                indexed=[document_id for part in reports for document_id in part.indexed],
                gone=gone if removed else (),
            ),
            attempt=Staging.attempt_of(extraction),
        )
        self._state.save(report, self._state.reached(manifest, failures) if error is None else None)
        if error is None or not error.retryable:  # a retry of this step needs the manifest
            Staging(self._staging_uri, source_id, manifest.run_id).remove()
        if problem:
            raise problem
        return report

    def _ended(self, extraction: str) -> SyncReport | None:
        """Return the report of a run that has ended before; None if it hasn't.

        A process that was killed after the last write, and a task that is cleared, come here a second time.
        """
        last = self._state.last_report()
        if last.get("attempt") != Staging.attempt_of(extraction) or Staging.exists(extraction):
            return None
        report = SyncReport.from_json(last)
        if report.status == "failed":
            raise SyncError(report.reason)
        return report


def _last_states(shard: str, manifest: ExtractionManifest) -> Iterator[Document]:
    """Yield a shard's documents, each id once, without those of which another shard has a later state."""
    repeated = manifest.repeated or {}
    if not repeated:
        yield from Staging.documents(shard)
        return
    latest = {
        document.id: document for document in Staging.documents(shard) if repeated.get(document.id, shard) == shard
    }
    yield from latest.values()
