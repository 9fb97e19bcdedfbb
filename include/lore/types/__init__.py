"""Frozen values that travel along the two journeys: `index` has those of ingestion, `answers` those of a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lore.types.answers import (
    Answer,
    CandidateRank,
    Check,
    Citation,
    Filters,
    Hit,
    Message,
    Plan,
    Question,
    Reranking,
    Trace,
    Usage,
)
from lore.types.index import (
    PUBLIC,
    Batch,
    Chunk,
    Counts,
    Cursor,
    Document,
    DocumentInfo,
    EmbeddedDocument,
    Failure,
    IndexSummary,
    IndexVersion,
    Recipe,
    SourceState,
    Strategy,
)

if TYPE_CHECKING:  # numpy takes 60 ms to import, and these are annotations only
    from lore.types.index import Matrix as Matrix
    from lore.types.index import Vector as Vector

__all__ = [
    "PUBLIC",
    "Answer",
    "Batch",
    "CandidateRank",
    "Check",
    "Chunk",
    "Citation",
    "Counts",
    "Cursor",
    "Document",
    "DocumentInfo",
    "EmbeddedDocument",
    "Failure",
    "Filters",
    "Hit",
    "IndexSummary",
    "IndexVersion",
    "Message",
    "Plan",
    "Question",
    "Recipe",
    "Reranking",
    "SourceState",
    "Strategy",
    "Trace",
    "Usage",
]
