"""A sync from its parts, each by its own name, so that a test says only what matters to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from lore.ingest.options import DocumentSteps, SyncRules, SyncTarget
from lore.ingest.sync import Sync
from lore.protocols import Embedder, Source, Splitter, Store
from lore.types import Document

__all__ = ["make_sync"]


def make_sync(
    source: Source,
    store: Store,
    embedder: Embedder,
    splitter: Splitter,
    convert: Callable[[Document], Document] = lambda document: document,
    *,
    staging_uri: str,
    **options: Any,
) -> Sync:
    """Return the sync; `options` are fields of `SyncTarget`, `DocumentSteps` and `SyncRules`."""
    named = {kind: {f.name: options.pop(f.name) for f in fields(kind) if f.name in options} for kind in KINDS}
    assert not options, f"unknown options of a sync: {sorted(options)}"
    target = SyncTarget(store, embedder, **named[SyncTarget])
    steps = DocumentSteps(convert, splitter, **named[DocumentSteps])
    return Sync(source, target, steps, staging_uri=staging_uri, rules=SyncRules(**named[SyncRules]))


KINDS: tuple[type, ...] = (SyncTarget, DocumentSteps, SyncRules)
