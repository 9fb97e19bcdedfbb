"""A cache of summaries in a file, so that each is paid for once; its key is a hash of the model's input."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from lore.errors import StoreError

__all__ = ["SummaryCache", "summary_key"]

FILE = "summaries.sqlite3"
WAIT_SECONDS = 30.0
DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
TABLE = """
CREATE TABLE IF NOT EXISTS summaries
    (key TEXT PRIMARY KEY, model TEXT NOT NULL, summary TEXT NOT NULL, made_at TEXT NOT NULL) WITHOUT ROWID
"""


def summary_key(model: str, prompt: str, request: str) -> str:
    """Return the key of a summary: sha256 of the model's name, the prompt and the request."""
    parts = (f"{len(part)}:{part}" for part in (model, prompt, request))
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class SummaryCache:
    """Summaries in one file of a folder, for all threads and processes; the file is made on first use.

    Each summary is a write of its own, so that a kill loses no finished one. Raises StoreError if the file can't be
    read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, key: str) -> str | None:
        """Return the summary with that key, None if it wasn't made yet."""
        with self._connected() as connection:
            row = connection.execute("SELECT summary FROM summaries WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def put(self, key: str, summary: str, model: str) -> None:
        """Keep a summary; it replaces one with the same key."""
        row = (key, model, summary, datetime.now(UTC).isoformat(timespec="seconds"))
        with self._connected() as connection:
            connection.execute("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?)", row)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = self._open()
                yield self._connection
        except (sqlite3.Error, OSError) as error:
            damaged = getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGE
            raise StoreError(
                f"Couldn't read or write the summaries in {self._path}: {error}.",
                remedy="Stop all syncs and delete the file: it is made again, and its summaries are paid for again."
                if damaged
                else "Free space there, or set LORE_CACHE_DIR to a local, writable folder, and try again.",
                retryable=not damaged,
            ) from None

    def _open(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Each statement is a transaction of its own; a second writer waits for the first.
        connection = sqlite3.connect(self._path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute(TABLE)
        except sqlite3.Error:
            connection.close()
            raise
        return connection
