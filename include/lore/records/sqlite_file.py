"""The file of an SQLite database: private, shared by threads and processes, and begun anew once it is damaged.

On POSIX, closing any descriptor of a file drops all locks that the process holds on it. Another process then deletes
the log under its connections. So only SQLite opens the file, and no connection is open while the process forks.
Opening, closing and replacing the file takes a lock of its own beside it.
"""

from __future__ import annotations

import glob
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from weakref import WeakMethod

from lore.errors import RecordsError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, ExceptionContext

    from lore.records.fork_safe_pool import ForkGate

__all__ = ["BUSY_SECONDS", "SqliteFile", "damaged_copies", "remove_copies"]

log = logging.getLogger(__name__)

BUSY_SECONDS = 10.0
"""Longest wait for another writer, in seconds."""
DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
PARTS = ("", "-wal", "-shm")
"""Suffixes of SQLite's files; the database is moved first, because a log without one is void."""
LONGEST_REASON = 200

Identity: TypeAlias = tuple[int, int] | None


def _is_damage(error: object) -> bool:
    """Return True if an error of SQLite, or its cause, reports damage."""
    while error is not None:
        original = getattr(error, "orig", None) or error
        if getattr(original, "sqlite_errorcode", 0) & 0xFF in DAMAGE:
            return True
        error = getattr(error, "__cause__", None)
    return False


def damaged_copies(path: Path) -> list[Path]:
    """Return the damaged databases moved aside from this path, oldest first, without their logs."""
    return sorted(path.parent.glob(f"{glob.escape(path.name)}.damaged-*Z"))


def remove_copies(path: Path, before: datetime) -> None:
    """Remove the damaged databases that were last written before the moment."""
    for copy in damaged_copies(path):
        with suppress(FileNotFoundError):  # another process may be faster
            if copy.stat().st_mtime < before.timestamp():
                for part in PARTS:
                    Path(f"{copy}{part}").unlink(missing_ok=True)


