"""The staging area: documents of a source in compressed shards, so that indexing can spread over workers.

    <staging>/<source id>/<run id>/<attempt>/shard-00000.jsonl.gz …   documents as the source has them, one a line
                                             manifest.json            written last: what the run read, and up to where

Airflow hands paths from task to task, never documents. Any fsspec location will do (a folder, s3://…, gs://…). The
checkpoints of a run, from which another one resumes after a kill, lie beside the shards (`checkpoint.py`).
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

from lore.errors import ConfigurationError, StagedFileError, StoreError, require
from lore.types import Cursor, Document, Failure

__all__ = ["ExtractionManifest", "ShardWriter", "Staging", "load_json", "remove_staged", "source_lock", "staging_write"]

SHARD_DOCUMENTS = 256
SHARD_CHARACTERS = 8_000_000
LONGEST_NAME = 200
STALE_SECONDS = 7 * 24 * 3600
MANIFEST = "manifest.json"
WHOLE_RUN = "whole-run"
"""File that marks the attempt of a run whose steps are all in one process."""
ATTEMPT = "try-"
MALFORMED = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Errors of reading JSON that is invalid, nested too deeply, or holds other values than expected."""


@dataclass(frozen=True, slots=True)
class ExtractionManifest:
    """Result of one extraction. `existing` is None when the source couldn't tell what exists now.

    `held` are the ids that the index held, or an earlier attempt had read, before the source was read: this run can
    remove only these. `repeated` maps an id that came more than once to the shard with its last state, "" for one
    that was deleted later. `interrupted` is the reason why the source stopped early; nothing is removed then.
    `resumed` counts the documents that an interrupted run had staged. `warnings` are the source's, for a person.
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
    warnings: tuple[str, ...] = ()


@contextmanager
def source_lock(location: str, source_id: str, *, on_wait: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Allow one sync of a source at a time on a machine; across machines, `SourceLeases` do.

    `on_wait` is called once if another sync has to end first.
    """
    if "://" in location:
        yield
        return
    from filelock import FileLock, Timeout

    folder = Path(location).absolute()
    with _staging_area(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / f"{source_id}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            on_wait()
            lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _staging_area(folder: object) -> Iterator[None]:
    """Turn what making the staging area raises into ConfigurationError."""
    if str(folder).startswith("s3://"):
        require("s3fs", "s3", f"The staging area {folder}")
    try:
        yield
    except (OSError, ValueError, ImportError) as error:  # the last two: an unknown protocol, or a missing package
        raise ConfigurationError(
            f"Couldn't write to the staging area {folder}: {getattr(error, 'strerror', None) or error}.",
            remedy="Set LORE_STAGING_URI to a writable place.",
        ) from None


@contextmanager
def staging_write(path: object) -> Iterator[None]:
    """Turn what writing a staged file raises into StoreError."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"Couldn't write the staged file {path}: {error.strerror or error}.",
            remedy="Free space there, or set LORE_STAGING_URI to another place, and run the sync again.",
            retryable=True,
        ) from None


class Staging:
    """The files of one attempt of one run. `location` is the staging area.

    Each attempt has a `folder` of its own, so that a killed one and its repetition never share a file.
    """

    def __init__(self, location: str, source_id: str, run_id: str) -> None:
        plain = (letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "-" for letter in run_id)
        with _staging_area(location):
            self._source = UPath(location) / source_id
            self._run = self._source / ("".join(plain).strip(".")[:LONGEST_NAME] or "run")
            self.folder = self._run / f"{ATTEMPT}{uuid4().hex[:12]}"
        self._locked = "://" not in location  # see `source_lock`

    def start(self, *, whole_run: bool) -> None:
        """Make the folder; `whole_run` is True if all steps of the run are in this process."""
        with _staging_area(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            if whole_run:
                (self.folder / WHOLE_RUN).write_text("")
        self._remove_stale()

    def remove(self) -> None:
        """Remove the run's folder with all its attempts, if it exists."""
        _remove(self._run)

    def abandoned(self) -> list[UPath]:
        """Return the folders of earlier attempts of this run, and of attempts of other runs that nobody continues.

        An attempt of another run is continued by other processes if it has a manifest, unless it was a whole run.
        """
        found: list[UPath] = []
        with suppress(OSError):  # others may be removing files, and an object store may have no folders
            for run in self._source.iterdir():
                attempts = [path for path in run.iterdir() if path.name.startswith(ATTEMPT)] if run.is_dir() else []
                for folder in attempts:
                    dead = not (folder / MANIFEST).exists() or (folder / WHOLE_RUN).exists()
                    if folder != self.folder and (dead or run == self._run):
                        found.append(folder)
        return found

    def remove_abandoned(self) -> None:
        """Remove the files of abandoned attempts: of this run, and of others if the source is locked."""
        for folder in self.abandoned():
            if self._locked or folder.parent == self._run:
                _remove(folder)
                with suppress(OSError):
                    folder.parent.rmdir()  # of a run without another attempt

    def _remove_stale(self) -> None:
        """Remove the files of other runs that are too old to belong to a live one."""
        limit = time.time() - STALE_SECONDS
        with suppress(OSError):
            for folder in self._source.iterdir():
                times = [path.stat().st_mtime for path in (folder, *folder.rglob("*"))] if folder.is_dir() else []
                if 0 < max(times, default=0) < limit:  # a place without times gives 0
                    _remove(folder)

    def write(self, manifest: ExtractionManifest) -> str:
        """Write the manifest, the last of all files, and return its path."""
        path = self.folder / MANIFEST
        with staging_write(path):
            path.write_text(json.dumps(asdict(manifest)), encoding="utf-8")
        return str(path)

    @staticmethod
    def attempt_of(path: str) -> str:
        """Return the name of the attempt that wrote the manifest at a path; no other attempt has it."""
        return UPath(path).parent.name

    @staticmethod
    def exists(path: str) -> bool:
        """Return True if there is a manifest at a path."""
        return UPath(path).exists()

    @staticmethod
    def read(path: str) -> ExtractionManifest:
        """Return the manifest at a path. Raises StagedFileError if it is missing, incomplete, or of another version."""
        return load_json(path, _manifest)

    @staticmethod
    def manifest_of(shard: str) -> ExtractionManifest:
        """Return the manifest of the run that a shard belongs to."""
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
    """Writes documents into shards of bounded size."""

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
        """Ids of everything written and not dropped."""
        return set(self._last)

    def add(self, document: Document) -> None:
        """Add a document; a later one with the same id replaces an earlier one.

        Raises TypeError or ValueError, and adds nothing, if its metadata can't be written as JSON.
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
        """Withdraw a document, if it was added."""
        if self._last.pop(document_id, None):
            self.repeated[document_id] = ""

    def flush(self) -> None:
        """Write the waiting documents as a shard."""
        if self._lines:
            _write_lines(self._path(), self._lines)
            self.shards.append(self._path())
            self._lines, self._characters = [], 0
            self._pieces, self._in_pieces = [], 0

    def files(self) -> tuple[str, ...]:
        """Return the files with everything added until now, in order: the shards, and pieces of the next one."""
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
    with staging_write(path):
        UPath(path).write_bytes(data)


def remove_staged(location: str, source_id: str) -> None:
    """Remove what the runs of a source have staged; call it only under the source's lock."""
    with _staging_area(location):
        _remove(UPath(location) / source_id)


def _remove(folder: UPath) -> None:
    """Remove a folder if possible; `_remove_stale` tries again later."""
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


def _manifest(values: dict[str, Any]) -> ExtractionManifest:
    values["failures"] = tuple(Failure(**failure) for failure in values["failures"])
    for name in ("shards", "held", "existing", "deleted", "warnings"):
        values[name] = None if values.get(name, ()) is None else tuple(values.get(name, ()))
    return ExtractionManifest(**values)


T = TypeVar("T")


def load_json(path: str, parse: Callable[[dict[str, Any]], T]) -> T:
    """Return what `parse` makes of a JSON file. Raises StoreError if the file is missing, incomplete or invalid.

    `parse` rejects values by ValueError, KeyError, TypeError or OverflowError.
    """
    try:
        return parse(json.loads(UPath(path).read_text(encoding="utf-8")))
    except (OSError, *MALFORMED) as error:
        raise _broken(path, error) from None


def _broken(path: str, error: Exception) -> StagedFileError:
    remedy = "Run the sync again from its start."
    if isinstance(error, FileNotFoundError):
        remedy += " If its steps run on several machines, set LORE_STAGING_URI to a place that all of them reach."
    missing = isinstance(error, FileNotFoundError)
    message = f"Couldn't read the staged file {path} ({type(error).__name__})."
    return StagedFileError(message, remedy=remedy, missing=missing)
