"""Documents written again at the end of a sync, from what is kept: no source is read, nothing is converted."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, field

from lore.ingest.finish.duplicates import DuplicateDecision
from lore.ingest.finish.visibility import is_hidden
from lore.ingest.report import ShardReport
from lore.ingest.strategies.strategy import strategy_of, with_strategy
from lore.ingest.write.prepare import DocumentPreparer, PreparedDocument
from lore.ingest.write.writer import EntryWriter
from lore.protocols import Store
from lore.types import Failure

__all__ = ["ReindexResult", "reindex"]


@dataclass(frozen=True, slots=True)
class ReindexResult:
    """Report on the documents written again; `hidden` and `shown` are those whose visibility changed."""

    report: ShardReport = field(default_factory=ShardReport)
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


def reindex(
    store: Store,
    source_id: str,
    preparer: DocumentPreparer,
    writer: EntryWriter,
    *,
    strategy: str,
    decision: DuplicateDecision,
    failed: Collection[str] = (),
    gone: Collection[str] = (),
) -> ReindexResult:
    """Write documents whose passages another strategy made, whose write was cut off, or whose visibility changes.

    Documents that are `gone` are left out, and so are those that `failed` in this run, unless their visibility changes.
    Documents shown again are written first, so that no page is missing in between. Nothing is hidden behind a document
    whose passages couldn't be made.
    """
    started = time.monotonic()
    kept, indexed = store.document_fingerprints(source_id), store.fingerprints(source_id)
    fingerprints: dict[str, str] = {}
    stale: set[str] = set()
    for document_id, before in kept.items():
        wanted = decision.apply_to(document_id, with_strategy(before, strategy))
        if document_id in gone or (document_id in failed and is_hidden(wanted) == is_hidden(before)):
            continue
        written = indexed.get(document_id)
        if not written or {strategy_of(written), strategy_of(before)} != {strategy}:
            stale.add(document_id)
        if document_id in stale or wanted != before or decision.changes_metadata(document_id):
            fingerprints[document_id] = wanted
    failures: dict[str, Failure] = {}
    for hiding in (False, True):
        ids = [document_id for document_id, wanted in fingerprints.items() if is_hidden(wanted) == hiding]
        for document in store.documents(ids=ids) if ids else ():
            if hiding and decision.originals[document.id] in failures:
                continue
            document = decision.with_metadata(document, was_hidden=is_hidden(kept[document.id]))
            prepared = PreparedDocument(document, ()) if hiding else preparer.split(document)
            if isinstance(prepared, PreparedDocument):
                writer.add(prepared.document, fingerprints[document.id], prepared.chunks)
            else:
                failures[document.id] = prepared
        writer.flush()
    done = tuple(dict.fromkeys(writer.written))
    report = ShardReport(
        indexed=done,
        changed=len(stale.intersection(done)),
        failures=tuple(failures.values()),
        chunks=writer.chunks,
        embedding_calls=writer.embedding_calls,
        embedded_texts=writer.embedded_texts,
        seconds=time.monotonic() - started,
    )
    turned = [
        document_id for document_id in done if is_hidden(fingerprints[document_id]) != is_hidden(kept[document_id])
    ]
    return ReindexResult(
        report,
        hidden=tuple(document_id for document_id in turned if is_hidden(fingerprints[document_id])),
        shown=tuple(document_id for document_id in turned if not is_hidden(fingerprints[document_id])),
    )
