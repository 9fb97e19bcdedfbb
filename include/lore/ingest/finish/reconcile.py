"""What ends a sync: what it may remove, whether the store holds what was written, and whether too much failed."""

from __future__ import annotations

import time
from collections.abc import Sequence

from lore.errors import LoreError, RemovalFloorError, SourceError, StoreError, SyncError
from lore.ingest.extract.staging import Manifest
from lore.ingest.report import ShardReport
from lore.protocols import Store
from lore.types import Failure

__all__ = ["check_complete", "named", "problem_of", "reason_of", "vanished", "verify"]

VERIFY_TRIES = 5
VERIFY_PAUSE_SECONDS = 0.3


def check_complete(manifest: Manifest, reports: Sequence[ShardReport]) -> None:
    """Raise SyncError for a run of which a part was skipped: the cursor would move past what was never indexed."""
    handled = sum(report.documents for report in reports)
    if handled != manifest.documents:
        raise SyncError(
            f"{manifest.documents} documents of {manifest.source_id} were staged and {handled} came to be indexed.",
            remedy="A part of the run was skipped or is missing: run the sync again.",
        )


def vanished(manifest: Manifest, max_removed_share: float, *, force: bool) -> list[str]:
    """The ids that the source has no more. Raises RemovalFloorError when an outage is likelier than a clean-up."""
    held = set(manifest.held)
    gone = set(manifest.deleted) & held
    if manifest.existing is not None:
        gone |= held.difference(manifest.existing)
    if not force and len(gone) > max_removed_share * len(held):
        raise RemovalFloorError(
            f"{manifest.source_id} would lose {len(gone)} of its {len(held)} documents, more than the share of "
            f"{max_removed_share:g} that may go in one sync; nothing was removed.",
            remedy="If they are really gone, run `lore sync --force-removals "
            f"{manifest.source_id}`; otherwise look at the source.",
        )
    return sorted(gone)


def verify(store: Store, source_id: str, written: Sequence[str]) -> None:
    """Read back: what was written is there, and every document has the chunks that it says it has. Else StoreError."""
    for attempt in range(VERIFY_TRIES):
        counts = store.count(source_id)
        held = store.fingerprints(source_id, ids=written)
        missing = [document_id for document_id in written if not held.get(document_id)]
        if not missing and counts.chunks == counts.recorded_chunks:
            return
        if attempt + 1 < VERIFY_TRIES:  # another sync of the same source may be in the middle of a write
            time.sleep(VERIFY_PAUSE_SECONDS)
    raise StoreError(
        f"The store does not hold what was written for {source_id}: {len(missing)} documents are missing or "
        f"unfinished, and it has {counts.chunks} chunks where its documents record {counts.recorded_chunks}.",
        remedy=f"Run `lore sync {source_id}` again. If that does not help, the index is damaged: "
        "`lore index build --new` makes another version of what is kept, to be promoted.",
        retryable=True,
    )


def problem_of(
    manifest: Manifest, failures: Sequence[Failure], store: Store, max_failed_share: float
) -> LoreError | None:
    """Why a run that did all its steps failed all the same: the source stopped early, or too many documents failed."""
    if manifest.interrupted:
        return SourceError(
            f"{manifest.source_id} was not read to its end: {manifest.interrupted}",
            remedy="What came before is indexed; the next sync goes on from there.",
        )
    if not failures:
        return None  # counting may cost a server a look at every passage
    total = store.count(manifest.source_id).documents + len(failures)
    if len(failures) > max_failed_share * total:
        return SyncError(
            f"{len(failures)} of {total} documents of {manifest.source_id} failed, more than the share of "
            f"{max_failed_share:g} that may fail. {reason_of(failures)}",
            remedy="The others are indexed, and the failed ones are tried again by the next sync.",
        )
    return None


def reason_of(failures: Sequence[Failure]) -> str:
    """The first failures in a sentence, "" for none."""
    shown = "; ".join(map(named, failures[:3]))
    more = f"; and {len(failures) - 3} more" if len(failures) > 3 else ""
    return f"Failed: {shown.rstrip('.')}{more}." if failures else ""


def named(failure: Failure) -> str:
    """A failure as a person reads it: the document and the reason, which mostly names the document itself."""
    name, reason = failure.document_id, failure.reason
    return reason if reason.startswith((f"{name}:", f"{name} ")) else f"{name}: {reason}"
