"""The folder of a LanceDB index: opening, its manifest, locking it for writers, and naming what went wrong.

<index>/manifest.json                     which versions there are, and which is live: written last, in one step
<index>/documents.lance, state.lance      converted documents and the states of their sources, kept once
<index>/chunks_N.lance, marks_N.lance     version N: chunks with vectors, and of which state of a document they are
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any, TypeAlias

from lore.errors import ConfigurationError, LoreError, StoreError
from lore.stores import schema
from lore.stores.lancedb import memory
from lore.stores.lancedb.readers import LanceReaders, run
from lore.stores.manifest import Manifest
from lore.types import IndexVersion, Recipe

if TYPE_CHECKING:
    from filelock import FileLock
    from lancedb.db import AsyncConnection, DBConnection

Table: TypeAlias = Any
"""A `lancedb.table.Table`, whose own annotations lack half of what its queries can do."""

Signature: TypeAlias = tuple[int, int, int]

STATE, DOCUMENTS = "state", "documents"
LOCK_TIMEOUT = 300.0
INDEX_CACHE, METADATA_CACHE = 64 * 1024 * 1024, 16 * 1024 * 1024
"""For what writes and reads by key. LanceDB's own limits are gigabytes, which searches make use of and syncs do not."""
MANIFEST_FILE = "manifest.json"
LOCK_FILE = ".write.lock"
CHUNK_FOLDER = re.compile(r"(?:chunks|marks)_(\d+)\.lance")
RUST_LOCATION = re.compile(r",? ?\S+\.rs:\d+(:\d+)?")


@dataclass(frozen=True, slots=True)
class Tables:
    """The open tables of one version; each read sees the newest commit of any process.

    `readers` lends the table of chunks for reads that must be of one commit.
    """

    state: Table
    documents: Table
    marks: Table
    chunks: Table
    readers: LanceReaders


