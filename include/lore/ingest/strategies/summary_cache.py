"""Summaries that were paid for once: a file in which each is found again by what it was made of."""

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
TABLE = """
CREATE TABLE IF NOT EXISTS summaries
    (key TEXT PRIMARY KEY, model TEXT NOT NULL, summary TEXT NOT NULL, made_at TEXT NOT NULL) WITHOUT ROWID
"""


def summary_key(model: str, prompt: str, request: str) -> str:
    """What a summary is found by: sha256 of the model's name, the prompt and all that the model is given."""
    parts = (f"{len(part)}:{part}" for part in (model, prompt, request))
    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class SummaryCache:
    """Summaries in one file of a folder, for all threads and processes. It is made on first use.

    Each summary is a write of its own, so that a kill loses none that was finished. Raises StoreError where the file
    cannot be read or written.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, key: str) -> str | None:
        """The summary of that key, None where it was not made yet."""
        with self._opened() as connection:
            row = connection.execute("SELECT summary FROM summaries WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def put(self, key: str, summary: str, model: str) -> None:
        """Keep a summary. Of two that were made of the same at once, the later one stays."""
        row = (key, model, summary, datetime.now(UTC).isoformat(timespec="seconds"))
        with self._opened() as connection:
            connection.execute("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?, ?)", row)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with self._lock:
                if self._connection is None:
                    self._connection = self._open()
                yield self._connection
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The summaries in {self._path} cannot be read or written: {error}.",
                remedy="Set LORE_CACHE_DIR to a folder that can be written, or delete the file: it is made anew.",
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
