"""Values that a sync is made of: its target, the steps that a document goes through, and the source's rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lore.errors import LoreError
from lore.ingest.leases import NoLeases, SourceLeases
from lore.ingest.strategies.strategy import SummarySplitter
from lore.ingest.versions import VersionBuilder
from lore.protocols import Embedder, Splitter, Store
from lore.redact.redactor import Redactor
from lore.types import Document, Usage

if TYPE_CHECKING:
    from lore.declarations import Duplicates

__all__ = ["DocumentSteps", "SyncRules", "SyncTarget"]


@dataclass(frozen=True, slots=True)
class SyncTarget:
    """The index that a sync writes.

    `versions` returns the builders of all versions of the index, each or the reason why there is none. It is called
    anew each time, so that a version made in the middle of a sync gets its documents before the cursor moves. `leases`
    keep two runs of a source apart.
    """

    store: Store
    embedder: Embedder
    versions: Callable[[], Sequence[VersionBuilder | LoreError]] = tuple
    leases: SourceLeases = field(default_factory=NoLeases)


@dataclass(frozen=True, slots=True)
class DocumentSteps:
    """The way from a source's document to passages: conversion, redaction and splitting.

    `redactor` goes over everything before it is staged, and again over converted text. `strategy` makes the passages
    where the source declares another strategy than the version's own splitter. `usage` grows by each call of a language
    model for summaries.
    """

    convert: Callable[[Document], Document]
    splitter: Splitter
    redactor: Redactor = field(default_factory=Redactor)
    strategy: SummarySplitter | None = None
    usage: Sequence[Usage] = ()


@dataclass(frozen=True, slots=True)
class SyncRules:
    """The declaration's rules for a source. `duplicates` None shows every page.

    `selection` identifies what the declaration selects: an interrupted run of another selection isn't resumed.
    """

    max_failed_share: float = 0.05
    max_removed_share: float = 0.5
    duplicates: Duplicates | None = None
    selection: str = ""
