"""The end of a sync: deleted documents, the check of what was written, and the failures that fail the whole run."""

from __future__ import annotations

import time
from collections.abc import Sequence

from lore.errors import LoreError, RemovalFloorError, SourceError, StoreError, SyncError
from lore.ingest.extract.staging import ExtractionManifest
from lore.ingest.report import ShardReport
from lore.protocols import Store
from lore.types import Failure

__all__ = ["check_complete", "describe_failure", "describe_failures", "removed_ids", "run_error", "verify"]

VERIFY_TRIES = 5
VERIFY_PAUSE_SECONDS = 0.3


def check_complete(manifest: ExtractionManifest, reports: Sequence[ShardReport]) -> None:
    """Raise SyncError if a shard was skipped: the cursor would move past documents that were never indexed."""
    handled = sum(report.documents for report in reports)
    if handled != manifest.documents:
        raise SyncError(
            f"{manifest.documents} documents of {manifest.source_id} were staged, but {handled} were indexed.",
            remedy="A part of the run was skipped or is missing: run the sync again.",
        )


def removed_ids(manifest: ExtractionManifest, max_removed_share: float, *, force: bool) -> list[str]:
    """Return the ids that the source no longer has.

    Raises RemovalFloorError if they are more than that share: an outage is then likelier than a clean-up.
    """
    held = set(manifest.held)
    gone = set(manifest.deleted) & held
    if manifest.existing is not None:
        gone |= held.difference(manifest.existing)
    if not force and len(gone) > max_removed_share * len(held):
        raise RemovalFloorError(
            f"{manifest.source_id} would lose {len(gone)} of its {len(held)} documents, more than the allowed share of "
            f"{max_removed_share:g}. Nothing was changed.",
            remedy="If they are really gone, run `lore sync --force-removals "
            f"{manifest.source_id}`; otherwise check the source.",
        )
    return sorted(gone)


def verify(store: Store, source_id: str, written: Sequence[str]) -> None:
    """Raise StoreError if a written document is missing, or if the chunks don't add up to what documents record."""
    for attempt in range(VERIFY_TRIES):
        counts = store.count(source_id)
        held = store.fingerprints(source_id, ids=written)
        missing = [document_id for document_id in written if not held.get(document_id)]
        if not missing and counts.chunks == counts.recorded_chunks:
            return
        if attempt + 1 < VERIFY_TRIES:  # another sync of the same source may be in the middle of a write
            time.sleep(VERIFY_PAUSE_SECONDS)
    raise StoreError(
        f"The index doesn't hold what was written for {source_id}: {len(missing)} documents are missing or incomplete, "
        f"and it has {counts.chunks} chunks where its documents record {counts.recorded_chunks}.",
        remedy=f"Run `lore sync {source_id}` again. If that doesn't help, the index is damaged: run "
        "`lore index build --new` to make another version from the kept documents, and promote it.",
        retryable=True,
    )


def run_error(
    manifest: ExtractionManifest, failures: Sequence[Failure], store: Store, max_failed_share: float
) -> LoreError | None:
    """Return the error of a run that completed all steps and failed nevertheless, or None.

    Either the source stopped early, or too many documents failed.
    """
    if manifest.interrupted:
        return SourceError(
            f"Couldn't read {manifest.source_id} to its end: {manifest.interrupted}",
            remedy="What came before is indexed; the next sync continues from there.",
        )
    if not failures:
        return None  # counting may make a server look at every passage
    total = store.count(manifest.source_id).documents + len(failures)
    if len(failures) > max_failed_share * total:
        return SyncError(
            f"{len(failures)} of {total} documents of {manifest.source_id} failed, more than the allowed share of "
            f"{max_failed_share:g}. {describe_failures(failures)}",
            remedy="The others are indexed; the next sync tries the failed ones again.",
        )
    return None


def describe_failures(failures: Sequence[Failure]) -> str:
    """Return the first three failures in a sentence, "" for none."""
    shown = "; ".join(map(describe_failure, failures[:3]))
    more = f"; and {len(failures) - 3} more" if len(failures) > 3 else ""
    return f"Failed: {shown.rstrip('.')}{more}." if failures else ""


def describe_failure(failure: Failure) -> str:
    """Return the document and the reason, which often names the document itself."""
    name, reason = failure.document_id, failure.reason
    return reason if reason.startswith((f"{name}:", f"{name} ")) else f"{name}: {reason}"