class LanceFolder:
    """Opens tables on first use; every write happens under a lock that spans processes.

    The lock is needed because two `merge_insert` calls at once each insert a new id, which then is there twice.
    """

    def __init__(self, uri: str, *, lock_timeout: float) -> None:
        if "://" in uri:
            raise ConfigurationError(
                f"The index must be a local folder, not {uri!r}: the lock that keeps writers apart is a local file.",
                remedy="Set LORE_INDEX_URI to a folder.",
            )
        self.path = Path(uri).expanduser().absolute()
        self._lock_timeout = lock_timeout
        self._manifest: tuple[Signature, Manifest] | None = None
        self._open: dict[int, tuple[datetime, Tables]] = {}
        self._opening = threading.RLock()

    # ------------------------------------------------------------------------------------------------------ reading

    def manifest(self) -> Manifest | None:
        """What is there, as any process wrote it last; None where nothing was written yet."""
        file = self.path / MANIFEST_FILE
        with self._opening, self.errors("open"):
            for _ in range(2):
                try:
                    signature = _signature(file)
                except (FileNotFoundError, NotADirectoryError):
                    self._check_folder()
                    self._manifest = None
                    return None
                if self._manifest is None or self._manifest[0] != signature:
                    text = file.read_text(encoding="utf-8")
                    if _signature(file) != signature:  # replaced while it was read
                        continue
                    self._manifest = signature, Manifest.from_json(text, f"in {self.path}")
                break
            return self._manifest[1] if self._manifest else None

    def held(self) -> Manifest:
        """The manifest of an index that must be there. Raises StoreError."""
        manifest = self.manifest()
        if manifest is None:
            raise StoreError(f"There is no index in {self.path} yet.", remedy="Run: lore sync --all")
        return manifest

    def tables(self, version: IndexVersion) -> Tables:
        """The tables of a version that the manifest names."""
        with self._opening, self.errors("open"):
            made, tables = self._open.get(version.number, (None, None))
            if tables is None or made != version.created_at:  # an index made anew has other tables of the same names
                table = self._connect().open_table
                chunks, marks = _chunks(version.number), _marks(version.number)
                readers = LanceReaders(partial(self._connect_staying().open_table, chunks))
                tables = Tables(table(STATE), table(DOCUMENTS), table(marks), table(chunks), readers)
                self._open[version.number] = version.created_at, tables
            return tables

    def _check_folder(self) -> None:
        """Tell an index that is still to be made from a place where none can be, and from one of an earlier layout."""
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(
                f"The index {self.path} is a file, not a folder.", remedy="Set LORE_INDEX_URI to a folder."
            )
        if (self.path / "chunks_1.lance" / "_versions").is_dir() and not (self.path / "marks_1.lance").exists():
            raise StoreError(
                f"The index in {self.path} was made by an earlier Lore, without a manifest of versions.",
                remedy="Remove the folder, or set LORE_INDEX_URI to a new one, and run `lore sync --all`.",
            )

    def _connect_staying(self) -> AsyncConnection:
        """A connection for searches, whose tables stay at the commit that they were opened at."""
        memory.prepare()
        import lancedb

        return run(lancedb.connect_async(str(self.path)))

    def _connect(self) -> DBConnection:
        """A connection whose tables look for newer commits before each read."""
        memory.prepare()
        import lancedb

        small = lancedb.Session(index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=METADATA_CACHE)
        return lancedb.connect(str(self.path), read_consistency_interval=timedelta(0), session=small)

    # ------------------------------------------------------------------------------------------------------ writing

    @contextmanager
    def writing(self, action: str) -> Iterator[None]:
        """Hold the lock. Raises StoreError, retryable when another writer keeps it."""
        from filelock import Timeout

        with self.errors(action):
            lock = self._new_lock()
            try:
                lock.acquire()
            except Timeout as error:
                raise StoreError(
                    f"Another process has been writing to the index in {self.path} for {self._lock_timeout:g} s.",
                    remedy="Wait for it to end, then try again.",
                    retryable=True,
                ) from error
            try:
                yield
            finally:
                lock.release()
                memory.release()

    def make(self, recipe: Recipe) -> Manifest:
        """A new index with its first version; call it while writing. What a killed maker left is completed."""
        self._remove_halves()
        self.make_version(1, recipe)
        connection = self._connect()
        connection.create_table(STATE, schema=schema.state_schema(), exist_ok=True)
        documents = connection.create_table(DOCUMENTS, schema=schema.document_schema(), exist_ok=True)
        _make_indexes(documents, schema.DOCUMENT_INDEXES)
        manifest = Manifest.first(recipe, schema.SCHEMA_NUMBER)
        self.write(manifest)
        return manifest

    def _remove_halves(self) -> None:
        """A table without a commit, where making it was cut off, is in the way of a whole one."""
        for table in (STATE, DOCUMENTS, _marks(1), _chunks(1)):
            folder = self.path / f"{table}.lance"
            versions = folder / "_versions"
            if folder.is_dir() and not (versions.is_dir() and any(versions.iterdir())):
                shutil.rmtree(folder)

    def make_version(self, number: int, recipe: Recipe) -> None:
        """The tables of a version, and their indexes; call it while writing.

        Indexes are made while empty, which costs nothing: rows that an index does not hold yet are read with its
        settings, so that a search never misses them.
        """
        connection = self._connect()
        marks = connection.create_table(_marks(number), schema=schema.mark_schema(), exist_ok=True)
        chunks = connection.create_table(_chunks(number), schema=schema.chunk_schema(recipe.dimensions), exist_ok=True)
        _make_indexes(marks, schema.MARK_INDEXES)
        _make_indexes(chunks, schema.CHUNK_INDEXES)

    def write(self, manifest: Manifest) -> None:
        """Put a manifest in the place of the one that is there, in one step; call it while writing."""
        with NamedTemporaryFile("w", dir=self.path, prefix=MANIFEST_FILE, delete=False, encoding="utf-8") as file:
            try:
                file.write(manifest.to_json())
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(self.path / MANIFEST_FILE)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise

    def remove_version(self, number: int) -> None:
        """Remove the tables of a version that the manifest no longer names; call it while writing."""
        with self._opening:
            self._open.pop(number, None)
        for table in (_chunks(number), _marks(number)):
            shutil.rmtree(self.path / f"{table}.lance", ignore_errors=True)

    def leftovers(self, manifest: Manifest) -> list[int]:
        """The versions whose tables lie here although the manifest does not name them: a removal was cut off."""
        there = {
            int(match[1]) for path in self.path.iterdir() if (match := re.fullmatch(r"chunks_(\d+)\.lance", path.name))
        }
        return sorted(there - {version.number for version in manifest.versions})

    def _new_lock(self) -> FileLock:
        """A lock object for one write: one that is kept could be inherited by a forked process, which must not be."""
        from filelock import FileLock

        self.path.mkdir(parents=True, exist_ok=True)
        return FileLock(self.path / LOCK_FILE, timeout=self._lock_timeout, poll_interval=0.02)

    # ------------------------------------------------------------------------------------------------------- errors

    @contextmanager
    def errors(self, action: str) -> Iterator[None]:
        """Turn what LanceDB and the file system raise into StoreError."""
        try:
            yield
        except LoreError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            self._manifest, self._open = None, {}  # what was open may be what is broken
            raise self._explain(action, error) from error

    def _explain(self, action: str, error: Exception) -> StoreError:
        text = RUST_LOCATION.sub("", str(error))
        lower = text.lower()
        remedy, retryable = (
            "Look at the folder; an index that is damaged can be removed and built again by a sync.",
            False,
        )
        if "no space left" in lower or "disk quota" in lower or "file too large" in lower:
            remedy = "Free space on the disk, then run the same again: what was cut off is completed."
        elif "permission denied" in lower or "read-only file system" in lower:
            remedy = "Give this user the right to read and write the folder, or set LORE_INDEX_URI to another."
        elif "conflict" in lower:
            remedy, retryable = "Try again.", True
        elif "not found" in lower or "no such file" in lower:
            remedy = "If the index was removed meanwhile, try again; else remove the folder and sync anew."
            retryable = True
        return StoreError(
            f"Could not {action} the index in {self.path}: {text[:500]}", remedy=remedy, retryable=retryable
        )


def _chunks(number: int) -> str:
    return f"chunks_{number}"


def _marks(number: int) -> str:
    return f"marks_{number}"


def _signature(path: Path) -> Signature:
    """Tells a file from the one that took its place."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _make_indexes(table: Table, wanted: Mapping[str, str]) -> None:
    from lancedb.index import FTS, Bitmap, BTree, LabelList

    make = {
        "words": lambda: FTS(language="English", stem=True, remove_stop_words=True, ascii_folding=True),
        "labels": LabelList,
        "few": Bitmap,
        "many": BTree,
    }
    present = {column for index in table.list_indices() for column in index.columns}
    for column, kind in wanted.items():
        if column not in present:
            table.create_index(column, config=make[kind]())
