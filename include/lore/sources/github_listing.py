"""What a source gave, packed into its cursor: while nothing changed there, nothing has to be asked."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from include.lore.types import Cursor

__all__ = ["RepositoryState", "pack", "unpack"]

MAX_UNPACKED = 64 * 1024 * 1024
MAX_PACKED = 2_000_000
"""A longer list is left out of the cursor, which is stored with the index; it is asked for when it is needed."""


def pack(lines: Sequence[str] | None) -> str:
    """The lines as one short text; "" for None and for what stays too long."""
    if lines is None:
        return ""
    packed = base64.b85encode(zlib.compress("\n".join(lines).encode(), 9)).decode("ascii")
    return packed if len(packed) <= MAX_PACKED else ""


def unpack(packed: str) -> list[str] | None:
    """The lines again; None for "". Raises ValueError for what was not packed here."""
    if not packed:
        return None
    unzip = zlib.decompressobj()
    try:
        text = unzip.decompress(base64.b85decode(packed), MAX_UNPACKED).decode()
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unzip.eof:
        raise ValueError("it is cut or too long")
    return text.split("\n")


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """What was read: the commit, what the declaration chose, and the ids without the source's own; None: too many."""

    commit: str
    selection: str
    ids: Sequence[str] | None

    def to_cursor(self) -> Cursor:
        """The cursor."""
        return json.dumps({"commit": self.commit, "selection": self.selection, "ids": pack(self.ids)})

    @classmethod
    def from_cursor(cls, cursor: Cursor) -> Self | None:
        """The state; None for a cursor that cannot be read, as if there were none."""
        try:
            values = json.loads(cursor)
            commit, selection = str(values["commit"]), str(values["selection"])
            return cls(commit, selection, unpack(values["ids"]))
        except (ValueError, KeyError, TypeError):
            return None
