"""Checkpoints of a run: how far it has read its source, so that another run resumes from there after a kill.

A cursor says where to continue once everything before it is indexed. It is as good as long as everything before it is
in complete files: the new run takes these over and reads the source from the cursor.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from upath import UPath

from lore.errors import StoreError
from lore.ingest.extract.staging import ShardWriter, Staging, load_json, staging_write
from lore.types import Cursor, Failure

__all__ = ["Checkpoint", "Checkpoints", "resume_key"]

RESUME_SECONDS = 3 * 24 * 3600
"""Age after which documents are read again; long enough for a run that fails before a weekend."""
FILE = re.compile(r"(?:shard|piece)-[0-9-]{1,40}\.jsonl\.gz")
"""Names of the files that a checkpoint may point to."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """State of a reading: everything up to `cursor` is in `files`, in order, except for `deleted`.

    `origin` is the run's `resume_key`. `begun` is when the reading began, in seconds since the epoch, also if it was
    interrupted since.
    """

    origin: str
    cursor: Cursor
    files: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    begun: float = 0.0
    number: int = 0


def resume_key(source_id: str, since: Cursor | None, recipe: str, selection: str, synced_at: datetime | None) -> str:
    """Return a digest that is equal for two runs if one may resume the other.

    It covers the source, the start, the making of documents, what the declaration selects, and the end of the last
    sync.
    """
    values = (source_id, since, recipe, selection, synced_at.isoformat() if synced_at else None)
    return sha256(json.dumps(values).encode()).hexdigest()


class Checkpoints:
    """The checkpoints of one attempt, and those of abandoned attempts of the same source."""

    def __init__(self, staging: Staging, key: str) -> None:
        self._staging = staging
        self._key = key
        self._begun = time.time()
        self._number = 0

    def save(self, writer: ShardWriter, cursor: Cursor, deleted: Sequence[str], failures: Sequence[Failure]) -> None:
        """Save the state of the reading. Two files take turns, so that a kill leaves the one before."""
        files = writer.files()
        checkpoint = Checkpoint(
            origin=self._key,
            cursor=cursor,
            files=tuple(UPath(file).name for file in files),
            deleted=tuple(deleted),
            failures=tuple(failures),
            begun=self._begun,
            number=self._number,
        )
        path = self._staging.folder / f"progress-{self._number % 2}.json"
        with staging_write(path):
            path.write_text(json.dumps(asdict(checkpoint)), encoding="utf-8")
        self._number += 1

    def resume(self) -> tuple[ShardWriter, Checkpoint | None]:
        """Return a writer with what the furthest abandoned attempt had read, and its checkpoint.

        Without such an attempt, return an empty writer and None. The files of abandoned attempts are removed.
        """
        for folder, checkpoint in self._candidates():
            writer = ShardWriter(self._staging)
            try:
                for name in checkpoint.files:
                    for document in Staging.documents(str(folder / name)):
                        writer.add(document)
            except StoreError:  # incomplete, or removed by now: the cursor is beyond the documents
                continue
            for document_id in checkpoint.deleted:
                writer.drop(document_id)
            self._begun = checkpoint.begun
            self.save(writer, checkpoint.cursor, checkpoint.deleted, checkpoint.failures)
            self._staging.remove_abandoned()
            return writer, checkpoint
        self._staging.remove_abandoned()
        return ShardWriter(self._staging), None

    def _candidates(self) -> list[tuple[UPath, Checkpoint]]:
        """Return the attempts that can be resumed, the latest first."""
        found = [(folder, newest) for folder in self._staging.abandoned() if (newest := _newest(folder))]
        now = time.time()  # a wrong clock may have been ahead of it
        matching = [one for one in found if one[1].origin == self._key and abs(now - one[1].begun) <= RESUME_SECONDS]
        return sorted(matching, key=lambda one: (one[1].begun, one[1].number), reverse=True)


def _newest(folder: UPath) -> Checkpoint | None:
    """Return the newest complete checkpoint of an attempt."""
    found: list[Checkpoint] = []
    for turn in (0, 1):
        with suppress(StoreError):
            found.append(load_json(str(folder / f"progress-{turn}.json"), _checkpoint))
    return max(found, key=lambda one: one.number, default=None)


def _checkpoint(values: dict[str, Any]) -> Checkpoint:
    """Parse a checkpoint. Raises ValueError, KeyError or TypeError for invalid values."""
    values["failures"] = tuple(Failure(**failure) for failure in values["failures"])
    values["files"], values["deleted"] = tuple(values["files"]), tuple(values["deleted"])
    checkpoint = Checkpoint(**values)
    texts = [checkpoint.origin, checkpoint.cursor, *checkpoint.files, *checkpoint.deleted]
    for failure in checkpoint.failures:
        texts += (failure.document_id, failure.reason)
    if not all(isinstance(text, str) for text in texts) or not all(map(FILE.fullmatch, checkpoint.files)):
        raise ValueError("invalid text or file name")
    return replace(checkpoint, begun=float(checkpoint.begun), number=int(checkpoint.number))
