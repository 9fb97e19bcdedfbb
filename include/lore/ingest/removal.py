"""Removal of a source from the index: its documents in every version, its state, and its staged files."""

from __future__ import annotations

from uuid import uuid4

from lore.ingest.extract.staging import remove_staged, source_lock
from lore.ingest.leases import SourceLeases
from lore.protocols import Store

__all__ = ["remove_source"]


def remove_source(store: Store, source_id: str, *, staging_uri: str, leases: SourceLeases) -> int:
    """Remove a source and return how many documents it had; waits for a running sync of the source.

    The state goes last, so that a removal that was cut off can be repeated. Raises StoreError.
    """
    with (
        source_lock(staging_uri, source_id),
        leases.begin(source_id, f"removal-{uuid4().hex}", ends=True, on_wait=lambda: None),
    ):
        ids = list({**store.document_fingerprints(source_id), **store.fingerprints(source_id)})
        removed = store.delete(source_id, ids)
        store.optimize()
        store.remove_state(source_id)
        remove_staged(staging_uri, source_id)
    return removed