class SqliteFile:
    """Opens a database for an engine.

    `prepare` makes the tables, in each file that takes the place; with it, a damaged file is moved aside and begun
    anew. Connections to a file that was moved or removed are replaced when they are next used.
    """

    def __init__(self, path: Path, prepare: Callable[[Engine], None] | None = None) -> None:
        self.path = path.resolve()  # SQLite names the log after the file itself, and the working directory may change
        self._prepare = prepare
        self._prepared: Identity = None
        self._opening = threading.RLock()
        self.engine, self._gate = self._make_pooled()
        self._listen()

    def _make_engine(self, **options: Any) -> Engine:
        from sqlalchemy import URL, create_engine, event

        url = URL.create("sqlite+pysqlite", database=str(self.path))
        engine = create_engine(url, hide_parameters=True, **options)
        event.listen(engine, "begin", _begin)
        return engine

    def _make_pooled(self) -> tuple[Engine, ForkGate]:
        from lore.records.fork_safe_pool import ForkGate, ForkSafePool

        pool, gate = ForkSafePool(cast(Any, self._connect)), ForkGate()
        pool.gate = gate
        return self._make_engine(pool=pool), gate

    def _listen(self) -> None:
        import filelock  # noqa: F401 # registers for forks before us, so it lets locks be released until we are done
        from sqlalchemy import event

        event.listen(self.engine, "checkout", self._check_current)
        if self._prepare is not None:
            event.listen(self.engine, "handle_error", self._examine)
        before, after = WeakMethod(self._before_fork), WeakMethod(self._after_fork)
        os.register_at_fork(
            before=partial(_call, before),
            after_in_parent=partial(_call, after, in_child=False),
            after_in_child=partial(_call, after, in_child=True),
        )

    # ----------------------------------------------------------------------------------------------------- opening

    def _connect(self) -> sqlite3.Connection:
        self._make_folders()
        with self.alone():
            try:
                return self._ready()
            except (sqlite3.Error, RecordsError) as error:
                if self._prepare is None or not _is_damage(error) or not self._move_if_damaged():
                    raise
            return self._ready()

    def _ready(self) -> sqlite3.Connection:
        """A connection to a database that has its tables; the caller holds the lock."""
        from sqlalchemy import NullPool

        self._make_file()
        identity = self._identity()
        connection = self._open(partial(_Pooled, self, identity))
        try:
            if self._prepare is not None and self._prepared != identity:
                self._prepare(self._make_engine(creator=self._open, poolclass=NullPool))
                self._prepared = identity
        except BaseException:
            sqlite3.Connection.close(connection)
            raise
        return connection

    def _open(self, factory: Any = sqlite3.Connection) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, factory=factory
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")  # what is forgotten is written over
            _use_wal(connection)
        except BaseException:
            sqlite3.Connection.close(connection)
            raise
        return connection

    def _make_folders(self) -> None:
        """Make the folders that are missing, for the owner alone; what is there stays as it is."""
        with self._writable():
            for folder in reversed([folder for folder in self.path.parents if not folder.exists()]):
                folder.mkdir(mode=0o700, exist_ok=True)

    def _make_file(self) -> None:
        """Make the file where it is missing, for the owner alone; SQLite gives those beside it the same permissions."""
        with self._writable():
            try:
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))  # nobody has it open yet
                self._prepared = None
            except FileExistsError:
                if self.path.is_dir():
                    raise IsADirectoryError(None, "It is a directory") from None

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep all others from opening, closing and replacing the file. Raises RecordsError."""
        from filelock import FileLock, Timeout

        with self._opening, self._writable():
            lock = FileLock(f"{self.path}.lock", timeout=BUSY_SECONDS, poll_interval=0.01, mode=0o600)
            try:
                lock.acquire()
            except Timeout:
                raise RecordsError(
                    f"Another process has been opening the records at {self.path} for {BUSY_SECONDS:g} s.",
                    remedy="Wait for it to end, then try again.",
                    retryable=True,
                ) from None
            try:
                yield
            finally:
                lock.release()

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RecordsError(
                f"The records at {self.path} cannot be opened: {error.strerror or error}.",
                remedy="Set LORE_RECORDS_URL to a place where this process may write.",
                retryable=True,
            ) from error

    # ------------------------------------------------------------------------------------------------------ damage

    def _examine(self, context: ExceptionContext) -> None:
        """Look at the file after an error that speaks of damage, and use the connection no more."""
        if _is_damage(context.original_exception):
            context.is_disconnect = True
            with suppress(sqlite3.Error, RecordsError), self.alone():  # what was to be done fails by its own error
                self._move_if_damaged()

    def _move_if_damaged(self) -> bool:
        """Move the database aside, unless it is whole; returns whether it was damaged. The caller holds the lock.

        The connection stays open meanwhile: so no other process is the last one to close it, and deletes the log.
        """
        self._make_file()
        with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as connection:
            try:
                [found] = connection.execute("PRAGMA integrity_check(1)").fetchone()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                found = str(error)
            if found == "ok":
                return False
            copy = f"{self.path}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
            for part in PARTS:
                with suppress(FileNotFoundError):
                    Path(f"{self.path}{part}").rename(f"{copy}{part}")
        found = " ".join(found.split())[:LONGEST_REASON]
        log.error("The records at %s are damaged: %s. They are kept at %s, and begun anew.", self.path, found, copy)
        return True

    def _check_current(self, connection: _Pooled, *_: object) -> None:
        """Replace the connections to a file that is no longer the one at the path."""
        from sqlalchemy.exc import InvalidatePoolError

        if connection.identity != self._identity():
            self._prepared = None  # the new file may get the number of the old one
            raise InvalidatePoolError

    def _identity(self) -> Identity:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    # ------------------------------------------------------------------------------------------------------ forking

    def _before_fork(self) -> None:
        """Close all connections, once they are free: a child that inherits one takes its locks for its own.

        A child also inherits SQLite's own locks as they are, so no thread may be inside SQLite meanwhile.
        """
        self._gate.close(BUSY_SECONDS)
        self._opening.acquire()
        self.engine.dispose()

    def _after_fork(self, *, in_child: bool) -> None:
        self._opening.release()
        self._gate.open(in_child=in_child)


class _Pooled(sqlite3.Connection):
    """A connection that knows which file it is to. What closes last deletes the log, and so does it alone."""

    def __init__(self, file: SqliteFile, identity: Identity, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.identity = identity
        self._file = file

    def close(self) -> None:
        try:
            with self._file.alone():
                super().close()
        except RecordsError:
            super().close()


def _call(method: WeakMethod[Callable[..., None]], **arguments: bool) -> None:
    if found := method():
        found(**arguments)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Let readers and a writer work side by side. Kept by the file, so this does something once.

    SQLite does not wait for a lock here: of two processes that switch at once, one is refused.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
                return
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get("lore_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
