"""What a source gave, packed into its cursor: while nothing changed there, nothing has to be asked.

For a repository that is, too, at which commit each of its files was first seen as it is. A file that stays as it was
keeps that commit in its addresses, so that they are permanent and a push changes only what it changed.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Self

from lore.types import Cursor

__all__ = ["COMMIT", "RepositoryState", "SeenFile", "digest_of", "pack", "unpack"]

COMMIT = re.compile(r"[0-9a-f]{40,64}")

MAX_UNPACKED = 64 * 1024 * 1024
MAX_PACKED = 2_000_000
"""A longer list is left out of the cursor, which is stored with the index; it is asked for when it is needed."""
MAX_PACKED_FILES = 8_000_000
"""For the files that were seen, of which each takes some twenty bytes."""


def pack(lines: Sequence[str] | None, limit: int = MAX_PACKED) -> str:
    """The lines as one short text; "" for None and for what stays longer than `limit` characters."""
    if lines is None:
        return ""
    packed = base64.b85encode(zlib.compress("\n".join(lines).encode(), 9)).decode("ascii")
    return packed if len(packed) <= limit else ""


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


def digest_of(made: str | bytes) -> str:
    """Twelve characters that tell what is made of a file from what was made of it before."""
    return sha256(made.encode() if isinstance(made, str) else made).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class SeenFile:
    """The digest of what was made of a file, and the commit at which that was first seen."""

    digest: str
    commit: str


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """What was read: the commit, what the declaration chose, and the ids without the source's own; None: too many.

    `files` has the files that documents were made of, by their paths as they stand in URLs. They were seen on
    `branch`, which tells a repository's branch or tag from all others.
    """

    commit: str
    selection: str
    ids: Sequence[str] | None
    branch: str
    files: Mapping[str, SeenFile]

    def unread(self) -> Self:
        """The state from which all is read again, though no file has changed."""
        return replace(self, commit="")

    def to_cursor(self) -> Cursor:
        """The cursor."""
        return json.dumps(
            {
                "commit": self.commit,
                "selection": self.selection,
                "ids": pack(self.ids),
                "branch": self.branch,
                "files": _pack_files(self.files),
            }
        )

    @classmethod
    def from_cursor(cls, cursor: Cursor) -> Self | None:
        """The state; None for a cursor that cannot be read, as if there were none."""
        try:
            values = json.loads(cursor)
            return cls(
                str(values["commit"]),
                str(values["selection"]),
                unpack(values["ids"]),
                str(values["branch"]),
                _unpack_files(values["files"]),
            )
        except (ValueError, LookupError, TypeError):
            return None


def _pack_files(files: Mapping[str, SeenFile]) -> str:
    """The commits, each once, an empty line, and each file with its commit's number."""
    commits = sorted({file.commit for file in files.values()})
    numbers = {commit: number for number, commit in enumerate(commits)}
    lines = (f"{file.digest} {numbers[file.commit]} {path}" for path, file in sorted(files.items()))
    return pack([*commits, "", *lines], MAX_PACKED_FILES)


def _unpack_files(packed: str) -> dict[str, SeenFile]:
    """Raises ValueError or IndexError for what was not packed here."""
    lines = unpack(packed) or [""]
    end = lines.index("")
    commits = lines[:end]
    if not all(map(COMMIT.fullmatch, commits)):
        raise ValueError("it names something else than commits")
    parts = (line.split(" ", 2) for line in lines[end + 1 :])
    return {path: SeenFile(digest, commits[int(number)]) for digest, number, path in parts}
