"""The ingest journey: extract → stage → index each shard → reconcile deletions → verify → move the cursor.

Each step can be killed and run again. Nothing is decided by memory of an earlier run: "unchanged" is decided against
the fingerprints in the store, deletions against what the source lists, and the cursor moves last.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

from lore.errors import LoreError
from lore.ingest.extract.checkpoint import Checkpoints, origin_of
from lore.ingest.extract.extraction import Extraction
from lore.ingest.extract.source_state import SourceMemory
from lore.ingest.extract.staging import Manifest, Staging, alone
from lore.ingest.finish.duplicates import Decision, decide, signed, unsigned
from lore.ingest.finish.reconcile import check_complete, problem_of, reason_of, vanished, verify
from lore.ingest.finish.reindex import Remade, remake
from lore.ingest.finish.visibility import hidden, is_hidden, shown
from lore.ingest.report import DuplicateReport, Progress, ShardReport, Spent, SyncReport
from lore.ingest.strategies.strategy import SummarySplitter, mark_of
from lore.ingest.versions import VersionBuilder
from lore.ingest.write.fingerprint import fingerprint, recipe_of
from lore.ingest.write.prepare import Prepared, Preparer
from lore.ingest.write.writer import EntryWriter
from lore.protocols import Embedder, Source, Splitter, Store
from lore.redact.redactor import Redactor
from lore.types import Document, Failure, Usage

if TYPE_CHECKING:
    from lore.declarations import Duplicates

__all__ = ["Progress", "ShardReport", "Sync", "SyncReport"]


class Sync:
    """Brings one source into the store. Airflow calls the steps, each in a task of its own; `run` calls them all.

    `versions` gives the builders of all versions of the index, or why there is none, and is asked anew each time: a
    version that was made, or promoted, in the middle of a sync has its documents too before the cursor moves. One that
    cannot be written to does not stop the sync, whose report says so.

    `redactor` (default: one that takes out secrets) goes over everything before it is staged, and again over what
    conversion gives; what failures and errors say goes through it before it is remembered. `declared` tells what is
    declared of the source from all else: what a killed run had read of another declaration is read again.

    `strategy` makes the passages where the source declares another strategy than the version's own splitter. What was
    made by another one is made anew from the kept documents, at the end of the run. So is what `duplicates` decides: of
    pages that are there twice one is shown, and without that rule each. `usage` grows by each call of a language model
    that making passages takes.
    """

    def __init__(
        self,
        source: Source,
        store: Store,
        embedder: Embedder,
        splitter: Splitter,
        convert: Callable[[Document], Document],
        *,
        staging_uri: str,
        max_failed_share: float = 0.05,
        max_removed_share: float = 0.5,
        versions: Callable[[], Sequence[VersionBuilder | LoreError]] = tuple,
        redactor: Redactor | None = None,
        declared: str = "",
        strategy: SummarySplitter | None = None,
        usage: Sequence[Usage] = (),
        duplicates: Duplicates | None = None,
    ) -> None:
        self._source = source
        self._store = store
        self._embedder = embedder
        self._strategy = strategy.name if strategy else ""
        self._usage = usage
        self._duplicates = duplicates
        self._staging_uri = staging_uri
        self._max_failed_share = max_failed_share
        self._max_removed_share = max_removed_share
        self._versions = versions
        self._redactor = redactor or Redactor()
        self._declared = declared
        self._recipe = recipe_of(self._redactor.name)
        self._memory = SourceMemory(source, store, self._recipe, self._redactor)
        self._preparer = Preparer(convert, self._redactor, strategy or splitter)

    def run(self, *, progress: Callable[[Progress], None] | None = None, force_removals: bool = False) -> SyncReport:
        """Do the whole sync in this process. A second sync of the same source on this machine waits for the first.

        Raises SourceError, ModelError, StoreError, and SyncError when too many documents failed.
        """
        tell = progress or (lambda _: None)
        with alone(self._staging_uri, self._source.id, waits=lambda: tell(Progress("wait", 0))):
            run_id = uuid4().hex
            try:
                extraction = self._extract(run_id, tell, whole_run=True)
                reports: list[ShardReport] = []
                for shard in self.shards(extraction):
                    reports.append(self.index(shard, progress=tell, before=reports))
                tell(Progress("reconcile", sum(len(report.indexed) for report in reports)))
                return self.reconcile(extraction, reports, force_removals=force_removals)
            except Exception:
                Staging(self._staging_uri, self._source.id, run_id).remove()  # nobody is to go on with it
                raise

    def extract(self, run_id: str, *, progress: Callable[[Progress], None] = lambda _: None) -> str:
        """Read the source and stage what it gives; returns the path of the manifest. For a run whose steps are in
        several processes; on one machine only one of a source is read at a time.

        A source that stops early, for a reason that passes, leaves a manifest of what it gave until then: that much
        is indexed, and the next run goes on from there. Where a kill, of this try or of another run with the same
        start, cut the reading off, it goes on from there. Raises SourceError when the source gave nothing.
        """
        with alone(self._staging_uri, self._source.id):
            return self._extract(run_id, progress, whole_run=False)

    def _extract(self, run_id: str, progress: Callable[[Progress], None], *, whole_run: bool) -> str:
        staging = Staging(self._staging_uri, self._source.id, run_id)
        staging.start(whole_run=whole_run)
        try:
            with self._memory.of_failure():
                return staging.write(self._extraction(staging).run(run_id, progress))
        except Exception:  # and no kill: from what that leaves, another run goes on
            staging.remove()
            raise

    def _extraction(self, staging: Staging) -> Extraction:
        held = tuple(
            {**self._store.document_fingerprints(self._source.id), **self._store.fingerprints(self._source.id)}
        )
        since, synced_at = self._memory.cursor(held)
        origin = origin_of(self._source.id, since, self._recipe, self._declared, synced_at)
        return Extraction(self._source, self._redactor, Checkpoints(staging, origin), since, held)

    def shards(self, extraction: str) -> list[str]:
        """The paths of an extraction's shards; none when nothing changed."""
        return list(Staging.read(extraction).shards)

    def index(
        self,
        shard: str,
        *,
        progress: Callable[[Progress], None] = lambda _: None,
        before: Sequence[ShardReport] = (),
    ) -> ShardReport:
        """Convert, split, embed and store one shard; may be repeated. `before` only lets the progress add up."""
        started = time.monotonic()
        writer = EntryWriter(self._store, self._embedder)
        manifest = Staging.manifest_of(shard)
        documents = list(_last_states(shard, manifest))
        known = self._store.fingerprints(self._source.id, ids=[document.id for document in documents])
        counts = {"new": 0, "changed": 0, "unchanged": 0}
        failures: list[Failure] = []
        done = sum(report.documents for report in before)
        chunks = sum(report.chunks for report in before)
        calls = len(self._usage)
        with self._memory.of_failure():
            for document in documents:
                before_it = known.get(document.id, "")
                mark = mark_of(fingerprint(document, self._recipe), self._strategy)
                if shown(before_it) == mark:
                    counts["unchanged"] += 1
                else:
                    stays_hidden = self._duplicates is not None and is_hidden(before_it)
                    mark = hidden(mark) if stays_hidden else mark
                    prepared = self._prepare(document, hide=stays_hidden)
                    if isinstance(prepared, Prepared):
                        writer.add(prepared.document, mark, prepared.chunks)
                        counts["changed" if document.id in known else "new"] += 1
                    else:
                        failures.append(prepared)
                finished = done + sum(counts.values()) + len(failures)
                progress(Progress("index", finished, manifest.documents, chunks + writer.chunks))
            writer.flush()
            behind = self._catch_up(writer.written)
        return ShardReport(
            indexed=tuple(writer.written),
            failures=tuple(failures),
            chunks=writer.chunks,
            embedding_calls=writer.embedding_calls,
            embedded_texts=writer.embedded_texts,
            seconds=time.monotonic() - started,
            notes=behind,
            spent=Spent.on(self._usage[calls:]),
            **counts,
        )

    def _catch_up(self, written: Sequence[str], *, last: bool = False) -> tuple[str, ...]:
        """Write what the store was given into every version; returns what could not be, in words.

        At the end of a run a version that is ready gets all of the source, and thereby what was written before it was
        made. To build one that is not ready is for its own builder.
        """
        notes: list[str] = []
        if not written and not last:
            return ()
        for builder in self._versions():
            if isinstance(builder, LoreError):
                notes.append(str(builder))
                continue
            everything = last and builder.version.status == "ready"
            if not everything and not written:
                continue
            try:
                builder.catch_up(self._source.id, ids=None if everything else written)
            except LoreError as error:
                notes.append(f"Version {builder.version.number} of the index is behind: {error}")
        return tuple(notes)

    def _prepare(self, document: Document, *, hide: bool) -> Prepared | Failure:
        """A document ready to be stored. One that was hidden gets no passages before the end of the run, which decides
        anew and makes them of what is kept.
        """
        prepared = self._preparer.convert(document) if hide else self._preparer.prepare(document)
        if isinstance(prepared, Document):
            prepared = Prepared(prepared, ())
        if isinstance(prepared, Failure):
            return prepared
        compared = self._duplicates is not None and self._duplicates.similarity is not None
        return replace(prepared, document=(signed if compared else unsigned)(prepared.document))

    def reconcile(self, extraction: str, reports: Sequence[ShardReport], *, force_removals: bool = False) -> SyncReport:
        """Remove what the source no longer has, verify what is stored, and move the cursor; ends the run.

        Raises RemovalFloorError when more would be removed than the declaration allows, StoreError when the store does
        not hold what was written, SyncError when too many documents failed, and SourceError when the source stopped
        early. All are remembered in the source's state, and the cursor stays where it must.
        """
        started = time.monotonic()
        manifest = Staging.read(extraction)
        seconds = manifest.seconds + sum(report.seconds for report in reports)
        failures = (*manifest.failures, *(failure for report in reports for failure in report.failures))
        decision, remade, calls = Decision(), Remade(), len(self._usage)
        trouble: LoreError | None = None
        removed = 0
        notes: tuple[str, ...] = tuple(note for report in reports for note in report.notes)
        try:
            check_complete(manifest, reports)
            gone = vanished(manifest, self._max_removed_share, force=force_removals)
            decision = decide(self._store, self._source.id, self._duplicates, gone=set(gone))
            remade = remake(
                self._store,
                self._source.id,
                self._preparer,
                EntryWriter(self._store, self._embedder),
                strategy=self._strategy,
                decision=decision,
                failed={failure.document_id for failure in failures},
                gone=set(gone),
            )
            removed = self._store.delete(self._source.id, gone) if gone else 0
            parts = (*reports, remade.report)
            written = sorted({name for part in parts for name in part.indexed}.difference(gone))
            notes = self._catch_up(written, last=True)
            self._store.optimize()
            verify(self._store, self._source.id, written)
        except LoreError as error:
            trouble = error
        told = (*failures, *remade.report.failures)
        problem = trouble or problem_of(manifest, told, self._store, self._max_failed_share)
        report = SyncReport.of(
            self._source.id,
            [*reports, remade.report],
            status="failed" if problem else "warning" if told else "ok",
            removed=removed,
            failures=told,
            seconds=seconds + time.monotonic() - started,
            reason=problem.message if problem else " ".join((reason_of(told), *notes)).strip(),
            duplicates=DuplicateReport.of(decision.winners, remade.hidden, remade.shown),
            spent=sum((report.spent for report in reports), Spent.on(self._usage[calls:])),
            resumed=manifest.resumed,
        )
        self._memory.remember(report, self._memory.reached(manifest, failures) if trouble is None else None)
        if trouble is None or not trouble.retryable:  # a retry of this step needs the manifest
            Staging(self._staging_uri, self._source.id, manifest.run_id).remove()
        if problem:
            raise problem
        return report


def _last_states(shard: str, manifest: Manifest) -> Iterator[Document]:
    """A shard's documents, each id once, without those of which another shard has a later state."""
    repeated = manifest.repeated or {}
    if not repeated:
        yield from Staging.documents(shard)
        return
    latest = {
        document.id: document for document in Staging.documents(shard) if repeated.get(document.id, shard) == shard
    }
    yield from latest.values()
