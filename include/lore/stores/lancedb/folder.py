"""The folder of a LanceDB index: its tables, manifest, write lock and errors.

<index>/manifest.json                     the versions and the live one; replaced last, in one step
<index>/documents.lance, state.lance      converted documents and source states, shared by all versions
<index>/chunks_N.lance, marks_N.lance     version N: chunks with vectors, and the documents that it has indexed
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
from lore.stores.lancedb import schema
from lore.stores.lancedb.memory import limit_memory, trim_memory
from lore.stores.lancedb.readers import LanceReaders, run
from lore.stores.manifest import IndexManifest
from lore.types import IndexVersion, Recipe

if TYPE_CHECKING:
    from filelock import FileLock
    from lancedb.db import AsyncConnection, DBConnection

Table: TypeAlias = Any
"""A `lancedb.table.Table`; its own annotations lack half of its query methods."""

Signature: TypeAlias = tuple[int, int, int]

STATE, DOCUMENTS = "state", "documents"
LOCK_TIMEOUT = 300.0
INDEX_CACHE, METADATA_CACHE = 64 * 1024 * 1024, 16 * 1024 * 1024
"""Bytes of cache for writes and reads by key. LanceDB's defaults are gigabytes, which only searches profit from."""
MANIFEST_FILE = "manifest.json"
LOCK_FILE = ".write.lock"
RUST_LOCATION = re.compile(r",? ?\S+\.rs:\d+(:\d+)?")


@dataclass(frozen=True, slots=True)
class VersionTables:
    """The open tables of one version; each read sees the newest commit of any process.

    `readers` lends the chunk table for reads that must stay at one commit.
    """

    state: Table
    documents: Table
    indexed: Table
    chunks: Table
    readers: LanceReaders


