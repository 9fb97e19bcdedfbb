"""The staging area: what a source gave, in compressed shards, so that indexing can spread over workers.

    <staging>/<source id>/<run id>/<attempt>/shard-00000.jsonl.gz …   documents as the source has them, a line each
                                             manifest.json            written last: what the run read, and up to where

Airflow hands paths from task to task, never documents. Any fsspec location will do (a folder, s3://…, gs://…). Beside
the shards lies what a run needs that goes on after a kill (`checkpoint.py`).
"""

from __future__ import annotations

import base64
import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TypeVar, cast
from uuid import uuid4

from upath import UPath

from lore.errors import ConfigurationError, StoreError
from lore.types import Cursor, Document, Failure

__all__ = ["Manifest", "ShardWriter", "Staging", "alone", "load_json", "writing"]

SHARD_DOCUMENTS = 256
SHARD_CHARACTERS = 8_000_000
LONGEST_NAME = 200
STALE_SECONDS = 7 * 24 * 3600
MANIFEST = "manifest.json"
WHOLE_RUN = "whole-run"
ATTEMPT = "try-"
MALFORMED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What reading JSON raises that is none, that is nested without end, or that has other values than it should."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What one extraction found. `existing` is None when the source could not say what exists now.

    `held` are the ids that the index held, or an earlier try had read, before the source was read: only these can be
    removed by this run. `repeated` maps an id that came more than once to the shard that has its last state, "" for one
    that was deleted after it came.
    `interrupted` says why the source stopped early, in which case nothing is removed. `resumed` of the documents were
    staged by a run that was cut off.
    """

    source_id: str
    run_id: str
    shards: tuple[str, ...]
    cursor: Cursor | None
    held: tuple[str, ...]
    existing: tuple[str, ...] | None
    deleted: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    repeated: Mapping[str, str] | None = None
    interrupted: str = ""
    documents: int = 0
    resumed: int = 0
    seconds: float = 0.0


@contextmanager
def alone(location: str, source_id: str, *, waits: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Let one sync of a source go on at a time on a machine; across machines Airflow's `max_active_runs` sees to it.

    `waits` is called once where another one has to end first.
    """
    if "://" in location:
        yield
        return
    from filelock import FileLock, Timeout

    folder = Path(location)
    with _writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{source_id}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            waits()
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _writable(folder: object) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, ImportError) as error:  # the last two: no such protocol, or not without a package
        raise ConfigurationError(
            f"The staging area {folder} cannot be written: {getattr(error, 'strerror', None) or error}.",
            remedy="Set LORE_STAGING_URI to a place that can be written.",
        ) from None


@contextmanager
def writing(path: object) -> Iterator[None]:
    """For what is written once the folder is there, which can be full, or far away: raises StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The staged file {path} cannot be written: {error.strerror or error}.",
            remedy="Free space there, or set LORE_STAGING_URI to another place, and run the sync again.",
            retryable=True,
        ) from None


class Staging:
    """One try of one run. `location` is the staging area itself; `folder` is the try's own, so that one that was killed
    and its repetition do not meet in a file.
    """

    def __init__(self, location: str, source_id: str, run_id: str) -> None:
        plain = (letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "-" for letter in run_id)
        with _writable(location):
            self._source = UPath(location) / source_id
            self._run = self._source / ("".join(plain).strip(".")[:LONGEST_NAME] or "run")
            self.folder = self._run / f"{ATTEMPT}{uuid4().hex[:12]}"
        self._locked = "://" not in location  # see `alone`

    def start(self, *, whole_run: bool) -> None:
        """Make the folder; `whole_run`: of a run whose steps are all in this process."""
        with _writable(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            if whole_run:
                (self.folder / WHOLE_RUN).write_text("")
        self._sweep()

    def remove(self) -> None:
        """Take the run's folder away, with all tries; nothing happens when it is not there."""
        _remove(self._run)

    def killed(self) -> list[UPath]:
        """The folders of earlier tries of this run, and of tries of other runs that nobody goes on with: they have no
        manifest, from which steps in other processes would go on, or were to do these steps themselves.
        """
        found: list[UPath] = []
        with suppress(OSError):  # others may be tidying up, and an object store may have no folders
            for run in self._source.iterdir():
                tries = [path for path in run.iterdir() if path.name.startswith(ATTEMPT)] if run.is_dir() else []
                for folder in tries:
                    dead = not (folder / MANIFEST).exists() or (folder / WHOLE_RUN).exists()
                    if folder != self.folder and (dead or run == self._run):
                        found.append(folder)
        return found

    def clear(self) -> None:
        """Remove what killed tries left: of this run; and of others where `alone` has seen to it that none is alive."""
        for folder in self.killed():
            if self._locked or folder.parent == self._run:
                _remove(folder)
                with suppress(OSError):
                    folder.parent.rmdir()  # of a run that had no other try

    def _sweep(self) -> None:
        """Take away what killed runs left, once it is too old to belong to a run that goes on."""
        limit = time.time() - STALE_SECONDS
        with suppress(OSError):
            for folder in self._source.iterdir():
                times = [path.stat().st_mtime for path in (folder, *folder.rglob("*"))] if folder.is_dir() else []
                if 0 < max(times, default=0) < limit:  # where a place does not tell times, they are 0
                    _remove(folder)

    def write(self, manifest: Manifest) -> str:
        """Write the manifest, last of all files, and return its path."""
        path = self.folder / MANIFEST
        with writing(path):
            path.write_text(json.dumps(asdict(manifest)), encoding="utf-8")
        return str(path)

    @staticmethod
    def read(path: str) -> Manifest:
        """The manifest at a path. Raises StoreError when it is gone, cut off, or of another Lore."""
        return load_json(path, _manifest)

    @staticmethod
    def manifest_of(shard: str) -> Manifest:
        """The manifest of the run that a shard belongs to."""
        return Staging.read(str(UPath(shard).parent / MANIFEST))

    @staticmethod
    def documents(shard: str) -> Iterator[Document]:
        """Stream a shard's documents."""
        try:
            with UPath(shard).open("rb") as raw, gzip.open(cast("IO[bytes]", raw), "rt", encoding="utf-8") as lines:
                line = ""
                for line in lines:
                    yield _decode(json.loads(line))
                if not line:
                    raise EOFError("a shard is never empty")
        except (OSError, EOFError, zlib.error, *MALFORMED) as error:
            raise _broken(shard, error) from None


