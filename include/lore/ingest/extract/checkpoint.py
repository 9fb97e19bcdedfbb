"""How far a run has read its source, kept beside its shards, so that a run after a kill goes on from there.

A source's cursor says where to go on once all before it is indexed. With what came before it in files that are whole,
it is as good before that: the files are taken over, and the source is read from the cursor.
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
from lore.ingest.extract.staging import ShardWriter, Staging, load_json, writing
from lore.types import Cursor, Failure

__all__ = ["Checkpoint", "Checkpoints", "origin_of"]

RESUME_SECONDS = 3 * 24 * 3600
"""What was read longer ago is read again: over a weekend a run may wait for a person."""
FILE = re.compile(r"(?:shard|piece)-[0-9-]{1,40}\.jsonl\.gz")
"""The names of what lies beside a checkpoint; it can point to nothing else."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Everything up to `cursor` is in `files`, in order, but for `deleted`.

    `origin` tells what was read, and from where, from all else. `begun` is when the reading began, in seconds since the
    epoch, also if it was cut since.
    """

    origin: str
    cursor: Cursor
    files: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    begun: float = 0.0
    number: int = 0


def origin_of(source_id: str, since: Cursor | None, recipe: str, declared: str, synced_at: datetime | None) -> str:
    """What must be equal for one run to go on from where another was cut: the source, the start, how documents are
    made, what the declaration says, and that no sync of the source came to an end in between.
    """
    values = (source_id, since, recipe, declared, synced_at.isoformat() if synced_at else None)
    return sha256(json.dumps(values).encode()).hexdigest()


class Checkpoints:
    """Those of one try, and those that killed tries of the same source left."""

    def __init__(self, staging: Staging, origin: str) -> None:
        self._staging = staging
        self._origin = origin
        self._begun = time.time()
        self._number = 0

    def save(self, writer: ShardWriter, cursor: Cursor, deleted: Sequence[str], failures: Sequence[Failure]) -> None:
        """Keep what was read until now. Two files take turns, so that a kill in between leaves the one before."""
        files = writer.files()
        checkpoint = Checkpoint(
            origin=self._origin,
            cursor=cursor,
            files=tuple(UPath(file).name for file in files),
            deleted=tuple(deleted),
            failures=tuple(failures),
            begun=self._begun,
            number=self._number,
        )
        path = self._staging.folder / f"progress-{self._number % 2}.json"
        with writing(path):
            path.write_text(json.dumps(asdict(checkpoint)), encoding="utf-8")
        self._number += 1

    def take_over(self) -> tuple[ShardWriter, Checkpoint | None]:
        """A writer with what the furthest killed run had read, and its checkpoint; or an empty one and None.

        What other killed runs left, and cannot be gone on from, is removed once there is no use for it.
        """
        for folder, checkpoint in self._candidates():
            writer = ShardWriter(self._staging)
            try:
                for name in checkpoint.files:
                    for document in Staging.documents(str(folder / name)):
                        writer.add(document)
            except StoreError:  # cut off, or removed by now: the cursor is beyond what there is
                continue
            for document_id in checkpoint.deleted:
                writer.drop(document_id)
            self._begun = checkpoint.begun
            self.save(writer, checkpoint.cursor, checkpoint.deleted, checkpoint.failures)
            self._staging.clear()
            return writer, checkpoint
        self._staging.clear()
        return ShardWriter(self._staging), None

    def _candidates(self) -> list[tuple[UPath, Checkpoint]]:
        """What may be gone on from, the latest first."""
        found = [(folder, newest) for folder in self._staging.killed() if (newest := _newest(folder))]
        now = time.time()  # which may have been later by a wrong clock
        fitting = [one for one in found if one[1].origin == self._origin and abs(now - one[1].begun) <= RESUME_SECONDS]
        return sorted(fitting, key=lambda one: (one[1].begun, one[1].number), reverse=True)


def _newest(folder: UPath) -> Checkpoint | None:
    """The newest checkpoint of a try that is whole."""
    found: list[Checkpoint] = []
    for turn in (0, 1):
        with suppress(StoreError):
            found.append(load_json(str(folder / f"progress-{turn}.json"), _checkpoint))
    return max(found, key=lambda one: one.number, default=None)


def _checkpoint(values: dict[str, Any]) -> Checkpoint:
    """What a file says; raises ValueError, KeyError or TypeError for what this Lore does not write."""
    values["failures"] = tuple(Failure(**failure) for failure in values["failures"])
    values["files"], values["deleted"] = tuple(values["files"]), tuple(values["deleted"])
    checkpoint = Checkpoint(**values)
    texts = [checkpoint.origin, checkpoint.cursor, *checkpoint.files, *checkpoint.deleted]
    for failure in checkpoint.failures:
        texts += (failure.document_id, failure.reason)
    if not all(isinstance(text, str) for text in texts) or not all(map(FILE.fullmatch, checkpoint.files)):
        raise ValueError("another text or name of a file")
    return replace(checkpoint, begun=float(checkpoint.begun), number=int(checkpoint.number))
