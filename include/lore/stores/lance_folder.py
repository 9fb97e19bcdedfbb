"""The folder of a LanceDB index: opening, checking whose it is, locking it for writers, and naming what went wrong."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from include.lore.errors import ConfigurationError, IndexMismatchError, LoreError, StoreError
from include.lore.stores import schema

if TYPE_CHECKING:
    from filelock import FileLock
    from lancedb.db import DBConnection

Table: TypeAlias = Any
"""A `lancedb.table.Table`, whose own annotations lack half of what its queries can do."""

INDEX_VERSION = 1
"""Which chunk table is read and written; documents and states are shared by all versions."""

STATE, DOCUMENTS, CHUNKS = "state", "documents", f"chunks_{INDEX_VERSION}"
MANIFEST = "manifest"
LOCK_FILE = ".write.lock"
RUST_LOCATION = re.compile(r",? ?\S+\.rs:\d+(:\d+)?")


@dataclass(frozen=True, slots=True)
class Tables:
    """The open tables of one index; each read sees the newest commit of any process."""

    state: Table
    documents: Table
    chunks: Table


class LanceFolder:
    """Opens the index on first use; making it, and every other write, happens under a lock that spans processes.

    The lock is needed because two `merge_insert` calls at once each insert a new id, which then is there twice.
    """

    def __init__(self, uri: str, *, embedder_name: str, dimensions: int, lock_timeout: float) -> None:
        if "://" in uri:
            raise ConfigurationError(
                f"The index must be a local folder, not {uri!r}: the lock that keeps writers apart is a local file.",
                remedy="Set LORE_INDEX_URI to a folder.",
            )
        self.path = Path(uri).expanduser().absolute()
        self._embedder_name = embedder_name
        self._dimensions = dimensions
        self._lock_timeout = lock_timeout
        self._tables: Tables | None = None
        self._writable: Tables | None = None
        self._opening = threading.RLock()

    def tables(self) -> Tables | None:
        """The tables, or None where nothing was written yet; then nothing is made. Raises IndexMismatchError."""
        with self._opening, self.errors("open"):
            if self._tables is None and self._exists():
                self._tables = self._open()
            return self._tables

    @contextmanager
    def writing(self, action: str) -> Iterator[Tables]:
        """Hold the lock, with the tables made where they are not. Raises StoreError, retryable when it is busy."""
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
                yield self._open_or_make()
            finally:
                lock.release()

    @contextmanager
    def errors(self, action: str) -> Iterator[None]:
        """Turn what LanceDB and the file system raise into StoreError."""
        try:
            yield
        except LoreError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            self._tables = self._writable = None  # what was open may be what is broken
            raise self._explain(action, error) from error

    def _new_lock(self) -> FileLock:
        """A lock object for one write: one that is kept could be inherited by a forked process, which must not be."""
        from filelock import FileLock

        self.path.mkdir(parents=True, exist_ok=True)
        return FileLock(self.path / LOCK_FILE, timeout=self._lock_timeout, poll_interval=0.02)

    def _exists(self) -> bool:
        if not self.path.exists():
            return False
        if not self.path.is_dir():
            raise StoreError(
                f"The index {self.path} is a file, not a folder.", remedy="Set LORE_INDEX_URI to a folder."
            )
        return self._has(STATE)

    def _has(self, table: str) -> bool:
        """Whether the table has a commit; a folder without one is left where making it was cut off."""
        versions = self.path / f"{table}.lance" / "_versions"
        return versions.is_dir() and any(versions.iterdir())

    def _connect(self) -> DBConnection:
        import lancedb

        return lancedb.connect(str(self.path), read_consistency_interval=timedelta(0))

    def _open(self) -> Tables | None:
        """Open the tables of an index that fits; None when its making was cut off, which the next write completes."""
        connection = self._connect()
        state = connection.open_table(STATE)
        self._check(state)
        if not (self._has(DOCUMENTS) and self._has(CHUNKS)):
            return None
        return Tables(state, connection.open_table(DOCUMENTS), connection.open_table(CHUNKS))

    def _open_or_make(self) -> Tables:
        """The tables for writing. Another process may have dropped the index and made it anew, so look every time."""
        with self._opening:
            if not self._exists():
                self._writable = None
            elif self._writable is not None:
                self._check(self._writable.state)
            if self._writable is None:
                self._tables = self._writable = self._make()
            return self._writable

    def _make(self) -> Tables:
        """Make what is missing of tables and indexes, the manifest first.

        Indexes are made while empty, which costs nothing: rows that an index does not hold yet are read with its
        settings, so that a search never misses them.
        """
        from lancedb.index import FTS, Bitmap, BTree, LabelList

        connection = self._connect()
        if self._exists():
            state = connection.open_table(STATE)
            self._check(state)
        else:
            state = connection.create_table(STATE, schema.state_rows({MANIFEST: self._manifest()}))
        documents = connection.create_table(DOCUMENTS, schema=schema.document_schema(), exist_ok=True)
        chunks = connection.create_table(CHUNKS, schema=schema.chunk_schema(self._dimensions), exist_ok=True)
        words = FTS(language="English", stem=True, remove_stop_words=True, ascii_folding=True)
        _make_indexes(documents, {"id": BTree()})
        _make_indexes(
            chunks,
            {
                "keywords": words,
                "id": BTree(),
                "document_id": BTree(),
                "content_hash": BTree(),
                "source_id": Bitmap(),
                "audiences": LabelList(),
            },
        )
        return Tables(state, documents, chunks)

    def _manifest(self) -> dict[str, object]:
        return {
            "embedder": self._embedder_name,
            "dimensions": self._dimensions,
            "schema": schema.SCHEMA_NUMBER,
            "created_at": datetime.now(UTC).isoformat(),
        }

    def _check(self, state: Table) -> None:
        rows = state.search().where(schema.is_in("key", [MANIFEST])).to_list()
        if not rows:
            raise StoreError(
                f"The index in {self.path} has no manifest.",
                remedy="Remove the folder, or set LORE_INDEX_URI to a new one, and run `lore sync --all`.",
            )
        manifest = json.loads(rows[0]["value"])
        stored = (manifest.get("embedder"), manifest.get("dimensions"), manifest.get("schema"))
        if stored != (self._embedder_name, self._dimensions, schema.SCHEMA_NUMBER):
            raise IndexMismatchError(
                f"The index in {self.path} was built with embedder {stored[0]!r}, {stored[1]} dimensions, "
                f"schema {stored[2]}; now chosen are embedder {self._embedder_name!r}, {self._dimensions} "
                f"dimensions, schema {schema.SCHEMA_NUMBER}. Nothing was written.",
                remedy="Choose the embedder that built it again (LORE_EMBEDDER), or set LORE_INDEX_URI to a new "
                "folder and run `lore sync --all`.",
            )

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


def _make_indexes(table: Table, wanted: Mapping[str, object]) -> None:
    present = {column for index in table.list_indices() for column in index.columns}
    for column, config in wanted.items():
        if column not in present:
            table.create_index(column, config=config)
