"""The ids of all that a repository gave, packed into a cursor: while its commit stays, nothing has to be asked."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from include.lore.types import Cursor

__all__ = ["RepositoryState"]

MAX_UNPACKED = 64 * 1024 * 1024
MAX_PACKED = 2_000_000
"""A longer list is left out of the cursor, which is stored with the index; it is asked for when it is needed."""


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """What was read: the commit, what the declaration chose, and the ids without the source's own; None: too many."""

    commit: str
    selection: str
    ids: Sequence[str] | None

    def to_cursor(self) -> Cursor:
        """The cursor."""
        packed = ""
        if self.ids is not None:
            packed = base64.b85encode(zlib.compress("\n".join(self.ids).encode(), 9)).decode("ascii")
        return json.dumps(
            {"commit": self.commit, "selection": self.selection, "ids": packed if len(packed) <= MAX_PACKED else ""}
        )

    @classmethod
    def from_cursor(cls, cursor: Cursor) -> Self | None:
        """The state; None for a cursor that cannot be read, as if there were none."""
        try:
            values = json.loads(cursor)
            commit, selection, packed = values["commit"], values["selection"], values["ids"]
            unzip = zlib.decompressobj()
            text = unzip.decompress(base64.b85decode(packed), MAX_UNPACKED) if packed else b""
            ids = text.decode().split("\n") if packed and unzip.eof else None
        except (ValueError, KeyError, TypeError, zlib.error):
            return None
        return cls(commit, selection, ids) if isinstance(commit, str) and isinstance(selection, str) else None
