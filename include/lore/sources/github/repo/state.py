"""The cursor of a repository: its commit, its documents, and the commit at which each file first appeared.

An unchanged file keeps that commit in its addresses, so these are permanent, and a push changes only changed files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Self

from lore.sources.cursors import pack, unpack
from lore.types import Cursor

__all__ = ["COMMIT", "RepositoryState", "SeenFile", "text_digest"]

COMMIT = re.compile(r"[0-9a-f]{40,64}")

MAX_PACKED_FILES = 8_000_000
"""Characters for the files in a cursor, at about twenty for each."""


def text_digest(made: str | bytes) -> str:
    """Return twelve characters that identify a document's text."""
    return sha256(made.encode() if isinstance(made, str) else made).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A digest of a file's text, and the commit at which it first appeared."""

    digest: str
    commit: str


@dataclass(frozen=True, slots=True)
class RepositoryState:
    """The commit read, the selection's digest, and the ids without the source's own; None if too many.

    `files` are those with documents, by URL-encoded path. `branch` identifies the repository's branch or tag.
    """

    commit: str
    selection: str
    ids: Sequence[str] | None
    branch: str
    files: Mapping[str, SeenFile]

    def unread(self) -> Self:
        """Return the state that makes the next run read everything, though no file has changed."""
        return replace(self, commit="")

    def to_cursor(self) -> Cursor:
        """Return the cursor."""
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
        """Read a cursor; None, as without one, if it is invalid."""
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
    """Pack the commits, each once, an empty line, and each file with its commit's number."""
    commits = sorted({file.commit for file in files.values()})
    numbers = {commit: number for number, commit in enumerate(commits)}
    lines = (f"{file.digest} {numbers[file.commit]} {path}" for path, file in sorted(files.items()))
    return pack([*commits, "", *lines], MAX_PACKED_FILES)


def _unpack_files(packed: str) -> dict[str, SeenFile]:
    """Unpack files. Raises ValueError or IndexError for invalid text."""
    lines = unpack(packed) or [""]
    end = lines.index("")
    commits = lines[:end]
    if not all(map(COMMIT.fullmatch, commits)):
        raise ValueError("it doesn't name commits")
    parts = (line.split(" ", 2) for line in lines[end + 1 :])
    return {path: SeenFile(digest, commits[int(number)]) for digest, number, path in parts}