class LanceFolder:
    """Opens tables on first use; a lock across processes guards every write.

    Without the lock two concurrent `merge_insert` calls may both insert the same new id.
    """

    def __init__(self, uri: str, *, lock_timeout: float) -> None:
        if "://" in uri:
            raise ConfigurationError(
                f"The index must be a local folder, not {uri!r}: its write lock is a local file.",
                remedy="Set LORE_INDEX_URI to a folder.",
            )
        self.path = Path(uri).expanduser().absolute()
        self._lock_timeout = lock_timeout
        self._manifest: tuple[Signature, IndexManifest] | None = None
        self._open: dict[int, tuple[datetime, VersionTables]] = {}
        self._opening = threading.RLock()

    # ------------------------------------------------------------------------------------------------------ reading

    def manifest(self) -> IndexManifest | None:
        """The manifest as any process wrote it last; None for an index that was never written to."""
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
                    if _signature(file) != signature:  # another process replaced it meanwhile
                        continue
                    self._manifest = signature, IndexManifest.from_json(text, f"in {self.path}")
                break
            return self._manifest[1] if self._manifest else None

    def require_manifest(self) -> IndexManifest:
        """The manifest. Raises StoreError for an index that was never written to."""
        manifest = self.manifest()
        if manifest is None:
            raise StoreError(f"There is no index in {self.path} yet.", remedy="Run: lore sync --all")
        return manifest

    def tables(self, version: IndexVersion) -> VersionTables:
        """The tables of a version that the manifest names."""
        with self._opening, self.errors("open"):
            created_at, tables = self._open.get(version.number, (None, None))
            if tables is None or created_at != version.created_at:  # a rebuilt index reuses the names
                table = self._connect().open_table
                chunks, indexed = _chunks(version.number), _indexed(version.number)
                readers = LanceReaders(partial(self._connect_pinned().open_table, chunks))
                tables = VersionTables(table(STATE), table(DOCUMENTS), table(indexed), table(chunks), readers)
                self._open[version.number] = version.created_at, tables
            return tables

    def _check_folder(self) -> None:
        """Raise StoreError if no index can be created here, or if there is one without its manifest."""
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(
                f"The index {self.path} is a file, not a folder.", remedy="Set LORE_INDEX_URI to a folder."
            )
        if (self.path / "chunks_1.lance" / "_versions").is_dir() and not (self.path / "marks_1.lance").exists():
            raise StoreError(
                f"An earlier Lore made the index in {self.path}, without a manifest of versions.",
                remedy="Remove the folder, or set LORE_INDEX_URI to a new one, and run `lore sync --all`.",
            )

        documents = self.path / f"{DOCUMENTS}.lance"
        if (documents / "_versions").is_dir() and any((documents / "data").glob("*")):  # written to after its creation
            raise StoreError(
                f"The index in {self.path} is damaged: its {MANIFEST_FILE} is missing.",
                remedy=f"Restore {MANIFEST_FILE} from a backup, or remove the folder and run `lore sync --all`.",
            )

    def _connect_pinned(self) -> AsyncConnection:
        """A connection for searches: its tables stay at the commit at which they were opened."""
        limit_memory()
        import lancedb

        return run(lancedb.connect_async(str(self.path)))

    def _connect(self) -> DBConnection:
        """A connection whose tables look for newer commits before each read."""
        limit_memory()
        import lancedb

        small = lancedb.Session(index_cache_size_bytes=INDEX_CACHE, metadata_cache_size_bytes=METADATA_CACHE)
        return lancedb.connect(str(self.path), read_consistency_interval=timedelta(0), session=small)

    # ------------------------------------------------------------------------------------------------------ writing

    @contextmanager
    def locked(self, action: str) -> Iterator[None]:
        """Hold the write lock. Raises a retryable StoreError if another writer keeps it too long."""
        from filelock import Timeout

        with self.errors(action):
            lock = self._new_lock()
            try:
                lock.acquire()
            except Timeout as error:
                raise StoreError(
                    f"Another process has been writing to the index in {self.path} for {self._lock_timeout:g} s.",
                    remedy="Wait for it to finish, then try again.",
                    retryable=True,
                ) from error
            try:
                yield
            finally:
                lock.release()
                trim_memory()

    def create(self, recipe: Recipe) -> IndexManifest:
        """Create an index with its first version, or complete one whose creation was killed. Hold the lock."""
        self._remove_incomplete()
        self.create_version(1, recipe)
        connection = self._connect()
        connection.create_table(STATE, schema=schema.state_schema(), exist_ok=True)
        documents = connection.create_table(DOCUMENTS, schema=schema.document_schema(), exist_ok=True)
        _create_indexes(documents, schema.DOCUMENT_INDEXES)
        manifest = IndexManifest.first(recipe, schema.SCHEMA_NUMBER)
        self.write_manifest(manifest)
        return manifest

    def _remove_incomplete(self) -> None:
        """Remove tables without a commit: a killed creation left them, and they block a new one."""
        for table in (STATE, DOCUMENTS, _indexed(1), _chunks(1)):
            folder = self.path / f"{table}.lance"
            versions = folder / "_versions"
            if folder.is_dir() and not (versions.is_dir() and any(versions.iterdir())):
                shutil.rmtree(folder)

    def create_version(self, number: int, recipe: Recipe) -> None:
        """Create the tables and indexes of a version. Hold the lock.

        Indexing empty tables is free, and a search also reads the rows that an index lacks, with its settings.
        """
        connection = self._connect()
        indexed = connection.create_table(_indexed(number), schema=schema.indexed_schema(), exist_ok=True)
        chunks = connection.create_table(_chunks(number), schema=schema.chunk_schema(recipe.dimensions), exist_ok=True)
        _create_indexes(indexed, schema.INDEXED_INDEXES)
        _create_indexes(chunks, schema.CHUNK_INDEXES)

    def write_manifest(self, manifest: IndexManifest) -> None:
        """Replace the manifest in one step. Hold the lock."""
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
        """Remove the tables of a version that the manifest no longer names. Hold the lock."""
        with self._opening:
            self._open.pop(number, None)
        for table in (_chunks(number), _indexed(number)):
            shutil.rmtree(self.path / f"{table}.lance", ignore_errors=True)

    def orphans(self, manifest: IndexManifest) -> list[int]:
        """The versions that have tables but no entry in the manifest, because their removal was interrupted."""
        found = {
            int(match[1]) for path in self.path.iterdir() if (match := re.fullmatch(r"chunks_(\d+)\.lance", path.name))
        }
        return sorted(found - {version.number for version in manifest.versions})

    def _new_lock(self) -> FileLock:
        """A lock for one write: a forked process must not inherit a lock object."""
        from filelock import FileLock

        self.path.mkdir(parents=True, exist_ok=True)
        return FileLock(self.path / LOCK_FILE, timeout=self._lock_timeout, poll_interval=0.02)

    # ------------------------------------------------------------------------------------------------------- errors

    @contextmanager
    def errors(self, action: str) -> Iterator[None]:
        """Convert errors of LanceDB and the file system to StoreError."""
        try:
            yield
        except LoreError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            self._manifest, self._open = None, {}  # an open handle may be the broken part
            raise self._explain(action, error) from error

    def _explain(self, action: str, error: Exception) -> StoreError:
        text = RUST_LOCATION.sub("", str(error))
        lower = text.lower()
        remedy, retryable = (
            "Check the folder. If the index is damaged, remove it and run `lore sync --all`.",
            False,
        )
        if "no space left" in lower or "disk quota" in lower or "file too large" in lower:
            remedy = "Free disk space, then run the same command again: it completes the interrupted write."
        elif "permission denied" in lower or "read-only file system" in lower:
            remedy = "Give this user read and write permission for the folder, or set LORE_INDEX_URI to another one."
        elif "conflict" in lower:
            remedy, retryable = "Try again.", True
        elif "not found" in lower or "no such file" in lower:
            remedy = "If the index was just removed, try again; else remove the folder and run `lore sync --all`."
            retryable = True
        return StoreError(
            f"Couldn't {action} the index in {self.path}: {text[:500]}", remedy=remedy, retryable=retryable
        )


def _chunks(number: int) -> str:
    return f"chunks_{number}"


def _indexed(number: int) -> str:
    return f"marks_{number}"


def _signature(path: Path) -> Signature:
    """An identity that changes when the file is replaced."""
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _create_indexes(table: Table, wanted: Mapping[str, str]) -> None:
    from lancedb.index import FTS, Bitmap, BTree, LabelList

    kinds = {
        "full text": lambda: FTS(language="English", stem=True, remove_stop_words=True, ascii_folding=True),
        "list": LabelList,
        "few values": Bitmap,
        "many values": BTree,
    }
    present = {column for index in table.list_indices() for column in index.columns}
    for column, kind in wanted.items():
        if column not in present:
            table.create_index(column, config=kinds[kind]())
