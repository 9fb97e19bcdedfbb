"""What the cursors of sources have in common: what the declaration chose, and the error for one that is broken."""

from __future__ import annotations

from hashlib import sha256

from lore.errors import SourceError

__all__ = ["NON_SELECTING_KEYS", "invalid_cursor", "selection_digest"]

NON_SELECTING_KEYS = frozenset(
    {
        "title",
        "description",
        "schedule",
        "owner",
        "tags",
        "strategy",
        "duplicates",
        "max_failed_share",
        "max_removed_share",
    }
)
"""Keys of any declaration that do not choose what is read."""


def selection_digest(chosen: str) -> str:
    """Twelve characters that tell what was chosen from all else; a cursor of another choice is not gone on from."""
    return sha256(chosen.encode()).hexdigest()[:12]


def invalid_cursor(source_id: str) -> SourceError:
    """The error for a stored cursor that the source did not write."""
    return SourceError(f"The stored cursor of {source_id} cannot be read.", remedy="Sync the source from its start.")