class ShardWriter:
    """Writes documents into shards of a bounded size."""

    def __init__(self, staging: Staging) -> None:
        self._folder = staging.folder
        self._lines: list[str] = []
        self._characters = 0
        self._last: dict[str, str] = {}
        self._pieces: list[str] = []
        self._in_pieces = 0
        self.repeated: dict[str, str] = {}
        self.shards: list[str] = []

    @property
    def ids(self) -> set[str]:
        """The ids of everything written, but for what was dropped."""
        return set(self._last)

    def add(self, document: Document) -> None:
        """Add a document; a later one with the same id takes the place of an earlier one.

        Raises TypeError or ValueError, and adds nothing, when its metadata are no JSON.
        """
        line = json.dumps(_encode(document))
        shard = self._path()
        if document.id in self._last or document.id in self.repeated:
            self.repeated[document.id] = shard
        self._last[document.id] = shard
        self._lines.append(line)
        self._characters += len(line)
        if len(self._lines) >= SHARD_DOCUMENTS or self._characters >= SHARD_CHARACTERS:
            self.flush()

    def drop(self, document_id: str) -> None:
        """Take back a document that was added, if it was."""
        if self._last.pop(document_id, None):
            self.repeated[document_id] = ""

    def flush(self) -> None:
        """Write what is waiting."""
        if self._lines:
            _write_lines(self._path(), self._lines)
            self.shards.append(self._path())
            self._lines, self._characters = [], 0
            self._pieces, self._in_pieces = [], 0

    def files(self) -> tuple[str, ...]:
        """The files that hold all that was added until now, in order: the shards, and pieces of the one to come."""
        if fresh := self._lines[self._in_pieces :]:
            piece = str(self._folder / f"piece-{len(self.shards):05d}-{len(self._pieces):03d}.jsonl.gz")
            _write_lines(piece, fresh)
            self._pieces.append(piece)
            self._in_pieces = len(self._lines)
        return (*self.shards, *self._pieces)

    def _path(self) -> str:
        return str(self._folder / f"shard-{len(self.shards):05d}.jsonl.gz")


def _write_lines(path: str, lines: list[str]) -> None:
    data = gzip.compress("\n".join(lines).encode("ascii"), compresslevel=1)
    with writing(path):
        UPath(path).write_bytes(data)


def _remove(folder: UPath) -> None:
    """What cannot be removed is only in the way of nobody; `_sweep` tries again."""
    with suppress(OSError, ImportError):
        folder.fs.rm(folder.path, recursive=True)


def _encode(document: Document) -> dict[str, Any]:
    values = asdict(replace(document, data=None))
    values["updated_at"] = document.updated_at.isoformat() if document.updated_at else None
    values["data"] = None if document.data is None else base64.b64encode(document.data).decode("ascii")
    return values


def _decode(values: dict[str, Any]) -> Document:
    values["updated_at"] = datetime.fromisoformat(values["updated_at"]) if values["updated_at"] else None
    values["data"] = None if values["data"] is None else base64.b64decode(values["data"])
    values["audiences"] = tuple(values["audiences"])
    return Document(**values)


def _manifest(values: dict[str, Any]) -> Manifest:
    values["failures"] = tuple(Failure(**failure) for failure in values["failures"])
    for name in ("shards", "held", "existing", "deleted"):
        values[name] = None if values[name] is None else tuple(values[name])
    return Manifest(**values)


Made = TypeVar("Made")


def load_json(path: str, make: Callable[[dict[str, Any]], Made]) -> Made:
    """What is made of the values in a file. Raises StoreError when it is gone, cut off, or holds others than `make`
    takes, which says so by ValueError, KeyError, TypeError or OverflowError.
    """
    try:
        return make(json.loads(UPath(path).read_text(encoding="utf-8")))
    except (OSError, *MALFORMED) as error:
        raise _broken(path, error) from None


def _broken(path: str, error: Exception) -> StoreError:
    remedy = "Run the sync again from its start: it stages anew."
    if isinstance(error, FileNotFoundError):
        remedy += " Where its steps run on several machines, LORE_STAGING_URI must be a place that all of them reach."
    return StoreError(f"The staged file {path} cannot be read ({type(error).__name__}).", remedy=remedy)
