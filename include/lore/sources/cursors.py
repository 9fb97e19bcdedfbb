"""Parts that cursors share: a digest of the selection, packed lists, and the error for an invalid cursor."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from hashlib import sha256

from lore.errors import SourceError

__all__ = ["NON_SELECTING_KEYS", "invalid_cursor", "pack", "selection_digest", "unpack"]

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
"""Keys of a declaration that don't select documents."""
MAX_UNPACKED = 64 * 1024 * 1024
MAX_PACKED = 2_000_000
"""Characters: the index stores the cursor, so a longer list is left out and requested when needed."""


def selection_digest(selection: str) -> str:
    """Return twelve characters that identify a selection; a cursor of another selection doesn't apply."""
    return sha256(selection.encode()).hexdigest()[:12]


def invalid_cursor(source_id: str) -> SourceError:
    """Return the error for a stored cursor that the source can't read."""
    return SourceError(f"The stored cursor of {source_id} is invalid.", remedy="Sync the source from its start.")


def pack(lines: Sequence[str] | None, limit: int = MAX_PACKED) -> str:
    """Compress lines to one text; "" for None and for more than `limit` characters."""
    if lines is None:
        return ""
    packed = base64.b85encode(zlib.compress("\n".join(lines).encode(), 9)).decode("ascii")
    return packed if len(packed) <= limit else ""


def unpack(packed: str) -> list[str] | None:
    """Return the lines that `pack` compressed; None for "". Raises ValueError for anything else."""
    if not packed:
        return None
    stream = zlib.decompressobj()
    try:
        text = stream.decompress(base64.b85decode(packed), MAX_UNPACKED).decode()
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not stream.eof:
        raise ValueError("the packed list is truncated or too long")
    return text.split("\n")
